/** The branches of a node as last followed. */
import type { Kysely } from 'kysely'
import type { IndexSchema } from './schema.ts'

/** Full ref names to object ids. */
export async function readIndexedBranches(db: Kysely<IndexSchema>, nodeId: string): Promise<Map<string, string>> {
  const rows = await db.selectFrom('branch').select(['name', 'head']).where('node_id', '=', nodeId).execute()
  return new Map(rows.map(({ name, head }) => [`refs/heads/${name}`, head]))
}
