/** The key that signs the tokens of this data folder. */

import type { CredentialsDb, SigningKey } from './schema.ts'

export function findSigningKey(db: CredentialsDb): Promise<SigningKey | undefined> {
  return db.selectFrom('signing_key').selectAll().where('id', '=', 1).executeTakeFirst()
}

/** Does nothing if another process has inserted a key: read the key again afterwards. */
export async function insertSigningKey(db: CredentialsDb, key: SigningKey): Promise<void> {
  await db
    .insertInto('signing_key')
    .values(key)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}
