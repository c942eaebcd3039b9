/**
 * The indexed branches of nodes, cached by the version of the node's row. Reading 10,000 from the index takes 20 ms.
 */
import { createCache } from '../../../gitstore/caching/caches.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { readIndexedBranches } from '../../../index/derived/branches.ts'
import { findNodeVersion } from '../../../index/derived/node-queries.ts'
import type { IndexDb, NodeTable } from '../../../index/derived/schema.ts'

type Branches = ReadonlyMap<string, Oid>

/**
 * Identifies a state of a node's rows. Versions count up; a recreated node starts over with another `changed`, a
 * rebuilt index with another epoch.
 */
export type RowState = Pick<NodeTable, 'id' | 'version' | 'changed'> & { readonly epoch: string }

interface Kept {
  readonly state: string
  readonly branches: Branches
}

/** Branches by node. */
const kept = createCache<Kept>('indexed_branches', { sizeCalculation: ({ branches }) => branches.size + 10 })

function stateOf({ epoch, version, changed }: RowState): string {
  return `${epoch} ${version} ${changed}`
}

/** The indexed branches by full ref name. If they equal the repository's, it is the same map. */
export async function indexedBranches(db: IndexDb, row: RowState): Promise<Branches> {
  const known = keptBranches(row)
  if (known) return known
  const branches = await readIndexedBranches(db, row.id)
  // They were read after the row, so they may belong to a later version.
  const now = await findNodeVersion(db, row.id)
  if (now?.version === row.version && now.changed === row.changed) keepBranches(row, branches)
  return branches
}

/** The cached branches for this state of the rows, or undefined. */
export function keptBranches(row: RowState): Branches | undefined {
  const known = kept.get(row.id)
  return known?.state === stateOf(row) ? known.branches : undefined
}

/** Caches `branches` for this state of the rows. */
export function keepBranches(row: RowState, branches: Branches): void {
  kept.set(row.id, { state: stateOf(row), branches })
}

/** True if the rows match the repository. Then the repository's map is cached for this state. */
export function matchesIndexed(row: RowState, indexed: Branches, now: Branches): boolean {
  if (indexed === now) return true
  if (!sameBranches(indexed, now)) return false
  keepBranches(row, now)
  return true
}

export function sameBranches(indexed: Branches, now: Branches): boolean {
  if (indexed.size !== now.size) return false
  for (const [ref, oid] of now) if (indexed.get(ref) !== oid) return false
  return true
}
