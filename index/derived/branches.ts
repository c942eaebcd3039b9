/** The branches of a node as last followed. */
import type { Kysely } from 'kysely'
import type { IndexSchema } from './schema.ts'

/** Full ref names to object ids. */
export async function readIndexedBranches(db: Kysely<IndexSchema>, nodeId: string): Promise<Map<string, string>> {
  const rows = await db.selectFrom('branch').select(['name', 'head']).where('node_id', '=', nodeId).execute()
  return new Map(rows.map(({ name, head }) => [`refs/heads/${name}`, head]))
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
    found.set(node_id, branches.set(`refs/heads/${name}`, head))
  }
  return found
}
