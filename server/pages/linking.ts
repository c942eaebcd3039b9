/** The connections that links make, and those that go with them. Pages and their scripts share it. */

import type { Api, Output } from '../../spec/client/api.ts'
import { readAllLinks } from '../markdown/all-links.ts'
import { connectionId, keyOfName, slugIn, slugOf } from '../markdown/connection-ids.ts'
import { type Link, linkOf } from '../markdown/markdown-facts.ts'
import { folded } from '../markdown/note-names.ts'
import { namesBegun } from '../markdown/wikilinks.ts'
import { codeOf } from './error-codes.ts'

interface NodePath {
  readonly org_id: string
  readonly node_id: string
}

type Connection = Output<'getNode'>['connections'][number]
type LinkType = Link['type']

export interface MadeConnection {
  readonly id: string
  readonly target: string
  readonly type: LinkType
}

/** A text before and after an edit. */
export interface TextEdit {
  /** The commit with the text before; null before the first one. */
  readonly head: string | null
  readonly text: string
  /** Nodes that are known by name, by the folded name. Other names are resolved by title. */
  readonly known?: ReadonlyMap<string, string> | undefined
}

export interface LinkChanges {
  readonly added: readonly MadeConnection[]
  /** The ids of connections that were made from links which the text no longer has. */
  readonly removed: readonly string[]
}

/**
 * `names`: names that are resolved for one edit, the last ones. `pages`: pages of connections that are read. `target`:
 * characters of a target that `listLinks` returns.
 */
const most = { names: 20, pages: 10, perPage: 200, target: 2_000 } as const

/**
 * Returns connections for links that have none, and those whose links have left the text.
 *
 * A connection stores the name of its link, so the link still works after the node is renamed. It goes with its last link
 * to the node, or if a connection with another name replaces it. Connections that were not made from links stay, as does
 * everything if the links of the text could not all be read.
 */
export async function linkChanges(api: Api, path: NodePath, edit: TextEdit): Promise<LinkChanges> {
  const [now, before, held] = await Promise.all([
    readAllLinks(edit.text),
    linksAt(api, path, edit.head),
    edit.head === null ? [] : heldBy(api, path),
  ])
  const resolved = await resolveLinks(api, path, now.links, before.targets, edit.known)
  const leading = resolved.links.filter(({ target }) => target !== path.node_id)
  const added = new Map<string, MadeConnection>()
  for (const link of leading) {
    if (link.name === undefined) continue
    const covering = coveringOf(link, held, before.targets)
    // A link that returns to the text may have lost its connection on this branch.
    if (covering.length > 0 && (before.targets.has(link.written) || (await isSomeAt(api, path, edit.head, covering))))
      continue
    const connection = connectionOf(link.name, link.type, link.target)
    added.set(connection.id, connection)
  }
  const isWhole = now.isWhole && before.isWhole && resolved.isWhole
  const gone = isWhole
    ? [...goneOf(held, before.links, leading, [...added.values()]), ...goneWithout(held, before.links, leading)]
    : []
  const removed = await Promise.all(gone.map((one) => isAt(api, path, edit.head, one)))
  return { added: [...added.values()], removed: gone.filter((_, at) => removed[at]).map(({ id }) => id) }
}

/** A link that leads to a node. */
interface LeadingLink {
  readonly type: LinkType
  readonly target: string
  /** The title that a wiki link names; undefined for other links, which get no connection. */
  readonly name: string | undefined
  /** The link as written, for comparison. */
  readonly written: string
}

interface LinksBefore {
  readonly links: readonly LeadingLink[]
  /** The nodes of links by `written`; undefined if a link leads to no node. */
  readonly targets: ReadonlyMap<string, string | undefined>
  /** False if the links could not all be read. */
  readonly isWhole: boolean
}

/** Reads where the links of the text before lead to. */
async function linksAt(api: Api, path: NodePath, head: string | null): Promise<LinksBefore> {
  const nothing = { links: [], targets: new Map(), isWhole: head === null }
  if (head === null) return nothing
  const answer = await api.listLinks({ path, query: { revision: head } }).catch((error: unknown) => {
    // The links of a page that is only proposed cannot be listed.
    if (['too_large', 'busy', 'node_not_found'].includes(codeOf(error) ?? '')) return undefined
    throw error
  })
  if (answer === undefined) return nothing
  const targets = new Map<string, string | undefined>()
  const links: LeadingLink[] = []
  for (const listed of answer.links) {
    const link = linkOf(listed)
    if (link === undefined) continue
    const written = writtenAs(link)
    targets.set(written, listed.node?.id)
    if (listed.node) links.push({ type: link.type, target: listed.node.id, name: nameIn(link), written })
  }
  return { links, targets, isWhole: !answer.truncated }
}

function writtenAs({ form, type, target }: Link): string {
  return `${form} ${type} ${target.slice(0, most.target)}`
}

function nameIn({ form, target }: Link): string | undefined {
  return form === 'wikilink' ? nameOf(target) || undefined : undefined
}

/** Reads the connections that the node holds. Their targets exist. */
async function heldBy(api: Api, path: NodePath): Promise<readonly Connection[]> {
  const { connections, num_connections: total } = await api.getNode({ path, query: { proposed: 'true' } })
  const all = new Map(connections.map((one) => [`${one.node_id} ${one.id}`, one]))
  for (let page = 1; page < most.pages && page * most.perPage < total; page++) {
    const query = { limit: most.perPage, offset: page * most.perPage }
    for (const one of (await api.listConnections({ path, query })).connections) all.set(`${one.node_id} ${one.id}`, one)
  }
  return [...all.values()].filter(({ source }) => source === path.node_id)
}

/** Finds the nodes of the links of a new text. Links that it had before lead where they led. */
async function resolveLinks(
  api: Api,
  path: NodePath,
  links: readonly Link[],
  before: LinksBefore['targets'],
  known: TextEdit['known'],
): Promise<{ links: readonly LeadingLink[]; isWhole: boolean }> {
  const idOf = (link: Link) => known?.get(folded(nameIn(link) ?? '')) ?? before.get(writtenAs(link))
  const unknown = new Set(links.filter((link) => idOf(link) === undefined).flatMap((link) => nameIn(link) ?? []))
  const asked = [...unknown].slice(-most.names)
  const found = await Promise.all(asked.map((name) => nodeNamed(api, path.org_id, name)))
  const named = new Map(asked.map((name, at) => [name, found[at]]))
  const leading = links.flatMap((link) => {
    const name = nameIn(link)
    const target = idOf(link) ?? named.get(name ?? '')
    return target === undefined ? [] : [{ type: link.type, target, name, written: writtenAs(link) }]
  })
  return { links: leading, isWhole: asked.length === unknown.size }
}

/** Returns the connections of the link, or of another one in an import. */
function coveringOf(
  link: LeadingLink,
  held: readonly Connection[],
  before: LinksBefore['targets'],
): readonly Connection[] {
  const { type, target, name = '' } = link
  const isLed = before.get(link.written) === target
  return held.filter((one) => one.type === type && isMade(one) && (isOf(one, name) || (isLed && one.target === target)))
}

/** True if a connection was made from a link with this name. An import names it by a path. */
function isOf(connection: Connection, name: string): boolean {
  const slug = slugIn(connection)
  return slug === keyOfName(name) || (slug === slugOf(name) && folded(connection.target_title) === folded(name))
}

/** Returns the connection of a node to the page that a wiki link names. @param written the target of the link */
export function connectionNamed(
  node: { readonly id: string; readonly connections: readonly Connection[] },
  written: string,
): Connection | undefined {
  const name = nameOf(written.split('#', 1)[0] ?? '')
  const own = node.connections.filter(({ source }) => source === node.id)
  return (
    own.find((one) => isMade(one) && isOf(one, name)) ??
    own.find(({ target_title }) => folded(target_title) === folded(name))
  )
}

/** True if the connection was made from a link. */
export function isMade({ id, type, target }: Connection): boolean {
  return slugIn({ id, type, target }) !== undefined || id === connectionId('', type, target)
}

/** Returns the connections whose links the text had and has no more. */
function goneOf(
  held: readonly Connection[],
  before: readonly LeadingLink[],
  now: readonly LeadingLink[],
  added: readonly MadeConnection[],
): readonly Connection[] {
  return held.filter((one) => {
    if (!isMade(one)) return false
    const leadsTo = (link: { type: string; target: string }) => link.type === one.type && link.target === one.target
    const [had, has] = [before.filter(leadsTo), now.filter(leadsTo)]
    if (had.length === 0) return false
    if (has.length === 0) return true
    const isNamed = (links: readonly LeadingLink[]) => links.some(({ name }) => name !== undefined && isOf(one, name))
    const names = new Set(has.flatMap(({ name }) => (name === undefined ? [] : [keyOfName(name)])))
    const isReplaced = [...held, ...added].some(
      (other) => other.id !== one.id && leadsTo(other) && names.has(slugIn(other) ?? ''),
    )
    // A link by a path may need the connection, because the node has no file with this name.
    return isNamed(had) && !isNamed(has) && isReplaced && has.every(({ name }) => name !== undefined)
  })
}

/** Returns connections of this branch that main lacks, and whose links have left the text. */
function goneWithout(
  held: readonly Connection[],
  before: readonly LeadingLink[],
  now: readonly LeadingLink[],
): readonly MadeConnection[] {
  const kept = new Set(now.map(({ type, target }) => `${type} ${target}`))
  const ids = new Set(held.map(({ id }) => id))
  const made = before.flatMap(({ name, type, target }) =>
    name === undefined || kept.has(`${type} ${target}`) ? [] : [connectionOf(name, type, target)],
  )
  return [...new Map(made.map((one) => [one.id, one])).values()].filter(({ id }) => !ids.has(id))
}

async function isSomeAt(
  api: Api,
  path: NodePath,
  head: string | null,
  connections: readonly Connection[],
): Promise<boolean> {
  const found = await Promise.all(connections.map((one) => isAt(api, path, head, one)))
  return found.includes(true)
}

/** True if the commit has this connection. The head of main may be newer. */
async function isAt(
  api: Api,
  path: NodePath,
  head: string | null,
  { id, type, target }: Pick<Connection, 'id' | 'type' | 'target'>,
): Promise<boolean> {
  if (head === null) return false
  const at = { ...path, branch: head, path: `connections/${id}.json` }
  const file = await api.getFile({ path: at }).catch((error: unknown) => {
    if (codeOf(error) === 'file_not_found') return undefined
    throw error
  })
  try {
    const written = JSON.parse(file?.content ?? '')
    return written.target === target && (written.type ?? 'related_to') === type
  } catch {
    return false
  }
}

/** Returns the connection that a link with this name makes. */
export function connectionOf(name: string, type: LinkType, target: string): MadeConnection {
  return { id: connectionId(keyOfName(name), type, target), target, type }
}

/** True if a connection holds links with this name at another node. */
export async function isNameTaken(api: Api, path: NodePath, name: string, target: string): Promise<boolean> {
  const held = await heldBy(api, path)
  return held.some((one) => one.target !== target && isMade(one) && isOf(one, name))
}

/**
 * Adds the connection of a link with this name, if there is none.
 *
 * @throws pull_request_required and other errors of addConnection
 */
export async function connectLink(api: Api, path: NodePath, name: string, target: string): Promise<void> {
  const held = await heldBy(api, path)
  if (held.some((one) => one.type === 'links_to' && isOf(one, name))) return
  await api.addConnection({ path, body: connectionOf(name, 'links_to', target) }).catch((error: unknown) => {
    if (codeOf(error) !== 'connection_exists') throw error
  })
}

/** Returns the id of the only node with this title; undefined without exactly one. */
export async function nodeNamed(api: Api, org_id: string, name: string): Promise<string | undefined> {
  const [one, ...others] = await nodesNamed(api, org_id, name)
  return others.length > 0 ? undefined : one?.node_id
}

/** Returns the first nodes with this title, at most five. */
export async function nodesNamed(
  api: Api,
  org_id: string,
  name: string,
): Promise<Output<'suggestTitles'>['suggestions']> {
  const { suggestions } = await api.suggestTitles({ path: { org_id }, query: { q: name, limit: 5 } })
  return suggestions.filter(({ title }) => folded(title) === folded(name))
}

/** Returns the names in the wiki links of a text, also unfinished ones, without duplicates. Ignores code. */
export function linkNames(text: string): string[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '').replace(/`[^`\n]*`/g, '')
  return [...new Set([...namesBegun(prose)].map(({ name }) => nameOf(name)).filter((name) => name !== ''))]
}

/** Returns the title in a link target such as `folder/Title.md`. */
export function nameOf(target: string): string {
  const name = target.split('/').at(-1) ?? ''
  return name.replace(/\\$/, '').replace(/\.md$/i, '').trim()
}
