/** Follows the links of all documents: connections between nodes, nodes that show a file, unresolved links. */

import type { PathProblem } from '../domain/format/path-problem.ts'
import type { Resolve } from '../domain/vault/links.ts'
import type { Link } from '../domain/vault/prose.ts'
import type { Place, Tree } from '../domain/vault/tree.ts'
import type { Document } from './document.ts'

export interface Connection {
  readonly target: Place
  readonly type: Link['type']
  /** The words of the first such link, '' if it has none. */
  readonly label: string
}

export interface Connections {
  /** Of each place, one for each target and type, in the order of the text. */
  readonly of: ReadonlyMap<Place, readonly Connection[]>
  readonly shownBy: ReadonlyMap<string, ReadonlySet<Place>>
  /** One for each file and target, the first of each file. */
  readonly unresolved: readonly PathProblem[]
  /** How many there are in all. */
  readonly unresolvedLinks: number
}

/** Unresolved links listed per file. */
const toldAtMost = 20
/** Characters of a link that are shown. */
const linkAtMost = 200

export function followLinks(tree: Tree, documents: ReadonlyMap<string, Document>, resolve: Resolve): Connections {
  const of = new Map<Place, Connection[]>()
  const shownBy = new Map<string, Set<Place>>()
  const unresolved: PathProblem[] = []
  let unresolvedLinks = 0
  for (const [path, { links }] of documents) {
    const source = tree.byFile.get(path)
    if (!source) throw new Error(`a tree has a place for ${path}`)
    const connections = new Map<string, Connection>()
    const lost = new Set<string>()
    for (const link of links) {
      const found = resolve(path, link)
      const target = found === undefined ? undefined : (tree.byFile.get(found) ?? tree.byFolder.get(found))
      const key = `${link.type} ${target?.id}`
      if (found === undefined) lost.add(link.form === 'wikilink' ? `[[${link.target}]]` : link.target)
      else if (!target) shownBy.set(found, (shownBy.get(found) ?? new Set()).add(source))
      else if (target !== source && !connections.has(key))
        connections.set(key, { target, type: link.type, label: link.label })
    }
    of.set(source, [...connections.values()])
    unresolvedLinks += lost.size
    for (const target of [...lost].slice(0, toldAtMost))
      unresolved.push({ path, reason: `unresolved link: ${shortened(target)}` })
    if (lost.size > toldAtMost)
      unresolved.push({ path, reason: `and ${lost.size - toldAtMost} more unresolved links, ${lost.size} in all` })
  }
  return { of, shownBy, unresolved, unresolvedLinks }
}

function shortened(target: string): string {
  return target.length > linkAtMost ? `${target.slice(0, linkAtMost)}…` : target
}
