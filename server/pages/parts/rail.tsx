/** The column next to a node's text: headings, neighbours, files and downloads. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import type { Heading } from '../text/markdown.ts'
import { plural } from './dates.tsx'
import { Icon } from './icons.tsx'
import { NeighbourDrawing, NeighbourList, type Neighbours } from './neighbours.tsx'

type Node = AnswerOf<'getNode'>

interface RailProps {
  readonly visit: PageContext
  readonly node: Node
  readonly neighbours: Neighbours
  readonly headings: readonly Heading[]
  readonly files: readonly string[]
  readonly revision: string
  /** The path of the file with the text; undefined without one. */
  readonly textPath: string | undefined
}

export function Rail({
  visit: { urls },
  node,
  neighbours: { from, to },
  headings,
  files,
  revision,
  textPath,
}: RailProps) {
  const { org_id, id } = node
  const shared = { urls, org: org_id }
  return (
    <aside class="rail show" aria-label="About this page" data-cards>
      {headings.length > 1 && (
        <section class="toc">
          <h2>On this page</h2>
          <ul>
            {headings.map(({ level, id: heading, text }) => (
              <li class={`l${level}`}>
                <a href={`#${encodeURIComponent(heading)}`}>{text}</a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <NeighbourDrawing title={node.title} from={from} to={to} />
      <NeighbourList {...shared} title={plural(from.length, 'backlink')} nodes={from} />
      <NeighbourList {...shared} title={plural(to.length, 'link')} nodes={to} />
      {files.length > 0 && (
        <section>
          <h2>Files</h2>
          <ul>
            {files.map((path) => (
              <li>
                <a href={urls.raw(org_id, id, revision, path)}>
                  <Icon name="file" size={15} />
                  <span>{path.replace(/^(attachments|files)\//, '')}</span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h2>Download or clone</h2>
        <ul>
          {textPath !== undefined && (
            <li>
              <a href={urls.raw(org_id, id, revision, textPath)}>
                <Icon name="file" size={15} />
                Markdown file
              </a>
            </li>
          )}
          <li>
            <a href={urls.export(org_id, id)}>
              <Icon name="down" size={15} />
              With subpages
            </a>
          </li>
          <li>
            <a href={urls.export(org_id)}>
              <Icon name="down" size={15} />
              All pages
            </a>
          </li>
          <li class="clone">
            <code>git clone {node.clone_url}</code>
          </li>
        </ul>
      </section>
    </aside>
  )
}
