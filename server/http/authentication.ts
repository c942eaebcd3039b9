/**
 * Authenticates requests by `Authorization: Bearer`. Verifies a signature once, and checks everything else at each
 * request.
 */

import type { KeyObject } from 'node:crypto'
import type { Request, RequestHandler, Response } from 'express'
import { decodeProtectedHeader } from 'jose'
import { Passport } from 'passport'
import { Strategy } from 'passport-jwt'
import { type Cache, createCache } from '../../gitstore/caching/caches.ts'
import { AppError } from '../base/errors.ts'
import { invalidTokenError } from '../domain/access.ts'
import { authenticateToken, type Credential, isWithin, type TokenScope } from '../domain/accounts/access-tokens.ts'
import { findPersonOfBrowser, isBrowserSecret } from '../domain/accounts/browser-sessions.ts'
import { algorithm } from '../domain/accounts/keys.ts'
import { findPerson, findSessionPerson } from '../domain/accounts/session-list.ts'
import { isAccessToken, tokenTypes } from '../domain/accounts/tokens.ts'
import { includesAccess, type Person } from '../domain/actor.ts'
import { auditFirstUse, auditTokenRefusal } from '../domain/audit/token-use.ts'
import { authenticateConnection, isConnectionToken } from '../domain/oauth/connection-tokens.ts'
import type { Resource } from '../domain/oauth/scopes.ts'
import type { Services } from '../domain/services.ts'
import { contextOf, setCaller, setCredential } from './context.ts'
import { normalizeInput } from './contract/normalize-input.ts'
import type { OperationId } from './contract/spec.ts'
import { originOf } from './origin.ts'
import { stateOf } from './request-state.ts'

/** Tokens with a verified signature, issuer and audience. Each has its claims and the key that signed it. */
type Verified = Cache<Claims & { readonly kid: string }>

/** The request for passport-jwt: the one header that it reads, and the token's key. */
interface TokenRequest {
  readonly headers: { readonly authorization: string }
  readonly kid: string
  readonly key: KeyObject
}

const signInHint = 'Authentication required: send `Authorization: Bearer <token>`'

/** The clock skew that is allowed. */
const clockLeewayMs = 60_000

/**
 * Finds the credential of a token or a browser's cookie. Undefined if it is invalid. The token of a connection is valid
 * for one resource. Default: `api`.
 */
export type FindCredential = (text: string, resource?: Resource) => Promise<Credential | undefined>

/** Creates the finder of credentials. Call it once, because the finder caches verified signatures. */
export function createCredentialFinder(deps: Services): FindCredential {
  const passport = new Passport()
  const verified: Verified = createCache('verified_tokens')
  passport.use('bearer', bearerStrategy(deps, verified))
  const verify = (text: string, kid: string, key: KeyObject): Promise<Person | undefined> =>
    new Promise((resolve, reject) => {
      const done = (error: unknown, person: Person | false | undefined) =>
        error ? reject(error) : resolve(person || undefined)
      const sent: TokenRequest = { headers: { authorization: `Bearer ${text}` }, kid, key }
      const request = sent as unknown as Request // passport-jwt reads only these
      const response = {} as Response // with a callback it does not use the response
      passport.authenticate('bearer', { session: false }, done)(request, response, reject)
    })
  return async (text, resource = 'api') => {
    if (isAccessToken(text)) return authenticateToken(deps, text)
    if (isConnectionToken(text)) return authenticateConnection(deps, text, resource)
    if (isBrowserSecret(text)) return asCredential(await findPersonOfBrowser(deps, text))
    const claims = verified.get(text)
    const kid = claims?.kid ?? keyIdOf(text)
    if (kid === undefined) return undefined
    const key = await deps.keys.verifying(kid, deps.now().getTime())
    if (key === undefined) return undefined
    const person = await (claims === undefined ? verify(text, kid, key) : findClaimed(deps, claims))
    return asCredential(person, verified.get(text)?.exp)
  }
}

/** @param exp when the token expires, in seconds since 1970 */
function asCredential(person: Person | undefined, exp?: unknown): Credential | undefined {
  return person && { person, ...(typeof exp === 'number' ? { expiresAt: exp * 1000 } : {}) }
}

/** Authenticates a request. An invalid token is 401 even if authorization is optional, never anonymous access. */
export function authenticate(findCredential: FindCredential): RequestHandler {
  return async (req, _res, next) => {
    const { security } = contextOf(req).operation
    if (security === 'none' || security === 'metrics') {
      next()
      return
    }
    if (req.headers.authorization === undefined) {
      next(security === 'required' ? new AppError('unauthenticated', signInHint) : undefined)
      return
    }
    if (contextOf(req).operation.body !== 'none') stateOf(req).authenticatedIn = currentTurn()
    setCredential(req, await credentialOf(req, findCredential))
    next()
  }
}

/** Authenticates an operation that a page calls for a known caller. @throws AppError unauthenticated */
export function authenticateAs(req: Request, credential: Credential | undefined): void {
  const { security } = contextOf(req).operation
  if (security === 'none' || security === 'metrics') return
  if (credential !== undefined) setCaller(req, credential)
  else if (security === 'required') throw new AppError('unauthenticated', 'Sign in first')
}

let turn = 0
let isTurnCounted = false

/** Returns the number of this turn of the event loop. Bytes that arrive later are read in another turn. */
function currentTurn(): number {
  if (!isTurnCounted)
    setImmediate(() => {
      turn++
      isTurnCounted = false
    })
  isTurnCounted = true
  return turn
}

/**
 * Checks the credential again if the body arrived after its check. A client may take two minutes to send the body, and
 * the credential may end in the meantime. Most bodies arrive together with the head.
 */
export function authenticateAgain(findCredential: FindCredential): RequestHandler {
  return async (req, _res, next) => {
    const { operation, actor } = contextOf(req)
    const isLate = stateOf(req).authenticatedIn !== currentTurn()
    if (operation.body !== 'none' && isLate && actor.kind === 'person')
      setCredential(req, await credentialOf(req, findCredential))
    next()
  }
}

/** The credential in the Authorization header. @throws AppError invalid_token */
export async function credentialOf(req: Request, findCredential: FindCredential): Promise<Credential> {
  const text = bearerToken(req)
  const resource = stateOf(req).door === 'mcp' ? 'mcp' : 'api'
  const credential = text === null ? undefined : await findCredential(text, resource)
  if (credential === undefined) throw invalidTokenError()
  return credential
}

/**
 * Enforces the scope of a token. This happens before the request is read further, so that a refusal
 * says nothing about what exists.
 */
export function limitTokens(deps: Services): RequestHandler {
  return async (req, _res, next) => {
    const { operation, match, scope, actor } = contextOf(req)
    if (scope !== undefined && actor.kind === 'person') {
      const reason = findExcess(req, scope)
      const seen = { ...deps, origin: originOf(req) }
      if (reason !== undefined) {
        await auditTokenRefusal(seen, actor, { operation: operation.id, orgId: match.parameters.org_id })
        throw scopeRefusal(scope, reason)
      }
      await auditFirstUse(seen, actor)
    }
    next()
  }
}

/** Returns why the scope does not cover the operation. */
function findExcess(req: Request, scope: TokenScope): string | undefined {
  const { operation, match, actor } = contextOf(req)
  const isConnection = actor.kind === 'person' && actor.connection !== undefined
  const { org_id, node_id = nodeOfQuery(req, scope) } = match.parameters
  const { token } = operation
  if (token === 'none')
    return `${isConnection ? 'Connected programs' : 'Personal access tokens'} cannot do this; sign in and use the access token`
  if (!includesAccess(scope.access, token))
    return scope.access === 'read' ? 'This token is read-only' : 'This token can only read and propose changes'
  const isCovered = isWithin(scope, org_id, node_id)
  return isCovered ? undefined : 'This token is limited to another organisation or node'
}

/** Operations of an organisation that show a token of one node only its own part. */
const narrowed: ReadonlySet<OperationId> = new Set([
  'listEvents',
  'createWebhook',
  'listWebhooks',
  'getWebhook',
  'updateWebhook',
  'deleteWebhook',
  'rotateWebhookSecret',
  'pingWebhook',
  'listDeliveries',
  'getDelivery',
  'redeliverDelivery',
  'redeliverFailed',
])

/** The node of such an operation: that of the query, or of the token. */
function nodeOfQuery(req: Request, scope: TokenScope): string | undefined {
  const { operation } = contextOf(req)
  if (!narrowed.has(operation.id)) return undefined
  const { node_id } = normalizeInput(operation.querySchema, req.query) as { readonly node_id?: unknown } // checked next
  return node_id === undefined ? scope.nodeId : String(node_id)
}

/** The refusal of a token outside its scope. It names the scope, so that the user need not find it out by trying. */
function scopeRefusal({ access, orgId, nodeId }: TokenScope, detail: string): AppError {
  return new AppError('token_scope', detail, {
    ...(access === 'write' ? {} : { token_access: access }),
    ...(orgId === undefined ? {} : { token_org_id: orgId }),
    ...(nodeId === undefined ? {} : { token_node_id: nodeId }),
  })
}

function bearerStrategy(deps: Services, verified: Verified): Strategy {
  const { keys } = deps
  return new Strategy(
    {
      jwtFromRequest: bearerToken,
      secretOrKeyProvider: (req: unknown, _text: string, done: (error: unknown, key?: string) => void) => {
        const { key } = req as TokenRequest // createCredentialFinder sends one
        // Four times faster than PEM.
        done(null, key as unknown as string) // jsonwebtoken takes a KeyObject; its types lag behind
      },
      algorithms: [algorithm],
      issuer: keys.issuer,
      audience: keys.issuer,
      // Checked below, by the service's clock; this also accepts a token without expiry.
      ignoreExpiration: true,
      passReqToCallback: true,
    },
    (
      req: Request,
      { sub, iat, exp, token_use, sid }: Claims,
      done: (error: unknown, person?: Person | false) => void,
    ) => {
      const { kid } = req as unknown as TokenRequest // createCredentialFinder sends one
      const claims = { sub, iat, exp, token_use, sid, kid }
      verified.set(bearerToken(req) ?? '', claims)
      findClaimed(deps, claims).then((person) => done(null, person ?? false), done)
    },
  )
}

/** Accepted `typ` headers of access tokens. An older version wrote `JWT`, which the claims must then confirm. */
const acceptedTypes: readonly (string | undefined)[] = [tokenTypes.access, 'JWT', undefined]

/** `kid` of the token's header. Undefined if the header is unreadable, has no `kid` or has another type. */
function keyIdOf(token: string): string | undefined {
  try {
    const { kid, typ } = decodeProtectedHeader(token)
    return acceptedTypes.includes(typ) ? kid : undefined
  } catch {
    return undefined
  }
}

/** The claims of a token that this service has signed. */
interface Claims {
  readonly sub?: unknown
  readonly iat?: unknown
  readonly exp?: unknown
  readonly token_use?: unknown
  /** The session's id. Versions before 005_account_states issued tokens without it. */
  readonly sid?: unknown
}

/**
 * Finds the user of the claims. The session must not have ended, nor the account be disabled. A token that was issued
 * in the future is refused: after the clock was set back, it would be valid too long. Its session can issue another.
 */
async function findClaimed(deps: Services, { sub, iat, exp, token_use, sid }: Claims): Promise<Person | undefined> {
  const now = deps.now().getTime()
  if (typeof exp !== 'number' || exp * 1000 <= now) return undefined
  if (typeof iat !== 'number' || iat * 1000 > now + clockLeewayMs) return undefined
  if (token_use !== 'access' || typeof sub !== 'string') return undefined
  return typeof sid === 'string' ? findSessionPerson(deps, sub, sid) : findPerson(deps, sub)
}

export function bearerToken(req: Request): string | null {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(req.headers.authorization ?? '')?.[1] ?? null
}
