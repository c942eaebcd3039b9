/** The nodes of an organisation as the files of the vault that they were imported from. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Aliases, aliasesIn, linkResolver, type Resolve } from './link-resolver.ts'
import type { Link } from './markdown-facts.ts'
import { folded, isMarkdown } from './note-names.ts'
import { growTree } from './tree.ts'

export interface VaultNode {
  readonly id: string
  readonly title: string
}

/** A node with the path that an import gave it: of a file, or of a folder. */
export interface SourceNode extends VaultNode {
  readonly path: string
  /** JSON: its properties `aliases` and `alias`. */
  readonly aliases: string | null
}

/** The node to which a link leads from the file at a path, by the rules of an import of all these nodes. */
export type ResolveNode = (from: string, link: Link) => VaultNode | undefined

/** Aliases of one node that count: people write a few. Units of JSON that are read between two turns of the event loop. */
const mostAliases = 200
const unitsPerTurn = 65_536

const noAliases: Aliases = { paths: new Map(), names: new Map() }

/** Of several nodes with one path, the first counts, and of its aliases the first 200. 10,000 nodes take 0.1 s, with turns of the event loop in between. */
export async function nodeResolver(sources: readonly SourceNode[]): Promise<ResolveNode> {
  const byPath = new Map<string, VaultNode>()
  const names = new Map<string, string[]>()
  let units = 0
  for (const { id, title, path, aliases } of sources) {
    if (byPath.has(path)) continue
    byPath.set(path, { id, title })
    const written = aliasesIn(JSON.parse(aliases ?? '[]') as unknown[]) // json_array made it
    for (const name of [...new Set(written.map(folded))].slice(0, mostAliases)) {
      const paths = names.get(name)
      if (paths) paths.push(path)
      else names.set(name, [path])
    }
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
  return (from, link) => {
    const found = resolve(from, link)
    if (found === undefined) return undefined
    const place = tree.byFile.get(found) ?? tree.byFolder.get(found)
    return byPath.get(place?.file ?? place?.folder ?? found)
  }
}

/** The file to which a link leads, among `files`. */
export function fileResolver(files: readonly string[]): Resolve {
  return linkResolver({ places: [], byFile: new Map(), byFolder: new Map() }, files, noAliases)
}
