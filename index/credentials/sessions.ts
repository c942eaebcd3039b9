/**
 * Queries for sessions, their cookies and one-time tokens. Cookies and refresh tokens continue a session, reset tokens
 * open one. Each function runs one statement.
 */

import type { ExpressionBuilder } from 'kysely'
import { type Slice, totalOf } from '../slice.ts'
import { compileOnce } from '../sqlite/compiled.ts'
import type { CredentialsDb, CredentialsSchema, RefreshToken, ResetToken, Session } from './schema.ts'

export async function insertSession(db: CredentialsDb, session: Session): Promise<void> {
  await db.insertInto('session').values(session).execute()
}

/**
 * Locks the session of a refresh token. Other transactions then wait before they check its tokens or end it. Returns
 * false if the token is unknown.
 */
export async function lockSessionOf(trx: CredentialsDb, hash: string): Promise<boolean> {
  const held = await trx
    .selectFrom('session')
    .select('id')
    .where('id', '=', (eb) => eb.selectFrom('refresh_token').select('session_id').where('hash', '=', hash))
    .forUpdate()
    .executeTakeFirst()
  return held !== undefined
}

/** Returns the token with columns of its session. */
export function findRefreshToken(
  db: CredentialsDb,
  hash: string,
): Promise<(RefreshToken & Pick<Session, 'account_id' | 'revoked_at'>) | undefined> {
  return db
    .selectFrom('refresh_token')
    .innerJoin('session', 'session.id', 'refresh_token.session_id')
    .selectAll('refresh_token')
    .select(['session.account_id', 'session.revoked_at'])
    .where('hash', '=', hash)
    .executeTakeFirst()
}

export async function insertRefreshToken(db: CredentialsDb, token: RefreshToken): Promise<void> {
  await db.insertInto('refresh_token').values(token).execute()
}

export async function setRefreshTokenUsed(
  db: CredentialsDb,
  hash: string,
  used_at: string,
  successor: string,
): Promise<void> {
  await db.updateTable('refresh_token').set({ used_at, successor }).where('hash', '=', hash).execute()
}

export async function setSessionRevoked(db: CredentialsDb, id: string, revoked_at: string): Promise<void> {
  await db.updateTable('session').set({ revoked_at }).where('id', '=', id).where('revoked_at', 'is', null).execute()
}

export async function setSessionUsed(db: CredentialsDb, id: string, last_used_at: string): Promise<void> {
  await db.updateTable('session').set({ last_used_at }).where('id', '=', id).execute()
}

/** Returns false if the account has no such session, or if it has ended. */
export async function setSessionRevokedOf(
  db: CredentialsDb,
  accountId: string,
  id: string,
  revoked_at: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('session')
    .set({ revoked_at })
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Revokes all sessions of the account, except `exceptId`. */
export async function setSessionsRevoked(
  db: CredentialsDb,
  accountId: string,
  revoked_at: string,
  exceptId = '',
): Promise<void> {
  await db
    .updateTable('session')
    .set({ revoked_at })
    .where('account_id', '=', accountId)
    .where('id', '!=', exceptId)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Notes that the session's user has just proved who they are. */
export async function setSessionConfirmed(db: CredentialsDb, id: string, confirmed_at: string): Promise<void> {
  await db.updateTable('session').set({ confirmed_at }).where('id', '=', id).execute()
}

/** Revokes the sessions that an identity has opened. Returns their ids. */
export async function setSessionsOfIdentityRevoked(
  db: CredentialsDb,
  identityId: string,
  revoked_at: string,
): Promise<string[]> {
  const rows = await db
    .updateTable('session')
    .set({ revoked_at })
    .where('identity_id', '=', identityId)
    .where('revoked_at', 'is', null)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Lists the account's sessions that have not ended, newest first. `provider`: opened it. */
export function listOpenSessions(
  db: CredentialsDb,
  accountId: string,
  now: string,
  { limit, offset }: Slice,
): Promise<(Session & { readonly provider: string | null })[]> {
  return openSessionsOf(db, accountId, now)
    .leftJoin('identity', 'identity.id', 'session.identity_id')
    .selectAll('session')
    .select('identity.provider')
    .orderBy('session.created_at', 'desc')
    .orderBy('session.id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

export function countOpenSessions(db: CredentialsDb, accountId: string, now: string): Promise<number> {
  return totalOf(openSessionsOf(db, accountId, now))
}

/**
 * Counts the sessions of all accounts that were not revoked. A session whose token has expired counts until its account
 * signs in again.
 */
export function countUnrevokedSessions(db: CredentialsDb): Promise<number> {
  return totalOf(db.selectFrom('session').where('revoked_at', 'is', null))
}

/** Makes the cookie the only way to continue the session. The caller must delete its refresh tokens. */
export async function setSessionCookie(db: CredentialsDb, id: string, cookie_hash: string): Promise<void> {
  await db.updateTable('session').set({ cookie_hash }).where('id', '=', id).execute()
}

export async function deleteRefreshTokens(db: CredentialsDb, sessionId: string): Promise<void> {
  await db.deleteFrom('refresh_token').where('session_id', '=', sessionId).execute()
}

/** Finds the session of a cookie, unless it has ended or expired. */
export async function findSessionOfCookie(
  db: CredentialsDb,
  hash: string,
  now: string,
): Promise<Pick<Session, 'id' | 'account_id'> | undefined> {
  return (await sessionOfCookie(db, hash, ...cookieTimes(now)))[0]
}

const sessionOfCookie = compileOnce(3, (db: CredentialsDb, hash: string, used: string, begun: string) =>
  db
    .selectFrom('session')
    .select(['id', 'account_id'])
    .where('cookie_hash', '=', hash)
    .where('revoked_at', 'is', null)
    .where((eb) => hasCookie(eb, used, begun)),
)

function openSessionsOf(db: CredentialsDb, accountId: string, now: string) {
  return db
    .selectFrom('session')
    .where('session.account_id', '=', accountId)
    .where('session.revoked_at', 'is', null)
    .where((eb) => goesOn(eb, now))
}

type Sessions = ExpressionBuilder<CredentialsSchema, 'session'>

/** Milliseconds that a cookie is valid, since its last use and in total. The last use is accurate to about a minute. */
const cookieMs = { unused: 30 * 24 * 3_600_000, total: 180 * 24 * 3_600_000 } as const

function goesOn(eb: Sessions, now: string) {
  return eb.or([hasUnexpiredToken(eb, now), hasCookie(eb, ...cookieTimes(now))])
}

/** The times after which a session with a valid cookie was used, and began. */
function cookieTimes(now: string): readonly [used: string, begun: string] {
  const before = (ms: number) => new Date(Date.parse(now) - ms).toISOString()
  return [before(cookieMs.unused), before(cookieMs.total)]
}

function hasCookie(eb: Sessions, used: string, begun: string) {
  return eb.and([
    eb('cookie_hash', 'is not', null),
    eb('last_used_at', '>', used),
    eb('session.created_at', '>', begun),
  ])
}

function hasUnexpiredToken({ exists, selectFrom }: Sessions, now: string) {
  return exists(
    selectFrom('refresh_token')
      .select('hash')
      .whereRef('refresh_token.session_id', '=', 'session.id')
      .where('expires_at', '>', now),
  )
}

/** Deletes the account's sessions without an unexpired token or cookie. */
export async function deleteEndedSessions(db: CredentialsDb, accountId: string, now: string): Promise<void> {
  await db
    .deleteFrom('session')
    .where('account_id', '=', accountId)
    .where((eb) => eb.not(goesOn(eb, now)))
    .execute()
}

/** Deletes all reset tokens of the account, including used ones. */
export async function deleteResetTokens(db: CredentialsDb, accountId: string): Promise<void> {
  await db.deleteFrom('reset_token').where('account_id', '=', accountId).execute()
}

/** Deletes the account's tokens, except the one of this hash. */
export async function deleteOtherResetTokens(db: CredentialsDb, accountId: string, hash: string): Promise<void> {
  await db.deleteFrom('reset_token').where('account_id', '=', accountId).where('hash', '!=', hash).execute()
}

/** Inserts a token. Does nothing if a mail that is sent again made it before. */
export async function insertResetToken(db: CredentialsDb, token: ResetToken): Promise<void> {
  await db
    .insertInto('reset_token')
    .values(token)
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute()
}

/** Finds the account of a token that is valid at `now`. */
export async function findResetAccount(db: CredentialsDb, hash: string, now: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('reset_token')
    .select('account_id')
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.account_id
}

/** Uses the token and returns its account. Undefined if the token is unknown, used or expired. */
export async function useResetToken(db: CredentialsDb, hash: string, now: string): Promise<string | undefined> {
  const row = await db
    .updateTable('reset_token')
    .set({ used_at: now })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('account_id')
    .executeTakeFirst()
  return row?.account_id
}
