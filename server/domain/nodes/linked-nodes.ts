/** Finds the nodes that links name. Uses connections of the text's node, current and former titles, and aliases. */
import type { Sees } from '../../../index/derived/sees.ts'
import { nodesTitled, titlesOf } from '../../../index/derived/source-paths.ts'
import { keyOfName, slugIn, slugOf } from '../../markdown/connection-ids.ts'
import { decoded } from '../../markdown/link-resolver.ts'
import { type Link, linkTypes } from '../../markdown/markdown-facts.ts'
import { folded, spellingsOf, withoutEnding } from '../../markdown/note-names.ts'
import type { NodeResolver, VaultNode } from '../../markdown/vault-nodes.ts'
import type { NodeAccess } from '../access.ts'
import type { ConnectionEntity } from '../format/node-format.ts'
import type { Services } from '../services.ts'
import { formerTitles } from './former-titles.ts'

/** The most different names of a text that are searched among all titles. Each has up to 15 spellings of 2.3 µs. */
const maxNames = 2_000
/** The most targets of connections whose former titles are read. */
const maxFormer = 50

export interface ConnectedNodes {
  /** Returns the node of the connection that was made from a link with this name. */
  made(link: Link): VaultNode | 'deleted' | undefined
  /** Returns the only connected node with this title. */
  titled(link: Link): VaultNode | undefined
  /** True if a connection to the node was made from a link of this type. */
  leadsTo(type: Link['type'], id: string): boolean
}

/**
 * Reads the nodes that the connections of a node lead to.
 *
 * A connection made from a link of one type, or from a canvas, does not resolve links of another type. The import knew
 * the path of those, and resolved them differently or not at all. Imports name connections by paths, so names that
 * differ only in punctuation share one slug. Such a slug resolves a link only in a node that an import has made.
 */
export async function connectedNodes(
  { index }: Services,
  { sees, onlyNode }: NodeAccess,
  all: readonly ConnectionEntity[],
  isImported: boolean,
): Promise<ConnectedNodes> {
  // A token that is limited to one node sees no titles of others, and so cannot learn which connection has a title.
  const connections = onlyNode === undefined ? all : []
  const titles = await titlesOf(index.read, sees, [...new Set(connections.map(({ target }) => target))])
  const bySlug = new Map<string, Set<string>>()
  const byTitle = new Map<string, Set<string>>()
  const led = new Set<string>()
  for (const connection of connections) {
    const slug = slugIn(connection)
    if (slug !== undefined) addTo(bySlug, `${connection.type} ${slug}`, connection.target)
    if (slug !== undefined) led.add(`${connection.type} ${connection.target}`)
    const title = titles.get(connection.target)
    if (title === undefined) continue
    const types = slug === undefined ? linkTypes : [connection.type]
    for (const type of types) addTo(byTitle, `${type} ${folded(title)}`, connection.target)
  }
  return {
    made: (link) => {
      const name = nameIn(link)
      const { type } = link
      const ids = bySlug.get(`${type} ${keyOfName(name)}`) ?? (isImported && bySlug.get(`${type} ${slugOf(name)}`))
      return only(ids || [], titles)
    },
    titled: (link) => {
      const found = only(byTitle.get(`${link.type} ${folded(nameIn(link))}`) ?? [], titles)
      return found === 'deleted' ? undefined : found
    },
    leadsTo: (type, id) => led.has(`${type} ${id}`),
  }
}

/** Returns the only node that has one of these ids. A deleted node must not hide the node that was created for the link since. */
function only(all: Iterable<string>, titles: ReadonlyMap<string, string>): VaultNode | 'deleted' | undefined {
  const every = [...all]
  const [id, ...others] = every.length > 1 ? every.filter((one) => titles.has(one)) : every
  if (id === undefined || others.length > 0) return undefined
  const title = titles.get(id)
  return title === undefined ? 'deleted' : { id, title }
}

/** The name in a link, without an ending. */
function nameIn({ target, form }: Link): string {
  return withoutEnding(form === 'path' ? decoded(target) : target)
}

/**
 * Adds the connections of main that links with other names have made. A link that was written before its connection was
 * made then leads to the same node at both revisions.
 */
export function withMains(
  here: readonly ConnectionEntity[],
  main: readonly ConnectionEntity[],
): readonly ConnectionEntity[] {
  const known = new Set(here.map((connection) => `${connection.type} ${slugIn(connection)}`))
  const more = main.filter((connection) => {
    const slug = slugIn(connection)
    return slug !== undefined && !known.has(`${connection.type} ${slug}`)
  })
  return more.length === 0 ? here : [...here, ...more]
}

interface Naming {
  readonly connections: readonly ConnectionEntity[]
  readonly isImported: boolean
  readonly byAlias: NodeResolver['byAlias']
}

/**
 * Finds the nodes of wiki links that neither paths nor connections resolve. The first rule that finds one node decides:
 *
 * 1. A connection of the link's type that was not made from a link leads to a node that had this title before.
 * 2. A node of the organisation has this title.
 * 3. A node has this alias.
 * 4. A connection of another type fulfils rule 1.
 */
export async function namedNodes(
  deps: Services,
  { sees, onlyNode }: NodeAccess,
  links: readonly Link[],
  { connections, isImported, byAlias }: Naming,
): Promise<(link: Link) => VaultNode | undefined> {
  const named = onlyNode === undefined ? links.filter(({ form }) => form === 'wikilink') : []
  const namesOf = (link: Link) => (isImported ? [nameIn(link)] : [...new Set([nameIn(link), lastPart(nameIn(link))])])
  const names = [...new Set(named.flatMap(namesOf).map(folded))].slice(0, maxNames)
  if (names.length === 0) return () => undefined
  const byTitle = await nodesByTitle(deps, sees, names)
  const before = await nodesByFormerTitle(deps, sees, connections)
  return (link) => {
    if (link.form !== 'wikilink') return undefined
    for (const name of namesOf(link)) {
      const key = folded(name)
      const same = before.filter(({ type, names }) => type === link.type && names.has(key))
      const found = onlyOf(same) ?? onlyOf(byTitle.get(key) ?? []) ?? byAlias(name)
      const other = found ?? onlyOf(before.filter(({ names }) => names.has(key)))
      if (other) return { id: other.id, title: other.title }
    }
    return undefined
  }
}

function lastPart(name: string): string {
  return name.split('/').at(-1)?.trim() || name
}

/** Returns the nodes with each title; names are folded. SQLite folds only ASCII, so other letters are compared here. */
async function nodesByTitle(
  { index }: Services,
  sees: Sees,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly VaultNode[]>> {
  const wanted = new Set(names)
  const byTitle = new Map<string, VaultNode[]>()
  for (const { id, title } of await nodesTitled(index.read, sees, names.flatMap(spellingsOf))) {
    const name = folded(title)
    if (!wanted.has(name)) continue
    const nodes = byTitle.get(name) ?? []
    byTitle.set(name, nodes)
    nodes.push({ id, title })
  }
  return byTitle
}

interface FormerNode extends VaultNode {
  /** The type of the connection. */
  readonly type: string
  /** All titles that it had, folded. */
  readonly names: ReadonlySet<string>
}

async function nodesByFormerTitle(
  deps: Services,
  sees: Sees,
  connections: readonly ConnectionEntity[],
): Promise<readonly FormerNode[]> {
  const others = connections.filter((connection) => slugIn(connection) === undefined)
  const titles = await titlesOf(deps.index.read, sees, [...new Set(others.map(({ target }) => target))])
  const found = others.flatMap(({ target, type }) => {
    const title = titles.get(target)
    return title === undefined ? [] : [{ id: target, type, title }]
  })
  const nodes: FormerNode[] = []
  for (const one of found.slice(0, maxFormer))
    nodes.push({ ...one, names: new Set((await formerTitles(deps, sees, one.id)).map(folded)) })
  return nodes
}

/** Returns the only node; undefined if there are several or none. */
function onlyOf<T extends VaultNode>(nodes: readonly T[]): T | undefined {
  const [one, ...others] = nodes
  return others.every(({ id }) => id === one?.id) ? one : undefined
}

function addTo(map: Map<string, Set<string>>, key: string, id: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(id))
}
