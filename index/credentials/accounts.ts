/** Accounts: who may sign in. Each function is one statement. */

import { compiledOnce } from '../sqlite/compiled.ts'
import type { Account, CredentialsDb } from './schema.ts'

/** The key of an address, equal for all spellings: NFC, lower case. */
export function emailKey(email: string): string {
  return email.normalize('NFC').toLowerCase().normalize('NFC')
}

export function findAccountByEmail(db: CredentialsDb, email: string): Promise<Account | undefined> {
  return db.selectFrom('account').selectAll().where('email_key', '=', emailKey(email)).executeTakeFirst()
}

export function findAccountById(db: CredentialsDb, id: string): Promise<Account | undefined> {
  return db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirst()
}

/** False if the address, whatever its case, already has an account. */
export async function insertAccount(db: CredentialsDb, account: Omit<Account, 'email_key'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('account')
    .values({ ...account, email_key: emailKey(account.email) })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export async function setPasswordHash(db: CredentialsDb, accountId: string, hash: string): Promise<void> {
  await db.updateTable('account').set({ password_hash: hash }).where('id', '=', accountId).execute()
}

export type Profile = Pick<Account, 'id' | 'email' | 'name' | 'created_at' | 'org_id'>

/** Without the password hash. Every request with an access token runs this query. */
export async function findProfile(db: CredentialsDb, id: string): Promise<Profile | undefined> {
  return (await profileById(db, id))[0]
}

const profileById = compiledOnce(1, (db: CredentialsDb, id: string) =>
  db.selectFrom('account').select(['id', 'email', 'name', 'created_at', 'org_id']).where('id', '=', id),
)

/** Whether the organisation is the personal one of an account. */
export async function hasPersonalOrg(db: CredentialsDb, orgId: string): Promise<boolean> {
  return (await db.selectFrom('account').select('id').where('org_id', '=', orgId).executeTakeFirst()) !== undefined
}

export async function hasAccounts(db: CredentialsDb): Promise<boolean> {
  return (await db.selectFrom('account').select('id').limit(1).executeTakeFirst()) !== undefined
}
