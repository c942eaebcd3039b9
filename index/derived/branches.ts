/** The branches of a node as last indexed. */
import { type Kysely, sql } from 'kysely'
import type { IndexSchema } from './schema.ts'

/** Where branches are in a repository; their names here are without it. */
export const branchRefs = 'refs/heads/'

/** Full ref names to object ids. */
export async function readIndexedBranches(db: Kysely<IndexSchema>, nodeId: string): Promise<Map<string, string>> {
  const rows = await db.selectFrom('branch').select(['name', 'head']).where('node_id', '=', nodeId).execute()
  return new Map(rows.map(({ name, head }) => [branchRefs + name, head]))
}

/** How many branches each of these nodes has; one without branches is not in it. */
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

/** The same of several nodes, by node; one without branches is not in it. */
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

/** The head of a branch as last indexed; `name` without `branchRefs`. */
export async function findBranchHead(
  db: Kysely<IndexSchema>,
  nodeId: string,
  name: string,
): Promise<string | undefined> {
  const row = db.selectFrom('branch').select('head').where('node_id', '=', nodeId).where('name', '=', name)
  return (await row.executeTakeFirst())?.head
}

/** A node with what a search at another of its commits needs. */
export interface StateNode {
  readonly id: string
  /** The head of main, or null. */
  readonly head: string | null
  readonly ledger: string
  readonly created_at: string
}

/** The first nodes of the organisation by id, after `after`, that have this branch, which is not main. */
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
      // As the index has it.
      .where(sql<boolean>`branch.name <> 'main'`)
      .where('branch.node_id', '>', after)
      .orderBy('branch.node_id')
      .limit(limit)
      .execute()
  )
}
