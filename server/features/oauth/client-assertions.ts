/** Signed assertions: `private_key_jwt`. A client proves with its key who it is. Source: RFC 7523 §3. */

import { createHash } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import type { OauthGrant } from '../../../index/credentials/schema.ts'
import type { Services } from '../../domain/services.ts'
import { type KeySet, readKeys, rereadKeys } from './client-keys.ts'
import { OAuthError, UnknownProgramError } from './errors.ts'
import { AwayError } from './program-fetch.ts'
import { insertAssertion, setGrantMethod } from './rows/connections.ts'

/** Algorithms of signatures. `none`, and algorithms with a shared secret, are not among them. */
export const assertionAlgorithms: readonly string[] = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
]

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** Characters of an assertion, and of its id. */
const longest = { assertion: 8_192, id: 512 } as const
/** The most seconds that an assertion is valid. */
const lifetimeSeconds = 300
/** Seconds that the clock of a client may differ. */
const skewSeconds = 60

/** The client that a request names. */
interface Presented {
  readonly clientId: string
  /** Undefined: the client sends none. */
  readonly assertion: string | undefined
}

/**
 * Returns the client of a request. An assertion names it too, so `client_id` can be absent.
 *
 * @throws OAuthError invalid_request, invalid_client
 */
export function presentedClient(fields: URLSearchParams): Presented {
  const [assertion, type] = [fields.get('client_assertion'), fields.get('client_assertion_type')]
  const named = fields.get('client_id') || undefined
  if (assertion === null && type === null) {
    if (named === undefined) throw new OAuthError('invalid_request', 'The parameter client_id is missing')
    return { clientId: named, assertion: undefined }
  }
  if (type !== assertionType) throw new OAuthError('invalid_request', `client_assertion_type must be ${assertionType}`)
  if (assertion === null) throw new OAuthError('invalid_request', 'The parameter client_assertion is missing')
  if (assertion.length > longest.assertion)
    throw invalidClient(`The assertion has more than ${longest.assertion} characters`)
  const { sub } = unverifiedClaims(assertion)
  if (typeof sub !== 'string' || sub === '') throw invalidClient('The assertion does not name the client as sub')
  if (named !== undefined && named !== sub) throw invalidClient('client_id is not the client of the assertion')
  return { clientId: sub, assertion }
}

/** The assertion of a request, and the issuer that must be its audience. */
interface ClientProof {
  readonly issuer: string
  readonly assertion: string | undefined
}

/**
 * Requires that a request is of the client of the grant. It runs before a code or token is used.
 *
 * @throws OAuthError invalid_client; temporarily_unavailable: the host of the keys does not answer
 */
export type Authenticate = (grant: OauthGrant) => Promise<void>

/** Returns how the client of a request is authenticated, once its grant is known. */
export function authenticateBy(deps: Services, proof: ClientProof): Authenticate {
  return (grant) => requireProof(deps, grant, proof)
}

/**
 * Requires an assertion, or none if the client has never sent one. The grant is known, so callers without a code or
 * token of the client cannot make the service fetch its keys.
 */
async function requireProof(deps: Services, grant: OauthGrant, { issuer, assertion }: ClientProof): Promise<void> {
  const { id, client_id: clientId, method } = grant
  if (assertion === undefined) {
    if (method === 'none') return
    throw invalidClient('The client of this connection must send an assertion (private_key_jwt)')
  }
  if (!clientId.startsWith('https:')) throw invalidClient('Only a client with a metadata document can sign assertions')
  const { jti, exp } = requireClaims(unverifiedClaims(assertion), {
    clientId,
    issuer,
    now: deps.now().getTime() / 1_000,
  })
  requireAlgorithm(assertion)
  await verifySignature(deps, clientId, assertion)
  const hash = createHash('sha256').update(`${clientId} ${jti}`).digest('hex')
  const expires_at = new Date((exp + skewSeconds) * 1_000).toISOString()
  const isFirst = await deps.credentials.write(async (trx) => {
    if (!(await insertAssertion(trx, { hash, expires_at }))) return false
    if (method === 'none') await setGrantMethod(trx, id, 'private_key_jwt')
    return true
  })
  if (!isFirst) throw invalidClient('The assertion was used before; send a new one with another jti')
}

interface Expected {
  readonly clientId: string
  readonly issuer: string
  /** Seconds since 1970. */
  readonly now: number
}

/** @throws OAuthError invalid_client */
function requireClaims(claims: JWTPayload, { clientId, issuer, now }: Expected) {
  const { iss, sub, aud, exp, iat, nbf, jti } = claims
  if (iss !== clientId || sub !== clientId) throw invalidClient('iss and sub of the assertion must be the client_id')
  const ours: readonly unknown[] = [issuer, `${issuer}/oauth/token`, `${issuer}/oauth/revoke`]
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  // Another server among them could send the assertion here.
  if (audiences.length === 0 || !audiences.every((one) => ours.includes(one)))
    throw invalidClient('aud of the assertion must be the issuer or the token endpoint, and nothing else')
  if (typeof exp !== 'number' || exp <= now - skewSeconds)
    throw invalidClient('exp of the assertion is missing or past')
  if (exp > now + lifetimeSeconds + skewSeconds)
    throw invalidClient(`exp of the assertion must be at most ${lifetimeSeconds} seconds ahead`)
  for (const time of [iat, nbf])
    if (time !== undefined && !(typeof time === 'number' && time <= now + skewSeconds))
      throw invalidClient('iat or nbf of the assertion is in the future')
  if (typeof jti !== 'string' || jti === '' || jti.length > longest.id)
    throw invalidClient(`jti of the assertion is missing, or has more than ${longest.id} characters`)
  return { jti, exp }
}

/** @throws OAuthError invalid_client */
function requireAlgorithm(assertion: string): void {
  const { alg = '' } = decoded(() => decodeProtectedHeader(assertion))
  if (!assertionAlgorithms.includes(alg))
    throw invalidClient(`The assertion must be signed with one of ${assertionAlgorithms.join(', ')}`)
}

/** Reads the keys again once if the key is not known. @throws OAuthError invalid_client, temporarily_unavailable */
async function verifySignature(deps: Services, clientId: string, assertion: string): Promise<void> {
  const keys = await keysFrom(() => readKeys(deps, clientId))
  if (await isSigned(deps, assertion, keys)) return
  const current = await keysFrom(() => rereadKeys(deps, clientId, keys))
  if (current === undefined || !(await isSigned(deps, assertion, current)))
    throw invalidClient('The assertion is signed with a key that the program does not publish')
}

/** Returns false if none of the keys is the one that the assertion names. @throws OAuthError invalid_client */
async function isSigned(deps: Services, assertion: string, keys: KeySet): Promise<boolean> {
  const rules = { algorithms: [...assertionAlgorithms], currentDate: deps.now(), clockTolerance: skewSeconds }
  try {
    await jwtVerify(assertion, keys, rules)
    return true
  } catch (cause) {
    if (cause instanceof errors.JWKSNoMatchingKey) return false
    throw invalidClient('The signature of the assertion is not valid', { cause })
  }
}

/** @throws OAuthError invalid_client, temporarily_unavailable */
async function keysFrom<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof AwayError) throw new OAuthError('temporarily_unavailable', cause.message, { cause })
    if (cause instanceof UnknownProgramError) throw invalidClient(cause.message, { cause })
    throw cause
  }
}

/** @throws OAuthError invalid_client */
function unverifiedClaims(assertion: string): JWTPayload {
  return decoded(() => decodeJwt(assertion))
}

/** @throws OAuthError invalid_client */
function decoded<T>(decode: () => T): T {
  try {
    return decode()
  } catch (cause) {
    throw invalidClient('The assertion is not a signed JWT', { cause })
  }
}

function invalidClient(message: string, options?: ErrorOptions): OAuthError {
  return new OAuthError('invalid_client', message, options)
}
