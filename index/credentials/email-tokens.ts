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

/** Uses a token. Returns false if it is unknown, used or expired. */
export async function useEmailToken(db: CredentialsDb, hash: string, now: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('email_token')
    .set({ used_at: now })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** True if a former address of another account can still come back to it. */
export async function isEmailKept(
  db: CredentialsDb,
  email_key: string,
  { now, accountId = '' }: { readonly now: string; readonly accountId?: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('email_token')
    .select('hash')
    .where('email_key', '=', email_key)
    .where('kind', '=', 'undo')
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .where('account_id', '!=', accountId)
    .executeTakeFirst()
  return row !== undefined
}

/** Deletes the account's tokens, but not those that undo earlier changes, which expire by `expires_at`. */
export async function deleteLaterEmailTokens(
  db: CredentialsDb,
  { account_id, expires_at }: Pick<EmailToken, 'account_id' | 'expires_at'>,
): Promise<void> {
  await db
    .deleteFrom('email_token')
    .where('account_id', '=', account_id)
    .where((eb) => eb.or([eb('kind', '!=', 'undo'), eb('expires_at', '>', expires_at)]))
    .execute()
}

export async function deleteEmailTokensUntil(db: CredentialsDb, time: string): Promise<void> {
  await db.deleteFrom('email_token').where('expires_at', '<=', time).execute()
}
