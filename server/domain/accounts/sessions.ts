/** Sessions: a chain of refresh tokens, each of which works once. */

import { v7 as newId } from 'uuid'
import {
  findAccountById,
  findActiveProfile,
  lockAccount,
  type Profile,
  setAccountSeen,
} from '../../../index/credentials/accounts.ts'
import { deleteAddressesUntil, listAddresses, setAddressSeen } from '../../../index/credentials/addresses.ts'
import type { CredentialsDb, Session as SessionRow } from '../../../index/credentials/schema.ts'
import {
  deleteEndedSessions,
  deleteResetTokens,
  findRefreshToken,
  insertRefreshToken,
  insertResetToken,
  insertSession,
  lockSessionOf,
  setRefreshTokenUsed,
  setSessionRevoked,
} from '../../../index/credentials/sessions.ts'
import { AppError } from '../../base/errors.ts'
import { anonymous } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { stripControls } from '../format/text-rules.ts'
import { queueNotice } from '../mail/notices.ts'
import { hasMail } from '../mail/outbox.ts'
import type { RequestCtx, Services } from '../services.ts'
import type { Body } from '../targets.ts'
import { accessSeconds } from './keys.ts'
import { lockProvedAccount, type ProvedAccount } from './password-proof.ts'
import { addressLifetimeMs } from './sign-ins.ts'
import { accessToken, hashOf, idToken, newToken, seal, unseal } from './tokens.ts'
import { personOf, type User, userOf } from './user-view.ts'

/** Milliseconds until an unused refresh token expires. */
const refreshLifetimeMs = 30 * 24 * 3600 * 1000

/**
 * Milliseconds in which a repeated token (a lost answer, two tabs) gets the same successor. Later it counts as stolen.
 */
const graceMs = 30_000

/** Milliseconds that the operator's one-time token is valid. */
const resetLifetimeMs = 7 * 24 * 3600 * 1000

export interface Session {
  readonly message: string
  readonly user: User
  readonly accessToken: string
  readonly idToken: string
  readonly refreshToken: string
  /** Seconds. */
  readonly expiresIn: number
  readonly tokenType: 'Bearer'
}

/** The client that signs in. */
export interface SignInFrom {
  /** The caller's IP address, or its network. */
  readonly from: string
  /** The header `User-Agent`. */
  readonly userAgent?: string
}

/** Characters of a client's description that are kept. */
const agentLength = 200

/** A session, and the refresh token that prolongs it. */
interface OpenSession {
  readonly id: string
  readonly refreshToken: string
}

/** How a user has proved who they are. */
export interface Opening {
  readonly method: 'password' | 'reset' | 'oidc'
  /** The identity through which it is opened, and its provider. */
  readonly identityId?: string
  readonly provider?: string
  /** Locks the account, and checks that the proof still holds. Runs in the transaction of the session. */
  prove(trx: CredentialsDb): Promise<void>
}

/** The password must not have changed since. A change ends all earlier sessions, so the old one must open none. */
export function byPassword(proved: ProvedAccount, method: 'password' | 'reset'): Opening {
  return { method, prove: (trx) => lockProvedAccount(trx, proved, passwordChanged) }
}

/**
 * Opens a session of the account.
 *
 * @throws AppError invalid_credentials, account_disabled (also if it has just been deleted); errors of `prove`
 */
export async function openSession(
  deps: Services,
  accountId: string,
  { from, userAgent }: SignInFrom,
  { method, identityId, prove }: Opening,
): Promise<OpenSession> {
  const token = newToken('refresh')
  const now = deps.now().toISOString()
  const forgotten = new Date(deps.now().getTime() - addressLifetimeMs).toISOString()
  const session = {
    id: newId(),
    account_id: accountId,
    created_at: now,
    revoked_at: null,
    last_used_at: now,
    user_agent: userAgent === undefined ? null : stripControls(userAgent).slice(0, agentLength),
    address: coarse(from),
    method,
    cookie_hash: null,
    identity_id: identityId ?? null,
    confirmed_at: null,
  }
  await deps.credentials.write(async (trx) => {
    await prove(trx)
    await deleteEndedSessions(trx, accountId, session.created_at)
    await insertSession(trx, session)
    await insertRefreshToken(trx, refreshRow(token, session.id, deps.now()))
    await deleteAddressesUntil(trx, accountId, forgotten)
    await noticeNewNetwork(deps, trx, session)
    await setAddressSeen(trx, accountId, from, now)
    await setAccountSeen(trx, accountId, now)
  })
  return { id: session.id, refreshToken: token }
}

/** Mails the user if the account knows no address of the session's network. The first sign-in is not news. */
async function noticeNewNetwork(
  deps: Services,
  trx: CredentialsDb,
  { account_id, address, user_agent }: Pick<SessionRow, 'account_id' | 'address' | 'user_agent'>,
): Promise<void> {
  if (!hasMail(deps) || address === null) return
  const isFirst = (await findAccountById(trx, account_id))?.last_seen_at == null
  if (isFirst || (await listAddresses(trx, account_id)).some((known) => coarse(known) === address)) return
  await queueNotice(deps, trx, 'signed_in', account_id, { network: address, name: user_agent ?? '' })
}

function passwordChanged(): AppError {
  return new AppError('invalid_credentials', 'The password was changed during the sign-in; sign in with the new one')
}

/** Returns the network of an IP address. It lets users recognise a place, but does not identify them. */
function coarse(from: string): string {
  const [address = '', prefix] = from.split('/')
  if (prefix === undefined) return address.replace(/\.\d+$/, '.0/24')
  return `${address.replace(/::$/, '').split(':').slice(0, 3).join(':')}::/48`
}

export async function sessionAnswer(
  deps: Services,
  profile: Profile,
  { id, refreshToken }: OpenSession,
  message: string,
): Promise<Session> {
  const person = personOf(profile)
  const now = deps.now()
  return {
    message,
    user: await userOf(deps, profile),
    accessToken: await accessToken(deps.keys, person, id, now),
    idToken: await idToken(deps.keys, profile, now),
    refreshToken,
    expiresIn: accessSeconds,
    tokenType: 'Bearer',
  }
}

/**
 * Exchanges a refresh token for its successor. A used token that is sent again after the grace period may be stolen.
 * The whole session then ends, because the thief's copy cannot be distinguished. The same happens if the clock stepped
 * between the two uses, because the time between them is unknown.
 *
 * @throws AppError invalid_token
 */
export async function refreshSession(
  ctx: RequestCtx,
  { body: { refreshToken: token } }: Body<{ readonly refreshToken: string }>,
): Promise<Session> {
  const now = ctx.now()
  const fresh = newToken('refresh')
  const hash = hashOf(token)
  let reused: { readonly account_id: string; readonly session_id: string } | undefined
  const next = await ctx.credentials.write(async (trx) => {
    const row = (await lockSessionOf(trx, hash)) ? await findRefreshToken(trx, hash) : undefined
    if (row === undefined || row.revoked_at !== null || row.expires_at <= now.toISOString()) return undefined
    if (row.used_at !== null && row.successor !== null) {
      if (Math.abs(now.getTime() - Date.parse(row.used_at)) <= graceMs) {
        return { accountId: row.account_id, id: row.session_id, refreshToken: unseal(token, row.successor) }
      }
      await setSessionRevoked(trx, row.session_id, now.toISOString())
      reused = row
      return undefined
    }
    await setRefreshTokenUsed(trx, hash, now.toISOString(), seal(token, fresh))
    await insertRefreshToken(trx, refreshRow(fresh, row.session_id, now))
    await setAddressSeen(trx, row.account_id, ctx.request.from, now.toISOString())
    return { accountId: row.account_id, id: row.session_id, refreshToken: fresh }
  })
  if (reused) await auditReuse(ctx, reused)
  const account = next && (await findActiveProfile(ctx.credentials.read, next.accountId))
  if (next === undefined || account?.kind !== 'person') {
    throw new AppError('invalid_token', 'The refresh token is unknown, expired, used up or revoked')
  }
  return sessionAnswer(ctx, account, next, 'The session continues')
}

/** A stolen token may have been used, by its user or by the thief. */
async function auditReuse(
  deps: Services,
  { account_id, session_id }: { readonly account_id: string; readonly session_id: string },
): Promise<void> {
  const target = { type: 'session', id: session_id } as const
  const actor = anonymous
  await audit(deps, { action: 'auth.refresh_reused', actor, accountId: account_id, target, outcome: 'refused' })
}

/** Ends the token's session. Does nothing for an unknown or expired token. */
export async function logOut(
  deps: Services,
  { body: { refreshToken } }: Body<{ refreshToken: string }>,
): Promise<void> {
  const ended = await deps.credentials.write(async (trx) => {
    const row = await findRefreshToken(trx, hashOf(refreshToken))
    if (row !== undefined) await setSessionRevoked(trx, row.session_id, deps.now().toISOString())
    return row?.revoked_at === null ? row : undefined
  })
  if (ended) await auditSignOut(deps, ended.account_id, ended.session_id)
}

export async function auditSignOut(deps: Services, accountId: string, sessionId: string): Promise<void> {
  const profile = await findActiveProfile(deps.credentials.read, accountId)
  const actor = profile === undefined ? anonymous : personOf(profile)
  await audit(deps, { action: 'auth.sign_out', actor, accountId, target: { type: 'session', id: sessionId } })
}

export interface ResetToken {
  readonly reset_token: string
  readonly expires_at: string
}

/** Issues a one-time token for `changePassword`. Earlier ones of the account end. @throws AppError forbidden: a bot */
export async function issueResetToken(deps: Services, accountId: string): Promise<ResetToken> {
  const token = newToken('reset')
  const expires_at = new Date(deps.now().getTime() + resetLifetimeMs).toISOString()
  await deps.credentials.write(async (trx) => {
    const account = await lockAccount(trx, accountId)
    if (account?.kind === 'bot')
      throw new AppError('forbidden', 'A bot has no password; its organisation gives it tokens')
    await deleteResetTokens(trx, accountId)
    await insertResetToken(trx, { hash: hashOf(token), account_id: accountId, expires_at, used_at: null })
  })
  return { reset_token: token, expires_at }
}

function refreshRow(token: string, session_id: string, now: Date) {
  const expires_at = new Date(now.getTime() + refreshLifetimeMs).toISOString()
  return { hash: hashOf(token), session_id, created_at: now.toISOString(), expires_at, used_at: null, successor: null }
}
