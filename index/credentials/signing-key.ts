/** The issuer of this data folder, with its first key. Each function is one statement. */

import type { CredentialsDb, SigningKey } from './schema.ts'

export function findSigningKey(db: CredentialsDb): Promise<SigningKey | undefined> {
  return db.selectFrom('signing_key').selectAll().where('id', '=', 1).executeTakeFirst()
}

export async function insertSigningKey(db: CredentialsDb, key: SigningKey): Promise<void> {
  await db.insertInto('signing_key').values(key).execute()
}
