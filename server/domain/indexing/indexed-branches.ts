/** The branches of nodes as the index has them, kept by the version of the node's row: reading 10,000 of them takes 20 ms. */
import { LRUCache } from 'lru-cache'
import type { Oid } from '../../../gitstore/repo.ts'
import { readIndexedBranches } from '../../../index/derived/branches.ts'
import { findNodeVersion } from '../../../index/derived/node-queries.ts'
import type { IndexDb, NodeTable } from '../../../index/derived/schema.ts'

type Branches = ReadonlyMap<string, Oid>

/**
 * What tells a state of a node's rows from every other: versions count up, those of a node that was made again start over
 * with another `changed`, those of an index that was made again with another epoch.
 */
export type RowState = Pick<NodeTable, 'id' | 'version' | 'changed'> & { readonly epoch: string }

interface Kept {
  readonly state: string
  readonly branches: Branches
}

/** By node; 200,000 branches in all. */
const kept = new LRUCache<string, Kept>({ maxSize: 200_000, sizeCalculation: ({ branches }) => branches.size + 10 })

function stateOf({ epoch, version, changed }: RowState): string {
  return `${epoch} ${version} ${changed}`
}

/** By full ref names; as listed from the repository, the same map, where both were found to be equal. */
export async function indexedBranches(db: IndexDb, row: RowState): Promise<Branches> {
  const known = keptBranches(row)
  if (known) return known
  const branches = await readIndexedBranches(db, row.id)
  // Read after the row, they may be of a later version already.
  const now = await findNodeVersion(db, row.id)
  if (now?.version === row.version && now.changed === row.changed) keepBranches(row, branches)
  return branches
}

/** Undefined where they must be read. */
export function keptBranches(row: RowState): Branches | undefined {
  const known = kept.get(row.id)
  return known?.state === stateOf(row) ? known.branches : undefined
}

/** Says that the rows in this state are `branches`. */
export function keepBranches(row: RowState, branches: Branches): void {
  kept.set(row.id, { state: stateOf(row), branches })
}

/** Whether the rows say the same as the repository; that is then known for this state of both. */
export function agree(row: RowState, indexed: Branches, now: Branches): boolean {
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
