/** The home text of an organisation, which is the text of one of its pages. */

import { createHash } from 'node:crypto'
import type { ComponentChildren } from 'preact'
import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { folded } from '../../markdown/note-names.ts'
import { node, type Options } from '../kit/controls.tsx'
import { Section } from '../kit/parts.tsx'
import { act } from '../kit/settings.tsx'
import { nodeNamed } from '../linking.ts'
import type { PageContext } from '../page-context.ts'
import { unlessBusy } from '../parts/degraded.ts'
import { Icon } from '../parts/icons.tsx'
import { findNodes, NodeSearch } from '../parts/node-picker.tsx'
import { mayEdit, mayPropose, mayWrite } from '../parts/rights.ts'
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

/** The result of a search for the home page. */
export interface HomeFound {
  /** Undefined if there is no home page, or it has no text. */
  readonly home?: Home
  /** True if the organisation has no home text. False if the search took too long. */
  readonly isMissing: boolean
  /** The id of a home page without text. */
  readonly blank?: string
}

/**
 * Reads the home page. It is the one that the owners chose, else the only root. If there are several, it is the one with the organisation's name, else `Home`,
 * `README` or `Index`, in any case of letters.
 */
export async function readHome({ api }: PageContext, org: Org, tree: Tree): Promise<HomeFound> {
  try {
    const { id, isLate = false } = await unlessBusy<{ id?: string | undefined; isLate?: boolean }>(
      findHome(api, org, tree).then((found) => ({ id: found })),
      { isLate: true },
    )
    if (id === undefined) return { isMissing: !isLate }
    const path = { org_id: org.id, node_id: id }
    const { title, slug, head, ...node } = await api.getNode({ path })
    if (node.text_content.trim() === '') return { isMissing: true, blank: id }
    const text = beginningOf(node.text_content)
    const isCut = text.length < node.text_content.length
    const version = await readVersion(
      api,
      path,
      { ...node, title, slug, ...(head && { head }), text_content: text },
      'main',
    )
    return { isMissing: false, home: { node: { id, title, slug, ...(head && { head }) }, version, isCut } }
  } catch (error) {
    // It may have been deleted since the tree was read.
    if (error instanceof AppError && error.code === 'node_not_found') return { isMissing: false }
    throw error
  }
}

async function findHome(api: Api, org: Org, { levels }: Pick<Tree, 'levels'>): Promise<string | undefined> {
  if (await readChosen(api, org)) return org.home_node_id
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

/** Reads the page that the owners chose. Undefined without a choice, or if the page is deleted. */
async function readChosen(api: Api, { id: org_id, home_node_id: node_id }: Org): Promise<Node | undefined> {
  if (node_id === undefined) return undefined
  return api.getNode({ path: { org_id, node_id } }).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'node_not_found') return undefined
    throw error
  })
}

/** Says to editors that a page is the home page. */
export function HomeNotice({ org, why }: { readonly org: Org; readonly why: string | undefined }) {
  if (why === undefined) return null
  return (
    <p class="why">
      This is the home page of {org.name}, because {why}. The overview shows its text.
    </p>
  )
}

/** Maximum roots that are read to find the home page. */
const mostRoots = 100

/** Says why a page is the home page. Undefined if it is not, or if that takes too long to find. */
export async function whyHome(api: Api, org: Org, node: Pick<Node, 'id' | 'title'>): Promise<string | undefined> {
  const find = async () => {
    const level = await api.listTree({ path: { org_id: org.id }, query: { limit: mostRoots } })
    const id = await findHome(api, org, { levels: { '': level } })
    return id === node.id ? level.total : undefined
  }
  const roots = await unlessBusy<number | undefined>(find(), undefined)
  if (roots === undefined) return undefined
  if (org.home_node_id === node.id) return 'it was chosen in the settings'
  if (roots === 1) return 'it is the only page at the top'
  return folded(node.title) === folded(org.name)
    ? 'it has the name of the organisation'
    : `it is at the top and is called ${node.title}`
}

/** Offers to write a home page. */
export function NoHome({ urls, org, blank }: { readonly urls: Urls; readonly org: Org; readonly blank?: string }) {
  return (
    <p class="no-home why">
      This overview can begin with a text of yours.{' '}
      <a href={blank === undefined ? urls.newNode(org.id, { title: 'Home' }) : urls.edit(org.id, blank)}>
        Write a home page
      </a>
    </p>
  )
}

/** The choice of the home page, for the settings. */
export const chooseHome = act(
  'Save home page',
  { home: node('Chosen page', 'None') },
  ({ api, params }, { home }) =>
    api.updateOrg({ path: { org_id: params.org ?? '' }, body: { home_node_id: home || null } }),
  'plain',
)

/** Reads the chosen page, and those that the owner searches. */
export async function readHomeChoice(visit: PageContext, org: Org) {
  const [chosen, found] = await Promise.all([readChosen(visit.api, org), findNodes(visit, org.id, 'home')])
  return { chosen, found }
}

interface HomeSectionProps {
  readonly action: string
  readonly home: Awaited<ReturnType<typeof readHomeChoice>>
  readonly isOwner: boolean
  readonly form: (fill: { values: { home: string }; options: { home: Options<string> } }) => ComponentChildren
}

export function HomeSection({ action, home: { chosen, found }, isOwner, form }: HomeSectionProps) {
  const [only, ...others] = found.nodes
  const before = found.nodes.some(({ node_id }) => node_id === chosen?.id) ? undefined : chosen
  const options = [
    ...(before ? [[before.id, before.title] as const] : []),
    ...found.nodes.map(({ node_id, title, where }) => [node_id, title, where] as const),
  ]
  const value = only && others.length === 0 ? only.node_id : (chosen?.id ?? '')
  return (
    <Section
      id="home"
      title="Home page"
      why="The overview begins with the text of the home page. Without a choice, that is the only page at the top. If there are several, it is the one with the name of the organisation, else the one called Home, README or Index."
    >
      {isOwner && <NodeSearch {...{ found }} action={`${action}#home`} name="home" label="Find a page" />}
      {isOwner && options.length > 0 && form({ values: { home: value }, options: { home: options } })}
    </Section>
  )
}

/** Returns the text up to a blank line, if it is too long. */
function beginningOf(text: string): string {
  if (text.length <= longest) return text
  const end = text.lastIndexOf('\n\n', longest)
  return text.slice(0, end > 0 ? end : longest).replace(/[\ud800-\udbff]$/, '')
}

/** Renders the text as HTML. */
export async function showHome({ urls, turn }: PageContext, org: Org, { node, version }: Home): Promise<string> {
  const { text, title, links } = version
  const place = { org: org.id, node: node.id, revision: 'main', isEditable: mayPropose(org.role) }
  const key = createHash('sha256')
    .update(JSON.stringify([urls.org(org.id), place, title, text, links]))
    .digest('base64')
  return (await showText({ key, text, title, resolve: resolver(urls, place, links) }, turn.signal)).html
}

interface HomeTextProps {
  readonly urls: Urls
  readonly org: Org
  readonly home: Home
  readonly html: string
}

/** The text of the home page. Its title is left out if it says no more than that of the organisation. */
export function HomeText({ urls, org, home: { node, isCut }, html }: HomeTextProps) {
  const isPlain = [org.name, ...names].some((name) => folded(name) === folded(node.title))
  return (
    <article class="home-text" aria-label={node.title} data-cards>
      {!isPlain && (
        <h2>
          <a href={urls.node(org.id, node.id, node.title)}>{node.title}</a>
        </h2>
      )}
      <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />
      {isCut && (
        <p class="why">
          <a href={urls.node(org.id, node.id, node.title)}>Read the whole page</a>
        </p>
      )}
    </article>
  )
}

/** The button that edits the home page. */
export function EditHome({ urls, org, home: { node } }: Omit<HomeTextProps, 'html'>) {
  if (!mayEdit(org.role, node.head)) return null
  return (
    <a class="btn small" href={urls.edit(org.id, node.id)} data-key="e">
      <Icon name="pen" size={14} />
      {mayWrite(org.role) ? 'Edit' : 'Propose a change'}
    </a>
  )
}
