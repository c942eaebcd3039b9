/**
 * Queries for the issuer of this data folder and the keys that sign tokens. There are several keys during a rotation.
 * Each function runs one statement.
 */

import type { CredentialsDb, SigningKey, TokenKey } from './schema.ts'

export function findSigningKey(db: CredentialsDb): Promise<SigningKey | undefined> {
  return db.selectFrom('signing_key').selectAll().where('id', '=', 1).executeTakeFirst()
}

/** Locks the keys for a rotation. A concurrent rotation waits, then retires the key of this one. */
export async function lockSigningKey(trx: CredentialsDb): Promise<void> {
  await trx.selectFrom('signing_key').select('id').where('id', '=', 1).forUpdate().execute()
}

/** Inserts the signing key. Returns false if there already is one. */
export async function insertSigningKey(db: CredentialsDb, key: SigningKey): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('signing_key')
    .values(key)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** Lists all keys, oldest first. */
export function listTokenKeys(db: CredentialsDb): Promise<TokenKey[]> {
  return db.selectFrom('token_key').selectAll().orderBy('active_from').orderBy('kid').execute()
}

export async function insertTokenKey(db: CredentialsDb, key: TokenKey): Promise<void> {
  await db.insertInto('token_key').values(key).execute()
}

/** Sets `retired_at` of every key except `kid`, unless it is already earlier. */
export async function retireOtherTokenKeys(db: CredentialsDb, kid: string, retiredAt: string): Promise<void> {
  await db
    .updateTable('token_key')
    .set({ retired_at: retiredAt })
    .where('kid', '!=', kid)
    .where((of) => of.or([of('retired_at', 'is', null), of('retired_at', '>', retiredAt)]))
    .execute()
}

/** Deletes keys that were retired before this time. */
export async function deleteRetiredTokenKeys(db: CredentialsDb, before: string): Promise<void> {
  await db.deleteFrom('token_key').where('retired_at', '<', before).execute()
}
