/** Treats the nodes of an organisation as files of the vault they came from. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Aliases, aliasesIn, linkResolver, type Resolve } from './link-resolver.ts'
import type { Link } from './markdown-facts.ts'
import { folded, isMarkdown } from './note-names.ts'
import { growTree } from './tree.ts'

export interface VaultNode {
  readonly id: string
  readonly title: string
}

/** A node, and the path of its file or folder in the vault. */
export interface SourceNode extends VaultNode {
  readonly path: string | undefined
  /** Its properties `aliases` and `alias`, as JSON. */
  readonly aliases: string | null
}

/** Resolves a link to a node by the rules of an import. `from` is the path of the linking file. */
type ResolveNode = (from: string, link: Link) => VaultNode | undefined

export interface NodeResolver {
  readonly byPath: ResolveNode
  /** Returns the only node with this alias, among those that no import made. */
  byAlias(name: string): VaultNode | undefined
}

/** Largest number of aliases of a node that count. */
const mostAliases = 200
/** UTF-16 units of JSON that are read between two turns of the event loop. */
const unitsPerTurn = 65_536

const noAliases: Aliases = { paths: new Map(), names: new Map() }

/**
 * Creates a resolver of links to these nodes.
 *
 * If several nodes have the same path, the first counts. 10,000 nodes take 0.1 s, with turns of the event loop in
 * between.
 */
export async function nodeResolver(sources: readonly SourceNode[]): Promise<NodeResolver> {
  const byPath = new Map<string, VaultNode>()
  const names = new Map<string, string[]>()
  const aliased = new Map<string, VaultNode[]>()
  let units = 0
  for (const { id, title, path, aliases } of sources) {
    if (path !== undefined && byPath.has(path)) continue
    if (path !== undefined) byPath.set(path, { id, title })
    const written = aliasesIn(JSON.parse(aliases ?? '[]') as unknown[]) // json_array made it
    for (const name of [...new Set(written.map(folded))].slice(0, mostAliases))
      if (path === undefined) addTo(aliased, name, { id, title })
      else addTo(names, name, path)
    units += aliases?.length ?? 0
    if (units < unitsPerTurn) continue
    units = 0
    await nextTurn()
  }
  const files = [...byPath.keys()].filter((path) => isMarkdown(path))
  await nextTurn()
  const tree = growTree(files, [])
  await nextTurn()
  const resolve = linkResolver(tree, files, { paths: new Map(), names })
  return {
    byPath: (from, link) => {
      const found = resolve(from, link)
      if (found === undefined) return undefined
      const place = tree.byFile.get(found) ?? tree.byFolder.get(found)
      return byPath.get(place?.file ?? place?.folder ?? found)
    },
    byAlias: (name) => {
      const [one, ...others] = aliased.get(folded(name)) ?? []
      return others.length > 0 ? undefined : one
    },
  }
}

function addTo<T>(map: Map<string, T[]>, key: string, value: T): void {
  const values = map.get(key)
  if (values) values.push(value)
  else map.set(key, [value])
}

/** Creates a resolver of links to these files. */
export function fileResolver(files: readonly string[]): Resolve {
  return linkResolver({ places: [], byFile: new Map(), byFolder: new Map() }, files, noAliases)
}
