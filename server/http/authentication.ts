/** Who sent this: `Authorization: Bearer` and nothing else. A signature is verified once, all else at each request. */

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

/** Tokens whose signature, issuer and audience were found right, each under itself, and what they claim. */
type Verified = LRUCache<string, Claims>

/** Tokens that are remembered, of about 0.5 KB each; a client has one at a time. */
const remembered = 10_000

/** Of two clocks, or of one that is set right. */
const clockLeewayMs = 60_000

/** Who shows this text, the access token of a login or a personal one; undefined: nobody, whatever the reason. */
export type FindCredential = (text: string) => Promise<Credential | undefined>

/** Made once: what it makes remembers the signatures that it has verified. */
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

/** A bad token is 401 wherever tokens are read at all: nobody is silently anonymous. */
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
 * Holds a personal access token to its bounds, before anything else is read of the request: that it is beyond them tells
 * nothing of what is there.
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
      // Below, by the service's own clock; this also accepts a token that has none.
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

/** Signed by us, which says nothing yet of what for. */
interface Claims {
  readonly sub?: unknown
  readonly iat?: unknown
  readonly exp?: unknown
  readonly token_use?: unknown
}

/**
 * The account must still be there: a token outlives it otherwise. One of the future is none: where the clock has stepped
 * back it would live longer by that step, and its session is there to get another.
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
