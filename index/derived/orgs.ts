/** The rows of one organisation and its members, replaced together. */
import { randomUUID } from 'node:crypto'
import type { Insertable, Transaction } from 'kysely'
import type { IndexSchema, MemberTable, OrgTable } from './schema.ts'

/** Writes them if the organisation's row still has the head `before` (null: no row); otherwise nothing. */
export async function replaceOrgRows(
  trx: Transaction<IndexSchema>,
  before: string | null,
  org: Omit<Insertable<OrgTable>, 'epoch'>,
  members: readonly Omit<MemberTable, 'org_id'>[],
): Promise<void> {
  const row = await trx.selectFrom('org').select(['head', 'version']).where('id', '=', org.id).executeTakeFirst()
  if ((row?.head ?? null) !== before) return
  if (row) {
    await trx
      .updateTable('org')
      .set({ ...org, version: row.version + 1 })
      .where('id', '=', org.id)
      .execute()
  } else {
    await trx
      .insertInto('org')
      .values({ ...org, epoch: randomUUID() })
      .execute()
  }
  await trx.deleteFrom('member').where('org_id', '=', org.id).execute()
  for (const member of members)
    await trx
      .insertInto('member')
      .values({ org_id: org.id, ...member })
      .execute()
}
