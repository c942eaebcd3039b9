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

/** False if the address, whatever its case, already has an account. */
export async function insertAccount(db: Db, account: Omit<Account, 'email_key'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('account')
    .values({ ...account, email_key: emailKey(account.email) })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export async function setPasswordHash(db: Db, accountId: string, hash: string): Promise<void> {
  await db.updateTable('account').set({ password_hash: hash }).where('id', '=', accountId).execute()
}
