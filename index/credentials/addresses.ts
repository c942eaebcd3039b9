/** IP addresses from which an account was used. Each function runs one statement. */

import type { CredentialsDb } from './schema.ts'

/** Returns when the account was last used from the address. */
export async function findAddress(db: CredentialsDb, accountId: string, address: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('account_address')
    .select('seen_at')
    .where('account_id', '=', accountId)
    .where('address', '=', address)
    .executeTakeFirst()
  return row?.seen_at
}

export async function listAddresses(db: CredentialsDb, accountId: string): Promise<string[]> {
  const rows = await db.selectFrom('account_address').select('address').where('account_id', '=', accountId).execute()
  return rows.map(({ address }) => address)
}

export async function setAddressSeen(
  db: CredentialsDb,
  account_id: string,
  address: string,
  seen_at: string,
): Promise<void> {
  await db
    .insertInto('account_address')
    .values({ account_id, address, seen_at })
    .onConflict((conflict) => conflict.columns(['account_id', 'address']).doUpdateSet({ seen_at }))
    .execute()
}

export async function deleteAddressesUntil(db: CredentialsDb, accountId: string, seenAt: string): Promise<void> {
  await db.deleteFrom('account_address').where('account_id', '=', accountId).where('seen_at', '<=', seenAt).execute()
}
