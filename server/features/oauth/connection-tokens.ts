/**
 * Tokens of connections. A code or a refresh token is exchanged for an access token and the next refresh token.
 *
 * All tokens are random, and only their hashes are stored. The row of the connection says what they may do, and is
 * locked while they are judged.
 */

import { createHash } from 'node:crypto'
import { findActiveProfile } from '../../../index/credentials/accounts.ts'
import { deleteGrant, findGrantOfToken } from '../../../index/credentials/oauth.ts'
import type { CredentialsDb, OauthGrant } from '../../../index/credentials/schema.ts'
import { hashOf, newToken, seal, unseal } from '../../domain/accounts/tokens.ts'
import { anonymous, includesAccess } from '../../domain/actor.ts'
import { audit } from '../../domain/audit/audit.ts'
import { queueNotice } from '../../domain/mail/notices.ts'
import { accessIn, type Resource, scopeOf } from '../../domain/oauth/scopes.ts'
import type { Services } from '../../domain/services.ts'
import type { Authenticate } from './client-assertions.ts'
import { OAuthError } from './errors.ts'
import {
  deleteOauthToken,
  findCode,
  findGrantOfCode,
  findOauthToken,
  insertOauthTokens,
  lockGrantOfCode,
  lockGrantOfToken,
  setCodeUsed,
  setOauthTokenUsed,
} from './rows/connections.ts'

/** Seconds that an access token is valid. */
const accessSeconds = 3_600
/** Milliseconds until an unused refresh token expires. */
const renewalLifetimeMs = 30 * 24 * 3_600_000
/**
 * Milliseconds in which a repeated refresh token gets the same successor. Hosted programs renew in parallel, for more
 * than a minute and from several addresses. Later it counts as stolen.
 */
const graceMs = 120_000

/** The answer of the token endpoint. Source: RFC 6749 §5.1. */
export interface TokenAnswer {
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  readonly refresh_token: string
  readonly scope: string
}

/** The first exchange of a connection. */
export interface CodeExchange {
  readonly code: string
  readonly clientId: string
  readonly redirectUri: string
  readonly verifier: string
  /** Undefined: the program names none. */
  readonly resource: Resource | undefined
}

/** Why tokens are refused. `reused`: the connection was ended, because somebody may have stolen them. */
type Refusal = 'invalid' | 'target' | { readonly reused: OauthGrant }

/**
 * Exchanges a code. A code that is used twice may be stolen, so the connection ends.
 *
 * @throws OAuthError invalid_grant, invalid_target; errors of `authenticate`
 */
export async function exchangeCode(
  deps: Services,
  exchange: CodeExchange,
  authenticate: Authenticate,
): Promise<TokenAnswer> {
  const hash = hashOf(exchange.code)
  const known = await findGrantOfCode(deps.credentials.read, hash)
  if (known?.client_id === exchange.clientId) await authenticate(known)
  const now = deps.now()
  const outcome = await deps.credentials.write(async (trx): Promise<TokenAnswer | Refusal> => {
    const grant = await lockGrantOfCode(trx, hash)
    const code = grant && (await findCode(trx, hash))
    if (grant === undefined || code === undefined || !(await isActive(trx, grant))) return 'invalid'
    if (grant.client_id !== exchange.clientId || code.redirect_uri !== exchange.redirectUri) return 'invalid'
    if (challengeOf(exchange.verifier) !== code.challenge) return 'invalid'
    if (exchange.resource !== undefined && exchange.resource !== grant.resource) return 'target'
    if (code.used_at !== null) {
      return endReused(deps, trx, grant)
    }
    if (code.expires_at <= now.toISOString()) return 'invalid'
    await setCodeUsed(trx, hash, now.toISOString())
    return issue(trx, grant, newToken('renew'), { now, isNew: true })
  })
  return answerOr(deps, outcome, 'The code is unknown, expired or used up, or not for this client')
}

/** The renewal of a connection. */
export interface Renewal {
  readonly refreshToken: string
  readonly clientId: string
  readonly scope: string | undefined
  readonly resource: Resource | undefined
}

/**
 * Exchanges a refresh token for its successor. If a used one is sent again after the grace period, it may be stolen,
 * and the connection ends.
 *
 * @param count counts the renewal of a connection, and refuses too many
 * @throws OAuthError invalid_grant, invalid_scope, invalid_target; errors of `count` and `authenticate`
 */
export async function renew(
  deps: Services,
  { refreshToken, clientId, scope, resource }: Renewal,
  { count, authenticate }: { readonly count: (grantId: string) => Promise<void>; readonly authenticate: Authenticate },
): Promise<TokenAnswer> {
  const hash = hashOf(refreshToken)
  const known = await findGrantOfToken(deps.credentials.read, hash)
  if (known?.kind === 'refresh') await count(known.id)
  if (known?.client_id === clientId) await authenticate(known)
  const asked = accessIn(scope)
  if (known !== undefined && asked !== undefined && !includesAccess(known.access, asked))
    throw new OAuthError('invalid_scope', 'The user has not allowed this scope; ask for consent again')
  const now = deps.now()
  const outcome = await deps.credentials.write(async (trx): Promise<TokenAnswer | Refusal> => {
    const grant = await lockGrantOfToken(trx, hash)
    const token = grant && (await findOauthToken(trx, hash))
    if (grant === undefined || token?.kind !== 'refresh' || grant.client_id !== clientId) return 'invalid'
    if (token.expires_at <= now.toISOString() || !(await isActive(trx, grant))) return 'invalid'
    if (resource !== undefined && resource !== grant.resource) return 'target'
    if (token.used_at !== null && token.successor !== null) {
      if (Math.abs(now.getTime() - Date.parse(token.used_at)) <= graceMs)
        return issue(trx, grant, unseal(refreshToken, token.successor), { now, isNew: false })
      return endReused(deps, trx, grant)
    }
    const next = newToken('renew')
    await setOauthTokenUsed(trx, hash, now.toISOString(), seal(refreshToken, next))
    return issue(trx, grant, next, { now, isNew: true })
  })
  return answerOr(deps, outcome, 'The refresh token is unknown, expired, used up or revoked, or not for this client')
}

/**
 * Ends a token. A refresh token ends its connection. Does nothing for an unknown one. Source: RFC 7009.
 *
 * @throws errors of `authenticate`
 */
export async function revoke(
  deps: Services,
  { token, clientId }: { readonly token: string; readonly clientId: string },
  authenticate: Authenticate,
): Promise<void> {
  const hash = hashOf(token)
  const known = await findGrantOfToken(deps.credentials.read, hash)
  if (known?.client_id === clientId) await authenticate(known)
  const ended = await deps.credentials.write(async (trx) => {
    const grant = await lockGrantOfToken(trx, hash)
    const found = grant && (await findOauthToken(trx, hash))
    if (grant?.client_id !== clientId || found === undefined) return undefined
    if (found.kind === 'access') await deleteOauthToken(trx, hash)
    else await deleteGrant(trx, grant.id)
    return found.kind === 'refresh' ? grant : undefined
  })
  if (ended === undefined) return
  const target = { type: 'connection', id: ended.id } as const
  const actor = anonymous
  await audit(deps, {
    action: 'connection.ended',
    actor,
    accountId: ended.account_id,
    target,
    detail: { by: 'client' },
  })
}

/** Issues an access token. @param refreshToken stored if it is new */
async function issue(
  trx: CredentialsDb,
  { id: grant_id, access }: OauthGrant,
  refreshToken: string,
  { now, isNew }: { readonly now: Date; readonly isNew: boolean },
): Promise<TokenAnswer> {
  const accessToken = newToken('oauth')
  const after = (ms: number) => new Date(now.getTime() + ms).toISOString()
  const row = { grant_id, created_at: now.toISOString(), used_at: null, successor: null }
  await insertOauthTokens(trx, [
    { ...row, hash: hashOf(accessToken), kind: 'access', expires_at: after(accessSeconds * 1_000) },
    ...(isNew
      ? [{ ...row, hash: hashOf(refreshToken), kind: 'refresh' as const, expires_at: after(renewalLifetimeMs) }]
      : []),
  ])
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: accessSeconds,
    refresh_token: refreshToken,
    scope: scopeOf(access),
  }
}

/** True if the account of the grant is not disabled. */
async function isActive(trx: CredentialsDb, { account_id }: OauthGrant): Promise<boolean> {
  return (await findActiveProfile(trx, account_id)) !== undefined
}

/** Source: RFC 7636 §4.6. */
function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

/** @param message for an invalid grant @throws OAuthError invalid_grant, invalid_target */
async function answerOr(deps: Services, outcome: TokenAnswer | Refusal, message: string): Promise<TokenAnswer> {
  if (typeof outcome === 'object' && 'access_token' in outcome) return outcome
  if (outcome === 'target') throw new OAuthError('invalid_target', 'The user has connected another resource')
  if (typeof outcome === 'object') await reused(deps, outcome.reused)
  throw new OAuthError('invalid_grant', message)
}

/** Ends the connection, because somebody may have stolen its code or token. */
async function endReused(deps: Services, trx: CredentialsDb, grant: OauthGrant): Promise<Refusal> {
  await deleteGrant(trx, grant.id)
  await queueNotice(deps, trx, 'reused', grant.account_id, { name: grant.client_name })
  return { reused: grant }
}

/** Runs once for each connection that a reused code or token has ended. */
async function reused(deps: Services, { id, account_id, client_id }: OauthGrant): Promise<void> {
  deps.log.warn({ grant_id: id, account: account_id }, 'connection_reused')
  await audit(deps, {
    action: 'connection.reused',
    actor: anonymous,
    accountId: account_id,
    target: { type: 'connection', id },
    outcome: 'refused',
    detail: { client_id: client_id.slice(0, 200) },
  })
}
