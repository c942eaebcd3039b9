/** How far users have read their inboxes. Each function runs one statement. */
import type { CredentialsDb, InboxMark } from '../../../../index/credentials/schema.ts'
import { compileOnce } from '../../../../index/sqlite/compiled.ts'

/** Lists a user's marks, of one organisation or of all. */
export function listInboxMarks(db: CredentialsDb, accountId: string, orgId?: string): Promise<InboxMark[]> {
  return orgId === undefined ? allMarks(db, accountId) : marksOf(db, accountId, orgId)
}

const allMarks = compileOnce(1, (db: CredentialsDb, accountId: string) =>
  db.selectFrom('inbox_mark').selectAll().where('account_id', '=', accountId),
)
const marksOf = compileOnce(2, (db: CredentialsDb, accountId: string, orgId: string) =>
  db.selectFrom('inbox_mark').selectAll().where('account_id', '=', accountId).where('org_id', '=', orgId),
)

/** Sets a mark. */
export async function putInboxMark(db: CredentialsDb, mark: InboxMark): Promise<void> {
  const { seq, chain, read_items, at } = mark
  await db
    .insertInto('inbox_mark')
    .values(mark)
    .onConflict((conflict) => conflict.columns(['account_id', 'org_id']).doUpdateSet({ seq, chain, read_items, at }))
    .execute()
}

export async function deleteInboxMark(
  db: CredentialsDb,
  { account_id, org_id }: Pick<InboxMark, 'account_id' | 'org_id'>,
): Promise<void> {
  await db.deleteFrom('inbox_mark').where('account_id', '=', account_id).where('org_id', '=', org_id).execute()
}
