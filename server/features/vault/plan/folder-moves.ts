/** Finds renamed folders: a new folder that contains most of a missing folder's nodes. */
import { posix } from 'node:path'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import { isMarkdown } from '../../../markdown/note-names.ts'
import { isIndex, type Place, pathOf } from '../../../markdown/tree.ts'
import type { KnownNode } from './inventory.ts'

interface Moved {
  /** The nodes found so far. */
  readonly nodes: ReadonlyMap<Place, KnownNode>
  readonly known: readonly KnownNode[]
  readonly isGone: (node: KnownNode) => boolean
}

/** Matches missing folders to new ones. The deepest come first, because subfolders count as content. */
export function moveFolders({ nodes: found, known, isGone }: Moved) {
  const nodes = new Map<Place, KnownNode>()
  const problems: PathProblem[] = []
  const placeOf = new Map([...found].map(([place, { id }]) => [id, place]))
  const held = new Map<string, KnownNode[]>()
  for (const node of known) held.set(folderAbove(node), [...(held.get(folderAbove(node)) ?? []), node])
  const folders = known.filter((node) => isGone(node) && !isMarkdown(node.path ?? ''))
  const byDepth = new Map<number, KnownNode[]>()
  for (const node of folders) byDepth.set(depthOf(node), [...(byDepth.get(depthOf(node)) ?? []), node])
  for (const depth of [...byDepth.keys()].sort((a, b) => b - a)) {
    const wanted = new Map<Place, KnownNode[]>()
    for (const node of byDepth.get(depth) ?? []) {
      const place = newHome(held.get(node.path ?? '') ?? [])
      if (place && !found.has(place) && !nodes.has(place)) wanted.set(place, [...(wanted.get(place) ?? []), node])
    }
    for (const [place, [node, ...others]] of wanted) {
      if (!node) continue
      if (others.length === 0) {
        nodes.set(place, node)
        placeOf.set(node.id, place)
      } else {
        const reason = `treated as new: it contains most of ${[node, ...others].map(({ path }) => path).join(', ')}`
        problems.push({ path: pathOf(place), reason })
      }
    }
  }
  return { nodes, problems }

  /** Returns the folder that now contains more than half of these nodes. */
  function newHome(children: readonly KnownNode[]): Place | undefined {
    const counts = new Map<Place, number>()
    for (const { id } of children) {
      const home = placeOf.get(id)?.parent
      if (home) counts.set(home, (counts.get(home) ?? 0) + 1)
    }
    return [...counts].find(([, count]) => count * 2 > children.length)?.[0]
  }
}

function folderAbove({ path = '.' }: KnownNode): string {
  return isMarkdown(path) && isIndex(path) ? posix.dirname(posix.dirname(path)) : posix.dirname(path)
}

function depthOf({ path = '' }: KnownNode): number {
  return path.split('/').length
}
