/** Accounts: who may sign in. Each function is one statement. */

import type { Kysely } from 'kysely'
import type { Account, CredentialsSchema } from './schema.ts'

type Db = Kysely<CredentialsSchema>

/** What two spellings of one address have in common: NFC, lower case. */
export function emailKey(email: string): string {
  return email.normalize('NFC').toLowerCase().normalize('NFC')
}

export function findAccountByEmail(db: Db, email: string): Promise<Account | undefined> {
  return db.selectFrom('account').selectAll().where('email_key', '=', emailKey(email)).executeTakeFirst()
}

export function findAccountById(db: Db, id: string): Promise<Account | undefined> {
  return db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirst()
}

/** In no particular order; ids that name nobody are missing from the answer. */
export async function findAccountsByIds(db: Db, ids: readonly string[]): Promise<Account[]> {
  if (ids.length === 0) return []
  return db.selectFrom('account').selectAll().where('id', 'in', ids).execute()
}

/** False if the address, whatever its case, already has an account. */
export async function insertAccount(db: Db, account: Omit<Account, 'email_key'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('account')
    .values({ ...account, email_key: emailKey(account.email) })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** The account's organisation from now on: `orgId`, or the one that another process set first. */
export async function setPersonalOrg(db: Db, accountId: string, orgId: string): Promise<void> {
  await db
    .updateTable('account')
    .set({ org_id: orgId })
    .where('id', '=', accountId)
    .where('org_id', 'is', null)
    .execute()
}

export async function setPasswordHash(db: Db, accountId: string, hash: string): Promise<void> {
  await db.updateTable('account').set({ password_hash: hash }).where('id', '=', accountId).execute()
}
