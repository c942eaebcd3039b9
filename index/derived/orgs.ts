/** Replaces the rows of one organisation and its members together. */
import { randomUUID } from 'node:crypto'
import type { Insertable, Transaction } from 'kysely'
import { countMoves, ownRepository } from './change-log.ts'
import type { IndexSchema, MemberTable, OrgTable } from './schema.ts'

export interface MemberChanges {
  readonly put: readonly Omit<MemberTable, 'org_id'>[]
  /** User ids; null for all members that are not in `put`. */
  readonly gone: readonly string[] | null
}

/** Rows per statement. */
const rowsAtOnce = 200

/** Writes the rows if the organisation's row still has the head `before`. Null stands for no row. */
export async function replaceOrgRows(
  trx: Transaction<IndexSchema>,
  before: string | null,
  org: Omit<Insertable<OrgTable>, 'epoch'>,
  { put, gone }: MemberChanges,
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
  await countMoves(trx, org.id, [ownRepository])
  if (gone === null) await trx.deleteFrom('member').where('org_id', '=', org.id).execute()
  for (let at = 0; at < (gone?.length ?? 0); at += rowsAtOnce)
    await trx
      .deleteFrom('member')
      .where('org_id', '=', org.id)
      .where('user_id', 'in', gone?.slice(at, at + rowsAtOnce) ?? [])
      .execute()
  for (let at = 0; at < put.length; at += rowsAtOnce)
    await trx
      .insertInto('member')
      .values(put.slice(at, at + rowsAtOnce).map((member) => ({ org_id: org.id, ...member })))
      .onConflict((conflict) =>
        conflict.columns(['org_id', 'user_id']).doUpdateSet((eb) => ({
          email: eb.ref('excluded.email'),
          name: eb.ref('excluded.name'),
          role: eb.ref('excluded.role'),
          created_at: eb.ref('excluded.created_at'),
          former_emails: eb.ref('excluded.former_emails'),
        })),
      )
      .execute()
}
