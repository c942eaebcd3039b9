/** The column next to a node's text: headings, neighbours, files and downloads. */

import type { AnswerOf } from '../../http/in-process.ts'
import { assetName } from '../assets.ts'
import type { PageContext } from '../page-context.ts'
import type { Heading } from '../text/markdown.ts'
import type { Urls } from '../urls.ts'
import { backlinksId } from './backlinks.tsx'
import { plural } from './dates.tsx'
import { Icon } from './icons.tsx'
import { NeighbourDrawing, NeighbourList, type Neighbours } from './neighbours.tsx'

type Node = AnswerOf<'getNode'>

interface RailProps {
  readonly visit: PageContext
  readonly node: Node
  readonly neighbours: Neighbours
  /** The number of backlinks, if they are below the text. Otherwise their titles are in the column. */
  readonly backlinks: number | undefined
  readonly headings: readonly Heading[]
  readonly files: readonly string[]
  readonly revision: string
  /** The path of the file with the text; undefined without one. */
  readonly textPath: string | undefined
}

export function Rail({ visit: { urls }, node, neighbours: { from, to }, backlinks, ...rest }: RailProps) {
  const { headings, files, revision, textPath } = rest
  const shared = { urls, org: node.org_id }
  return (
    <aside class="rail show" aria-label="About this page" data-cards>
      {headings.length > 1 && <Contents {...{ urls, headings }} />}
      <NeighbourDrawing title={node.title} from={from} to={to} />
      {backlinks === undefined ? (
        <NeighbourList {...shared} title={plural(from.length, 'backlink')} nodes={from} />
      ) : (
        <section class="to-backlinks">
          <h2>
            <a href={`#${backlinksId}`}>{plural(backlinks, 'backlink')}</a>
          </h2>
        </section>
      )}
      <NeighbourList {...shared} title={plural(to.length, 'link')} nodes={to} />
      {files.length > 0 && <Files {...{ urls, node, files, revision }} />}
      <Downloads {...{ urls, node, revision, textPath }} />
    </aside>
  )
}

function Contents({ urls, headings }: Pick<RailProps, 'headings'> & { readonly urls: Urls }) {
  return (
    <section class="toc">
      <h2>On this page</h2>
      <ul>
        {headings.map(({ level, id: heading, text }) => (
          <li class={`l${level}`}>
            <a href={`#${encodeURIComponent(heading)}`}>{text}</a>
          </li>
        ))}
      </ul>
      <script type="module" src={urls.asset(assetName('contents.js'))} />
    </section>
  )
}

type OfNode = Pick<RailProps, 'node' | 'revision'> & { readonly urls: Urls }

function Files({ urls, node: { org_id, id }, files, revision }: OfNode & Pick<RailProps, 'files'>) {
  return (
    <section>
      <h2>Files</h2>
      <ul>
        {files.map((path) => (
          <li>
            <a href={urls.raw(org_id, id, revision, path)} title={path}>
              <Icon name="file" size={15} />
              <span>{path.split('/').at(-1)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Downloads({ urls, node, revision, textPath }: OfNode & Pick<RailProps, 'textPath'>) {
  const { org_id, id } = node
  return (
    <details class="downloads">
      <summary>
        <Icon name="right" size={12} />
        Download or clone
      </summary>
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
    </details>
  )
}
