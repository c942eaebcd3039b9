/** How far users have read their inboxes. Each function runs one statement. */
import type { CredentialsDb, InboxMark } from '../../../../index/credentials/schema.ts'

/** Lists a user's marks, of one organisation or of all. */
export function listInboxMarks(db: CredentialsDb, accountId: string, orgId?: string): Promise<InboxMark[]> {
  return db
    .selectFrom('inbox_mark')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(orgId !== undefined, (query) => query.where('org_id', '=', orgId ?? ''))
    .execute()
}

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
