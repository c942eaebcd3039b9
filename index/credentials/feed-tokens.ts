/** Tokens of inbox feeds, one for each user. Each function runs one statement. */
import type { CredentialsDb, FeedToken } from './schema.ts'

/** Sets the token of a user. An earlier one ends. */
export async function putFeedToken(db: CredentialsDb, token: FeedToken): Promise<void> {
  const { hash, created_at } = token
  await db
    .insertInto('feed_token')
    .values(token)
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet({ hash, created_at }))
    .execute()
}

/** Returns the account of a token; undefined if it is unknown. */
export async function findFeedAccount(db: CredentialsDb, hash: string): Promise<string | undefined> {
  const row = await db.selectFrom('feed_token').select('account_id').where('hash', '=', hash).executeTakeFirst()
  return row?.account_id
}

export async function deleteFeedToken(db: CredentialsDb, accountId: string): Promise<void> {
  await db.deleteFrom('feed_token').where('account_id', '=', accountId).execute()
}
