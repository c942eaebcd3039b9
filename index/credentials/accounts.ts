/** Queries for accounts, which users sign in to. Each function runs one statement. */

import { sql } from 'kysely'
import { type Slice, totalOf } from '../slice.ts'
import { compileOnce } from '../sqlite/compiled.ts'
import type { Account, CredentialsDb, NewAccountRow, Session } from './schema.ts'

/** Returns the key of an e-mail address, equal for all spellings: NFC, lower case. */
export function emailKey(email: string): string {
  return email.normalize('NFC').toLowerCase().normalize('NFC')
}

export function findAccountByEmail(db: CredentialsDb, email: string): Promise<Account | undefined> {
  return db.selectFrom('account').selectAll().where('email_key', '=', emailKey(email)).executeTakeFirst()
}

export function findAccountById(db: CredentialsDb, id: string): Promise<Account | undefined> {
  return db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the account and locks its row against other transactions. */
export function lockAccount(trx: CredentialsDb, id: string): Promise<Account | undefined> {
  return trx.selectFrom('account').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

/** Returns false if the e-mail address, in any case, already has an account. */
export async function insertAccount(db: CredentialsDb, account: Omit<NewAccountRow, 'email_key'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('account')
    .values({ ...account, email_key: emailKey(account.email) })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export async function setPasswordHash(db: CredentialsDb, accountId: string, hash: string): Promise<void> {
  await db.updateTable('account').set({ password_hash: hash, has_password: 1 }).where('id', '=', accountId).execute()
}

/** Sets a hash of which nobody knows the password. */
export async function removePassword(db: CredentialsDb, accountId: string, hash: string): Promise<void> {
  await db.updateTable('account').set({ password_hash: hash, has_password: 0 }).where('id', '=', accountId).execute()
}

export type Profile = Pick<
  Account,
  | 'id'
  | 'email'
  | 'name'
  | 'created_at'
  | 'org_id'
  | 'is_admin'
  | 'hide_email'
  | 'last_seen_at'
  | 'kind'
  | 'owner_org_id'
  | 'has_password'
  | 'has_identity'
  | 'email_verified_at'
  | 'digest'
  | 'notifications'
>

const profileColumns = [
  'account.id',
  'account.email',
  'account.name',
  'account.created_at',
  'account.org_id',
  'account.is_admin',
  'account.hide_email',
  'account.last_seen_at',
  'account.kind',
  'account.owner_org_id',
  'account.has_password',
  'account.has_identity',
  'account.email_verified_at',
  'account.digest',
  'account.notifications',
] as const

/**
 * Returns an account without its password hash, or undefined if it is missing or disabled. Every request with a
 * personal access token runs this query.
 */
export async function findActiveProfile(db: CredentialsDb, id: string): Promise<Profile | undefined> {
  return (await activeProfileById(db, id))[0]
}

const activeProfileById = compileOnce(1, (db: CredentialsDb, id: string) =>
  db.selectFrom('account').select(profileColumns).where('id', '=', id).where('disabled_at', 'is', null),
)

/** An account, and the session through which it is used. */
export interface SessionProfile extends Profile, Pick<Session, 'last_used_at' | 'confirmed_at'> {
  readonly session_created_at: string
  /** The provider that opened the session; null for other methods. */
  readonly provider: string | null
}

/**
 * Returns the account of a session, and when the session was last used. Undefined if the session has ended or belongs
 * to another account, or if the account is disabled or a bot. Every request with an access token runs this query.
 */
export async function findProfileOfSession(
  db: CredentialsDb,
  sessionId: string,
  accountId: string,
): Promise<SessionProfile | undefined> {
  return (await profileBySession(db, sessionId, accountId))[0]
}

const profileBySession = compileOnce(2, (db: CredentialsDb, sessionId: string, accountId: string) =>
  db
    .selectFrom('session')
    .innerJoin('account', 'account.id', 'session.account_id')
    .leftJoin('identity', 'identity.id', 'session.identity_id')
    .select([...profileColumns, 'session.last_used_at', 'session.confirmed_at', 'identity.provider'])
    .select('session.created_at as session_created_at')
    .where('session.id', '=', sessionId)
    .where('session.account_id', '=', accountId)
    .where('session.revoked_at', 'is', null)
    .where('account.disabled_at', 'is', null)
    .where('account.kind', '=', 'person'),
)

/** Lists the names of accounts. Leaves out ids without an account. */
export function listAccountNames(db: CredentialsDb, ids: readonly string[]): Promise<Pick<Account, 'id' | 'name'>[]> {
  if (ids.length === 0) return Promise.resolve([])
  return db.selectFrom('account').select(['id', 'name']).where('id', 'in', ids).execute()
}

/** Returns the accounts with these ids that exist. */
export function listProfiles(db: CredentialsDb, ids: readonly string[]): Promise<Account[]> {
  if (ids.length === 0) return Promise.resolve([])
  return db.selectFrom('account').selectAll().where('id', 'in', ids).execute()
}

export async function setAccountSeen(db: CredentialsDb, id: string, last_seen_at: string): Promise<void> {
  await db.updateTable('account').set({ last_seen_at }).where('id', '=', id).execute()
}

/** True if the organisation is the personal one of an account. */
export async function hasPersonalOrg(db: CredentialsDb, orgId: string): Promise<boolean> {
  return (await db.selectFrom('account').select('id').where('org_id', '=', orgId).executeTakeFirst()) !== undefined
}

export async function hasAccounts(db: CredentialsDb): Promise<boolean> {
  return (await db.selectFrom('account').select('id').limit(1).executeTakeFirst()) !== undefined
}

/** Conditions for the accounts to list. */
export interface AccountFilter {
  /** Part of the e-mail address or the name. The case of ASCII letters does not matter. */
  readonly q?: string | undefined
  readonly state: 'active' | 'disabled' | 'all'
}

/** Lists the accounts that match the filter, oldest first. */
export function listAccounts(db: CredentialsDb, filter: AccountFilter, { limit, offset }: Slice): Promise<Account[]> {
  return accountsThat(db, filter).selectAll().orderBy('created_at').orderBy('id').limit(limit).offset(offset).execute()
}

export function countAccounts(db: CredentialsDb, filter: AccountFilter): Promise<number> {
  return totalOf(accountsThat(db, filter))
}

/** Counts all accounts, those that are disabled, and the administrators who are not. */
export function countAccountsByState(db: CredentialsDb) {
  return db
    .selectFrom('account')
    .select(({ fn }) => [
      fn.countAll<number>().as('accounts'),
      fn.countAll<number>().filterWhere('disabled_at', 'is not', null).as('disabled'),
      fn.countAll<number>().filterWhere('disabled_at', 'is', null).filterWhere('is_admin', '=', 1).as('administrators'),
    ])
    .executeTakeFirstOrThrow()
}

function accountsThat(db: CredentialsDb, { q = '', state }: AccountFilter) {
  const all = db.selectFrom('account')
  const known = state === 'all' ? all : all.where('disabled_at', state === 'active' ? 'is' : 'is not', null)
  if (q === '') return known
  // Lower-cases only the letters A to Z, as SQLite's `like` does.
  const part = q.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const pattern = `%${part.replace(/[\\%_]/g, '\\$&')}%`
  return known.where((eb) =>
    eb.or([
      sql<boolean>`lower(email) like ${pattern} escape '\\'`,
      sql<boolean>`lower(name) like ${pattern} escape '\\'`,
    ]),
  )
}

/** Changes an account. `change` must have at least one column. */
export async function setAccount(
  db: CredentialsDb,
  id: string,
  change: Partial<
    Pick<
      Account,
      | 'disabled_at'
      | 'disabled_reason'
      | 'is_admin'
      | 'hide_email'
      | 'name'
      | 'members_behind'
      | 'has_identity'
      | 'email_verified_at'
      | 'digest'
      | 'notifications'
    >
  >,
): Promise<void> {
  await db.updateTable('account').set(change).where('id', '=', id).execute()
}

/** Changes the e-mail address, which is not confirmed then. Member files in Git still have the former one afterwards. */
export async function setEmail(db: CredentialsDb, id: string, email: string): Promise<void> {
  await db
    .updateTable('account')
    .set({ email, email_key: emailKey(email), members_behind: 1, email_verified_at: null })
    .where('id', '=', id)
    .execute()
}

/** Marks the member files as up to date, unless a value has changed since. */
export async function setMembersUpToDate(
  db: CredentialsDb,
  { id, email, name, hide_email }: Pick<Account, 'id' | 'email' | 'name' | 'hide_email'>,
): Promise<void> {
  await db
    .updateTable('account')
    .set({ members_behind: 0 })
    .where('id', '=', id)
    .where('email', '=', email)
    .where('name', '=', name)
    .where('hide_email', '=', hide_email)
    .execute()
}

/** Lists up to 1,000 accounts whose member files may be out of date. */
export async function listAccountsBehind(db: CredentialsDb): Promise<string[]> {
  const rows = await db.selectFrom('account').select('id').where('members_behind', '=', 1).limit(1_000).execute()
  return rows.map(({ id }) => id)
}

/** Deletes an account with its sessions, tokens and IP addresses. */
export async function deleteAccount(db: CredentialsDb, id: string): Promise<void> {
  await db.deleteFrom('account').where('id', '=', id).execute()
}

export async function insertDeletedAccount(db: CredentialsDb, id: string, deleted_at: string): Promise<void> {
  await db
    .insertInto('deleted_account')
    .values({ id, deleted_at })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Lists the ids of accounts deleted after `time`. */
export async function listDeletedSince(db: CredentialsDb, time: string): Promise<string[]> {
  return (await db.selectFrom('deleted_account').select('id').where('deleted_at', '>', time).execute()).map(
    ({ id }) => id,
  )
}

/** Returns those of the ids that belong to deleted accounts. */
export async function listDeletedAmong(db: CredentialsDb, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  return (await db.selectFrom('deleted_account').select('id').where('id', 'in', ids).execute()).map(({ id }) => id)
}

export async function isDeletedAccount(db: CredentialsDb, id: string): Promise<boolean> {
  return (await db.selectFrom('deleted_account').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}
