/** Limits of single organisations, which override the configured ones. Each function runs one statement. */
import type { CredentialsDb, OrgLimit } from './schema.ts'

export function findLimit(db: CredentialsDb, orgId: string): Promise<OrgLimit | undefined> {
  return db.selectFrom('org_limit').selectAll().where('org_id', '=', orgId).executeTakeFirst()
}

export async function putLimit(trx: CredentialsDb, { org_id, ...limit }: OrgLimit): Promise<void> {
  await trx
    .insertInto('org_limit')
    .values({ org_id, ...limit })
    .onConflict((conflict) => conflict.column('org_id').doUpdateSet(limit))
    .execute()
}

export async function deleteLimit(trx: CredentialsDb, orgId: string): Promise<void> {
  await trx.deleteFrom('org_limit').where('org_id', '=', orgId).execute()
}
