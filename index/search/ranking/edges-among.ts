/** The edges between the nodes of an answer. */
import type { EdgeTable } from '../../derived/schema.ts'
import { MOST_EDGES_FROM, type SearchRows } from '../segments/rows.ts'

/** Edges that are looked at to find those between two nodes of the answer, from the best node on; of one node the first so many. */
const MOST_LOOKED_AT = 1_000
const MOST_LOOKED_AT_A_NODE = MOST_EDGES_FROM - 1

/** Edges with both ends in `ids`, whatever was followed, by holder, type and key. */
export function edgesAmong(
  rows: SearchRows,
  orgId: string,
  ids: ReadonlySet<string>,
): { edges: EdgeTable[]; cut: boolean } {
  const found: string[] = []
  let left = MOST_LOOKED_AT
  let cut = false
  for (const id of ids) {
    if (left === 0) {
      cut = true
      break
    }
    const limit = Math.min(left, MOST_LOOKED_AT_A_NODE)
    const { targets, numbers } = rows.edgesFrom(id)
    cut ||= targets.length > limit
    left -= Math.min(targets.length, limit)
    found.push(...numbers.slice(0, limit).filter((_, n) => ids.has(targets[n] ?? '')))
  }
  return { edges: rows.edges(found).filter(isOfOrg).sort(byName), cut }

  function isOfOrg(edge: EdgeTable): boolean {
    return edge.org_id === orgId
  }
}

function byName(a: EdgeTable, b: EdgeTable): number {
  return compare(a.holder, b.holder) || compare(a.edge_type, b.edge_type) || compare(a.key, b.key)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
