/** Records how far background jobs have walked through all repositories. */
import type { Transaction } from 'kysely'
import type { IndexDb, IndexSchema } from './schema.ts'

/** The ids of the last visited organisation and node. Both are empty at the beginning. */
export interface WalkPlace {
  readonly orgId: string
  readonly nodeId: string
}

export const beginning: WalkPlace = { orgId: '', nodeId: '' }

export async function findWalkPlace(db: IndexDb, chore: string): Promise<WalkPlace> {
  const row = await db.selectFrom('cursor').selectAll().where('chore', '=', chore).executeTakeFirst()
  return row === undefined ? beginning : { orgId: row.org_id, nodeId: row.node_id }
}

export async function saveWalkPlace(
  trx: Transaction<IndexSchema>,
  chore: string,
  { orgId, nodeId }: WalkPlace,
): Promise<void> {
  const row = { org_id: orgId, node_id: nodeId }
  await trx
    .insertInto('cursor')
    .values({ chore, ...row })
    .onConflict((conflict) => conflict.column('chore').doUpdateSet(row))
    .execute()
}
