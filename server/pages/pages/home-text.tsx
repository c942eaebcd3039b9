/** The home text of an organisation, which is the text of one of its pages. */

import { createHash } from 'node:crypto'
import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { folded } from '../../markdown/note-names.ts'
import { nodeNamed } from '../linking.ts'
import type { PageContext } from '../page-context.ts'
import { unlessBusy } from '../parts/degraded.ts'
import { Icon } from '../parts/icons.tsx'
import { mayEdit, mayWrite } from '../parts/rights.ts'
import type { Tree } from '../parts/tree.tsx'
import { resolver } from '../text/links.ts'
import { showText } from '../text/texts.ts'
import type { Urls } from '../urls.ts'
import { readVersion, type Version } from './version.ts'

type Org = AnswerOf<'getOrg'>
type Node = AnswerOf<'getNode'>

/** Titles of a home page, after the organisation's name. */
const names = ['Home', 'README', 'Index'] as const
/** UTF-16 units of the text that are shown. */
const longest = 20_000

/** A home page and its text. */
export interface Home {
  readonly node: Pick<Node, 'id' | 'title' | 'slug' | 'head'>
  readonly version: Version
  /** True if the text is cut. */
  readonly isCut: boolean
}

/**
 * Reads the home page. It is the only root. If there are several, it is the one with the organisation's name, else `Home`,
 * `README` or `Index`, in any case of letters. Undefined without one, or if it has no text.
 */
export async function readHome({ api }: PageContext, org: Org, tree: Tree): Promise<Home | undefined> {
  try {
    const id = await unlessBusy(findHome(api, org, tree), undefined)
    if (id === undefined) return undefined
    const path = { org_id: org.id, node_id: id }
    const { title, slug, head, ...node } = await api.getNode({ path })
    if (node.text_content.trim() === '') return undefined
    const text = beginningOf(node.text_content)
    const isCut = text.length < node.text_content.length
    const version = await readVersion(
      api,
      path,
      { ...node, title, slug, ...(head && { head }), text_content: text },
      'main',
    )
    return { node: { id, title, slug, ...(head && { head }) }, version, isCut }
  } catch (error) {
    // It may have been deleted since the tree was read.
    if (error instanceof AppError && error.code === 'node_not_found') return undefined
    throw error
  }
}

async function findHome(api: Api, org: Org, { levels }: Tree): Promise<string | undefined> {
  const { nodes = [], total = 0 } = levels[''] ?? {}
  if (total === 1) return nodes[0]?.id
  for (const name of [org.name, ...names]) {
    const named = nodes.filter(({ title }) => folded(title) === folded(name))
    const [one] = named
    if (named.length === 1) return one?.id
    // The tree shows only the first roots of many.
    const found = total > nodes.length && named.length === 0 ? await nodeNamed(api, org.id, name) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the text up to a blank line, if it is too long. */
function beginningOf(text: string): string {
  if (text.length <= longest) return text
  const end = text.lastIndexOf('\n\n', longest)
  return text.slice(0, end > 0 ? end : longest).replace(/[\ud800-\udbff]$/, '')
}

/** Renders the text as HTML. */
export async function showHome({ urls }: PageContext, org: Org, { node, version }: Home): Promise<string> {
  const { text, title, links } = version
  const place = { org: org.id, node: node.id, revision: 'main', isEditable: mayWrite(org.role) }
  const key = createHash('sha256')
    .update(JSON.stringify([urls.org(org.id), place, title, text, links]))
    .digest('base64')
  return (await showText({ key, text, title, resolve: resolver(urls, place, links) })).html
}

interface HomeTextProps {
  readonly urls: Urls
  readonly org: Org
  readonly home: Home
  readonly html: string
}

export function HomeText({ urls, org, home: { node, isCut }, html }: HomeTextProps) {
  return (
    <article class="home-text" data-cards>
      <header>
        <h2>
          <a href={urls.node(org.id, node.id, node.title)}>{node.title}</a>
        </h2>
        {mayEdit(org.role, node.head) && (
          <a class="btn small" href={urls.edit(org.id, node.id)} data-key="e">
            <Icon name="pen" size={14} />
            {mayWrite(org.role) ? 'Edit' : 'Propose a change'}
          </a>
        )}
      </header>
      <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />
      {isCut && (
        <p class="why">
          <a href={urls.node(org.id, node.id, node.title)}>Read the whole page</a>
        </p>
      )}
    </article>
  )
}
