/** The key that signs the tokens of this data folder. */

import type { Kysely } from 'kysely'
import type { CredentialsSchema, SigningKey } from './schema.ts'

type Db = Kysely<CredentialsSchema>

export function findSigningKey(db: Db): Promise<SigningKey | undefined> {
  return db.selectFrom('signing_key').selectAll().where('id', '=', 1).executeTakeFirst()
}

/** Does nothing if another process has inserted a key: read the key again afterwards. */
export async function insertSigningKey(db: Db, key: SigningKey): Promise<void> {
  await db
    .insertInto('signing_key')
    .values(key)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}
