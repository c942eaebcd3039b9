/** Queries for personal access tokens. Each function runs one statement. */

import { type Slice, totalOf } from '../slice.ts'
import { compileOnce } from '../sqlite/compiled.ts'
import type { AccessToken, CredentialsDb } from './schema.ts'

export async function findAccessToken(db: CredentialsDb, hash: string): Promise<AccessToken | undefined> {
  return (await accessTokenByHash(db, hash))[0]
}

const accessTokenByHash = compileOnce(1, (db: CredentialsDb, hash: string) =>
  db.selectFrom('access_token').selectAll().where('hash', '=', hash),
)

/** True if the token exists, which means that it has not been revoked. */
export async function hasAccessToken(db: CredentialsDb, id: string): Promise<boolean> {
  return (await accessTokenById(db, id)).length > 0
}

const accessTokenById = compileOnce(1, (db: CredentialsDb, id: string) =>
  db.selectFrom('access_token').select('id').where('id', '=', id),
)

/** Lists the tokens of an account, oldest first. */
export function listAccessTokens(
  db: CredentialsDb,
  accountId: string,
  { limit, offset }: Slice,
): Promise<AccessToken[]> {
  return db
    .selectFrom('access_token')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** @param validAt leaves out tokens that have expired then. Default: none */
export function countAccessTokens(db: CredentialsDb, accountId: string, validAt = ''): Promise<number> {
  return totalOf(
    db
      .selectFrom('access_token')
      .where('account_id', '=', accountId)
      .where(({ or, eb }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', validAt)])),
  )
}

export async function insertAccessToken(db: CredentialsDb, token: AccessToken): Promise<void> {
  await db.insertInto('access_token').values(token).execute()
}

export async function setAccessTokenUsed(db: CredentialsDb, id: string, last_used_at: string): Promise<void> {
  await db.updateTable('access_token').set({ last_used_at }).where('id', '=', id).execute()
}

/** Returns false if the account has no such token. */
export async function deleteAccessToken(db: CredentialsDb, accountId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('access_token')
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return numDeletedRows === 1n
}

export async function deleteAccessTokens(db: CredentialsDb, accountId: string): Promise<void> {
  await db.deleteFrom('access_token').where('account_id', '=', accountId).execute()
}
