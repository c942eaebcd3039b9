/** Authentication by `Authorization: Bearer`. A signature is verified once; everything else at each request. */

import type { Request, RequestHandler, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { Passport } from 'passport'
import { Strategy } from 'passport-jwt'
import type { Deps } from '../deps.ts'
import { authenticateToken, type Credential, isWithin } from '../domain/accounts/access-tokens.ts'
import { findPerson } from '../domain/accounts/accounts.ts'
import { algorithm, isAccessToken } from '../domain/accounts/tokens.ts'
import type { Person } from '../domain/actor.ts'
import { Refusal } from '../errors.ts'
import { contextOf, setCredential } from './context.ts'

/** Tokens with a verified signature, issuer and audience, and their claims. */
type Verified = LRUCache<string, Claims>

/** Cached tokens, about 0.5 KB each; a client uses one at a time. */
const remembered = 10_000

/** Clock skew allowed. */
const clockLeewayMs = 60_000

/** The credential of an access token or a personal access token; undefined if it is invalid. */
export type FindCredential = (text: string) => Promise<Credential | undefined>

/** Called once: the result caches verified signatures. */
export function credentialFinder(deps: Deps): FindCredential {
  const passport = new Passport()
  const verified: Verified = new LRUCache({ max: remembered })
  passport.use('bearer', bearerStrategy(deps, verified))
  const verify = (text: string): Promise<Person | undefined> =>
    new Promise((resolve, reject) => {
      const done = (error: unknown, person: Person | false | undefined) =>
        error ? reject(error) : resolve(person || undefined)
      const request = { headers: { authorization: `Bearer ${text}` } } as Request // all that passport-jwt looks at
      passport.authenticate('bearer', { session: false }, done)(request, {} as Response, reject) // a callback leaves the answer alone
    })
  return async (text) => {
    if (isAccessToken(text)) return authenticateToken(deps, text)
    const claims = verified.get(text)
    const person = await (claims === undefined ? verify(text) : personOf(deps, claims))
    return person && { person }
  }
}

/** An invalid token is 401 even where authorization is optional, never anonymous access. */
export function authenticate(findCredential: FindCredential): RequestHandler {
  return async (req, _res, next) => {
    const { security } = contextOf(req).operation
    if (security === 'none') {
      next()
      return
    }
    if (req.headers.authorization === undefined) {
      next(security === 'required' ? new Refusal('unauthenticated', 'Sign in first') : undefined)
      return
    }
    const text = bearerToken(req)
    const credential = text === null ? undefined : await findCredential(text)
    if (credential === undefined) throw new Refusal('invalid_token', 'The token is bad, expired or revoked')
    setCredential(req, credential)
    next()
  }
}

/**
 * Enforces the scope of a personal access token before the request is read further, so that the refusal reveals nothing
 * about what exists.
 */
export const limitTokens: RequestHandler = (req, _res, next) => {
  const { operation, match, scope } = contextOf(req)
  if (scope !== undefined) {
    const { org_id, node_id } = match.parameters
    if (operation.token === 'none') throw beyond('This takes the token of a login, not a personal access token')
    if (operation.token === 'write' && scope.access === 'read') throw beyond('This token only reads')
    if (!isWithin(scope, org_id, node_id)) throw beyond('This token is for something else')
  }
  next()
}

function beyond(detail: string): Refusal {
  return new Refusal('token_scope', detail)
}

function bearerStrategy(deps: Deps, verified: Verified): Strategy {
  const { keys } = deps
  return new Strategy(
    {
      jwtFromRequest: bearerToken,
      // @ts-expect-error jsonwebtoken verifies with a KeyObject, four times faster than with PEM; the types lag behind
      secretOrKey: keys.publicKey,
      algorithms: [algorithm],
      issuer: keys.issuer,
      audience: keys.issuer,
      // Checked below, by the service's clock; this also accepts a token without expiry.
      ignoreExpiration: true,
      passReqToCallback: true,
    },
    (req: Request, { sub, iat, exp, token_use }: Claims, done: (error: unknown, person?: Person | false) => void) => {
      const claims = { sub, iat, exp, token_use }
      verified.set(bearerToken(req) ?? '', claims)
      personOf(deps, claims).then((person) => done(null, person ?? false), done)
    },
  )
}

/** The claims of a token we signed, of either kind. */
interface Claims {
  readonly sub?: unknown
  readonly iat?: unknown
  readonly exp?: unknown
  readonly token_use?: unknown
}

/**
 * The account must still exist. A token issued in the future is refused: after the clock stepped back it would be valid too
 * long, and its session can issue another.
 */
async function personOf(deps: Deps, { sub, iat, exp, token_use }: Claims): Promise<Person | undefined> {
  const now = deps.now().getTime()
  if (typeof exp !== 'number' || exp * 1000 <= now) return undefined
  if (typeof iat !== 'number' || iat * 1000 > now + clockLeewayMs) return undefined
  if (token_use !== 'access' || typeof sub !== 'string') return undefined
  return findPerson(deps, sub)
}

function bearerToken(req: Request): string | null {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(req.headers.authorization ?? '')?.[1] ?? null
}
