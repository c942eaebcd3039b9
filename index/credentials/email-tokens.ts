/** Queries for tokens that were mailed to an address. Each function runs one statement. */
import type { CredentialsDb, EmailToken } from './schema.ts'

/** Inserts a token. Does nothing if a mail that is sent again made it before. */
export async function insertEmailToken(db: CredentialsDb, token: EmailToken): Promise<void> {
  await db
    .insertInto('email_token')
    .values(token)
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute()
}

/** Returns a token that has not expired at `now`, used or not. */
export function findEmailToken(db: CredentialsDb, hash: string, now: string): Promise<EmailToken | undefined> {
  return db
    .selectFrom('email_token')
    .selectAll()
    .where('hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

/** Deletes the account's tokens of a kind, except the one of this hash. */
export async function deleteOtherEmailTokens(
  db: CredentialsDb,
  { account_id, kind, hash }: Pick<EmailToken, 'account_id' | 'kind' | 'hash'>,
): Promise<void> {
  await db
    .deleteFrom('email_token')
    .where('account_id', '=', account_id)
    .where('kind', '=', kind)
    .where('hash', '!=', hash)
    .execute()
}

export async function deleteEmailTokensUntil(db: CredentialsDb, time: string): Promise<void> {
  await db.deleteFrom('email_token').where('expires_at', '<=', time).execute()
}
