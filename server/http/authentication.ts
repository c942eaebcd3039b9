/** Who sent this: `Authorization: Bearer` and nothing else. A signature is verified once, all else at each request. */

import type { Request, RequestHandler } from 'express'
import { LRUCache } from 'lru-cache'
import { Passport } from 'passport'
import { Strategy } from 'passport-jwt'
import type { Deps } from '../deps.ts'
import { findPerson } from '../domain/accounts/accounts.ts'
import { algorithm } from '../domain/accounts/tokens.ts'
import type { Person } from '../domain/actor.ts'
import { Refusal } from '../errors.ts'
import { contextOf, setActor } from './context.ts'

/** Tokens whose signature, issuer and audience were found right, each under itself, and what they claim. */
type Verified = LRUCache<string, Claims>

/** Tokens that are remembered, of about 0.5 KB each; a client has one at a time. */
const remembered = 10_000

/** A bad token is 401 wherever tokens are read at all: nobody is silently anonymous. */
export function authenticate(deps: Deps): RequestHandler {
  const passport = new Passport()
  const verified: Verified = new LRUCache({ max: remembered })
  passport.use('bearer', bearerStrategy(deps, verified))
  return (req, res, next) => {
    const { security } = contextOf(req).operation
    if (security === 'none') {
      next()
      return
    }
    if (req.headers.authorization === undefined) {
      next(security === 'required' ? new Refusal('unauthenticated', 'Sign in first') : undefined)
      return
    }
    const done = (error: unknown, person: Person | false | undefined) => {
      if (error) next(error)
      else if (!person) next(new Refusal('invalid_token', 'The token is bad, expired or revoked'))
      else {
        setActor(req, person)
        next()
      }
    }
    const claims = verified.get(bearerToken(req) ?? '')
    if (claims === undefined) passport.authenticate('bearer', { session: false }, done)(req, res, next)
    else personOf(deps, claims).then((person) => done(null, person), next)
  }
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
    (req: Request, { sub, exp, token_use }: Claims, done: (error: unknown, person?: Person | false) => void) => {
      const claims = { sub, exp, token_use }
      verified.set(bearerToken(req) ?? '', claims)
      personOf(deps, claims).then((person) => done(null, person ?? false), done)
    },
  )
}

/** Signed by us, which says nothing yet of what for. */
interface Claims {
  readonly sub?: unknown
  readonly exp?: unknown
  readonly token_use?: unknown
}

/** The account must still be there: a token outlives it otherwise. */
async function personOf(deps: Deps, { sub, exp, token_use }: Claims): Promise<Person | undefined> {
  if (typeof exp !== 'number' || exp * 1000 <= deps.now().getTime()) return undefined
  if (token_use !== 'access' || typeof sub !== 'string') return undefined
  return findPerson(deps, sub)
}

function bearerToken(req: Request): string | null {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(req.headers.authorization ?? '')?.[1] ?? null
}
