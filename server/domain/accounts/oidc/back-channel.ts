/**
 * Back-channel logout: a provider ends the sessions of a user. Source: OpenID Connect Back-Channel Logout 1.0.
 *
 * Anyone may send a token, so nothing is fetched or written before its claims fit.
 */

import { createHash } from 'node:crypto'
import type { JWTPayload } from 'jose'
import { deleteLogoutTokensUntil, findIdentity, insertLogoutToken } from '../../../../index/credentials/identities.ts'
import { setSessionsOfIdentityRevoked } from '../../../../index/credentials/sessions.ts'
import { audit } from '../../audit/audit.ts'
import type { Services } from '../../services.ts'
import { isAwayError, providerFetch } from './provider-fetch.ts'
import { metadataOf, type Provider, unavailableError } from './providers.ts'

/** The token is not valid. The message is for the provider's log. */
export class LogoutTokenError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'LogoutTokenError'
  }
}

/** Seconds that the clocks may differ, and that a token may be on its way. */
const freshSeconds = 120
/** Milliseconds for which a used token is remembered. */
const rememberedMs = 10 * 60_000

const event = 'http://schemas.openid.net/event/backchannel-logout'
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

type GetKey = ReturnType<typeof import('jose').createRemoteJWKSet>

/** The keys of providers, by their URL. They are fetched at most every 30 seconds. */
const keySets = new WeakMap<Services['config'], Map<string, GetKey>>()

/**
 * Ends the sessions of the token's subject.
 *
 * @throws LogoutTokenError
 * @throws AppError provider_unavailable: the keys cannot be fetched
 */
export async function endSessionsBy(deps: Services, provider: Provider, token: string): Promise<void> {
  const { subject, issuer, jti } = await verified(deps, provider, token)
  const now = deps.now()
  const hash = createHash('sha256').update(`${issuer} ${jti}`).digest('hex')
  const identity = await findIdentity(deps.credentials.read, issuer, subject)
  const ended = await deps.credentials.write(async (trx) => {
    await deleteLogoutTokensUntil(trx, new Date(now.getTime() - rememberedMs).toISOString())
    if (!(await insertLogoutToken(trx, hash, now.toISOString())))
      throw new LogoutTokenError('The token was used before')
    return identity === undefined ? [] : setSessionsOfIdentityRevoked(trx, identity.id, now.toISOString())
  })
  if (identity === undefined) return
  await audit(deps, {
    action: 'auth.provider_sign_out',
    accountId: identity.account_id,
    target: { type: 'account', id: identity.account_id },
    detail: { provider: provider.id, sessions: ended.length },
  })
}

interface LogoutClaims {
  readonly issuer: string
  readonly subject: string
  readonly jti: string
}

async function verified(deps: Services, provider: Provider, token: string): Promise<LogoutClaims> {
  const { decodeJwt } = await import('jose')
  const { issuer, jwks_uri } = await metadataOf(deps, provider)
  if (jwks_uri === undefined) throw unavailableError(provider)
  const expected = { issuer, clientId: provider.clientId, now: deps.now().getTime() / 1000 }
  const claimsOf = (read: () => JWTPayload) => {
    try {
      return read()
    } catch (cause) {
      throw new LogoutTokenError('The token cannot be read', { cause })
    }
  }
  // A forged token must not make this service fetch keys.
  requireClaims(
    claimsOf(() => decodeJwt(token)),
    expected,
  )
  const { jwtVerify } = await import('jose')
  const keys = await keysAt(deps, provider, jwks_uri)
  const currentDate = deps.now()
  const checked = await jwtVerify(token, keys, { algorithms, issuer, audience: provider.clientId, currentDate }).catch(
    (cause: unknown) => {
      if (isAwayError(cause)) throw unavailableError(provider, cause)
      throw new LogoutTokenError('The signature is not valid', { cause })
    },
  )
  return requireClaims(checked.payload, expected)
}

async function keysAt({ config }: Services, { issuer }: Provider, url: string): Promise<GetKey> {
  const { createRemoteJWKSet, customFetch } = await import('jose')
  const sets = keySets.get(config) ?? new Map<string, GetKey>()
  keySets.set(config, sets)
  const known = sets.get(url) ?? createRemoteJWKSet(new URL(url), { [customFetch]: providerFetch(issuer) })
  sets.set(url, known)
  return known
}

interface Expected {
  readonly issuer: string
  readonly clientId: string
  /** Seconds since 1970. */
  readonly now: number
}

/** Source: OpenID Connect Back-Channel Logout 1.0, section 2.6. @throws LogoutTokenError */
function requireClaims(claims: JWTPayload, { issuer, clientId, now }: Expected): LogoutClaims {
  const { iss, aud, iat, jti, sub, events, nonce } = claims
  const audiences = Array.isArray(aud) ? aud : [aud]
  if (iss !== issuer) throw new LogoutTokenError('The issuer is another one')
  if (!audiences.includes(clientId)) throw new LogoutTokenError('The audience is another one')
  if (typeof iat !== 'number' || Math.abs(now - iat) > freshSeconds)
    throw new LogoutTokenError('iat is missing, or not of the last two minutes')
  if (nonce !== undefined) throw new LogoutTokenError('A logout token has no nonce')
  if (typeof events !== 'object' || events === null || !(event in events))
    throw new LogoutTokenError('The event of a logout is missing')
  if (typeof jti !== 'string' || jti === '') throw new LogoutTokenError('jti is missing')
  if (typeof sub !== 'string' || sub === '')
    throw new LogoutTokenError('sub is missing: this service ends the sessions of a subject')
  return { issuer: iss, subject: sub, jti }
}
