/** The issuer of this data folder, with its first key. Each function is one statement. */

import type { CredentialsDb, SigningKey } from './schema.ts'

export function findSigningKey(db: CredentialsDb): Promise<SigningKey | undefined> {
  return db.selectFrom('signing_key').selectAll().where('id', '=', 1).executeTakeFirst()
}

/** Held while keys are rotated: of two rotations each retires what the other has made. */
export async function holdSigningKey(trx: CredentialsDb): Promise<void> {
  await trx.selectFrom('signing_key').select('id').where('id', '=', 1).forUpdate().execute()
}

/** False if there is one. */
export async function insertSigningKey(db: CredentialsDb, key: SigningKey): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('signing_key')
    .values(key)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}
