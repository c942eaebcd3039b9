/** The trees that a user follows, as they are now. */

import type { IndexDb } from '../../../index/derived/schema.ts'
import type { Sees } from '../../../index/derived/sees.ts'
import { openSubtree } from '../../../index/derived/subtrees.ts'

/** Maps the nodes that are in a tree to the time of the tree's follow. */
export type TreesOf = (nodeIds: Iterable<string>) => Promise<ReadonlyMap<string, number>>

/**
 * Walks up from nodes once for each group of trees. With more trees than groups, those of one group share the earliest
 * of their times.
 */
const groups = 8

/** @param trees the times of the follows, in milliseconds since 1970, by the top nodes */
export function openTrees(db: IndexDb, sees: Sees, trees: ReadonlyMap<string, number>): TreesOf {
  const sorted = [...trees].sort(([, one], [, other]) => one - other)
  const size = Math.ceil(sorted.length / groups)
  const opened = Array.from({ length: size === 0 ? 0 : Math.ceil(sorted.length / size) }, (_, index) => {
    const some = sorted.slice(index * size, (index + 1) * size)
    return { since: some[0]?.[1] ?? 0, tree: openSubtree(db, sees, ...some.map(([id]) => id)) }
  })
  return async (nodeIds) => {
    const found = new Map<string, number>()
    const left = new Set(nodeIds)
    for (const { since, tree } of opened) {
      const below = await tree.select(left)
      for (const id of left)
        if (below.has(id)) {
          found.set(id, since)
          left.delete(id)
        }
    }
    return found
  }
}
