/** Finds nodes whose refs differ from the index. Reads every ref, because file times cannot be trusted. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { countBranchesOf, readBranchesOf } from '../../../index/derived/branches.ts'
import { listNodeStates } from '../../../index/derived/node-queries.ts'
import { branchRefs, ledgerRef, nodeRepo } from '../layout.ts'
import type { Services } from '../services.ts'
import { keptBranches, matchesIndexed, type RowState } from './indexed-branches.ts'

/** Branches compared between two turns of the event loop: 10 ms. One node may have more. */
const branchesAtOnce = 2_000

/**
 * Finds the nodes whose refs differ from the index or cannot be read. A node that exists in neither does not differ.
 * Takes a few queries for all nodes, and 50 µs per node to read refs.
 */
export async function listMoved(deps: Services, orgId: string, nodes: readonly string[]): Promise<string[]> {
  const db = deps.index.read
  const rows = await listNodeStates(db, nodes)
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  const moved = new Set<string>()
  const comparable: (typeof rows)[number][] = []
  for (const id of nodes) {
    const row = rowOf.get(id)
    if (row && row.org_id !== orgId) continue
    if (!row) {
      if (repoExists(nodeRepo(deps.store, orgId, id))) moved.add(id)
    } else comparable.push(row)
  }
  const counts = await countBranchesOf(db, nodes)
  for (const group of inGroups(comparable, counts)) {
    const unknown = group.filter((row) => keptBranches(row) === undefined).map(({ id }) => id)
    const read = unknown.length > 0 ? await readBranchesOf(db, unknown) : new Map<string, Map<string, Oid>>()
    for (const row of group) {
      const indexed = keptBranches(row) ?? read.get(row.id) ?? new Map<string, Oid>()
      if (hasMoved(deps, orgId, row, indexed)) moved.add(row.id)
    }
    await nextTurn()
  }
  return nodes.filter((id) => moved.has(id))
}

/** Groups of at most `branchesAtOnce` branches, or of one node. */
function* inGroups<R extends { readonly id: string }>(
  rows: readonly R[],
  counts: ReadonlyMap<string, number>,
): Iterable<readonly R[]> {
  let group: R[] = []
  let sum = 0
  for (const row of rows) {
    const count = counts.get(row.id) ?? 0
    if (group.length > 0 && sum + count > branchesAtOnce) {
      yield group
      group = []
      sum = 0
    }
    group.push(row)
    sum += count
  }
  if (group.length > 0) yield group
}

function hasMoved(
  deps: Services,
  orgId: string,
  row: RowState & { readonly ledger: Oid; readonly entries_ledger: Oid | null },
  indexed: ReadonlyMap<string, Oid>,
): boolean {
  const repo = nodeRepo(deps.store, orgId, row.id)
  try {
    const ledger = readRef(repo, ledgerRef)
    if (!repoExists(repo) || ledger !== row.ledger || ledger !== row.entries_ledger) return true
    return !matchesIndexed(row, indexed, listRefs(repo, branchRefs, 'afresh'))
  } catch {
    return true // indexing reports the reason
  }
}
