/** Queries for the branches of a node as last indexed. */
import { type Kysely, sql } from 'kysely'
import type { IndexSchema } from './schema.ts'

/** The prefix of branch refs. Branch names in the index do not have it. */
export const branchRefs = 'refs/heads/'

/** Maps full ref names to object ids. */
export async function readIndexedBranches(db: Kysely<IndexSchema>, nodeId: string): Promise<Map<string, string>> {
  const rows = await db.selectFrom('branch').select(['name', 'head']).where('node_id', '=', nodeId).execute()
  return new Map(rows.map(({ name, head }) => [branchRefs + name, head]))
}

/** Counts the branches of each node. The map omits nodes without branches. */
export async function countBranchesOf(
  db: Kysely<IndexSchema>,
  nodes: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('branch')
    .select((eb) => ['node_id', eb.fn.countAll<number>().as('count')] as const)
    .where('node_id', 'in', nodes)
    .groupBy('node_id')
    .execute()
  return new Map(rows.map(({ node_id, count }) => [node_id, count]))
}

/** Maps full ref names to object ids, by node. The map omits nodes without branches. */
export async function readBranchesOf(
  db: Kysely<IndexSchema>,
  nodes: readonly string[],
): Promise<Map<string, Map<string, string>>> {
  const rows = await db.selectFrom('branch').select(['node_id', 'name', 'head']).where('node_id', 'in', nodes).execute()
  const found = new Map<string, Map<string, string>>()
  for (const { node_id, name, head } of rows) {
    const branches = found.get(node_id) ?? new Map<string, string>()
    found.set(node_id, branches.set(branchRefs + name, head))
  }
  return found
}

/** Returns the head of a branch as last indexed. `name` does not include `branchRefs`. */
export async function findBranchHead(
  db: Kysely<IndexSchema>,
  nodeId: string,
  name: string,
): Promise<string | undefined> {
  const row = db.selectFrom('branch').select('head').where('node_id', '=', nodeId).where('name', '=', name)
  return (await row.executeTakeFirst())?.head
}

/** The fields of a node that a search at another commit needs. */
export interface StateNode {
  readonly id: string
  /** The head of main; null if main does not exist. */
  readonly head: string | null
  readonly ledger: string
  readonly created_at: string
}

/** Lists nodes of the organisation that have this branch, by id, starting after `after`. The branch is not main. */
export function listNodesWithBranch(
  db: Kysely<IndexSchema>,
  orgId: string,
  name: string,
  after: string,
  limit: number,
): Promise<(StateNode & { readonly branch_head: string })[]> {
  return (
    db
      .selectFrom('branch')
      .innerJoin('node', 'node.id', 'branch.node_id')
      .select(['node.id', 'node.head', 'node.ledger', 'node.created_at', 'branch.head as branch_head'])
      .where('branch.org_id', '=', orgId)
      .where('branch.name', '=', name)
      // The same condition as that of the partial index.
      .where(sql<boolean>`branch.name <> 'main'`)
      .where('branch.node_id', '>', after)
      .orderBy('branch.node_id')
      .limit(limit)
      .execute()
  )
}
