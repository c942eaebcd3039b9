/** Who sent this: `Authorization: Bearer` and nothing else, verified anew for each request. */

import type { Request, RequestHandler } from 'express'
import { Passport } from 'passport'
import { Strategy } from 'passport-jwt'
import type { Deps } from '../deps.ts'
import { findPerson } from '../domain/accounts.ts'
import type { Person } from '../domain/actor.ts'
import { algorithm } from '../domain/tokens.ts'
import { Refusal } from '../errors.ts'
import { contextOf, setActor } from './context.ts'

/** A bad token is 401 wherever tokens are read at all: nobody is silently anonymous. */
export function authenticate(deps: Deps): RequestHandler {
  const passport = new Passport()
  passport.use('bearer', bearerStrategy(deps))
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
    passport.authenticate('bearer', { session: false }, done)(req, res, next)
  }
}

function bearerStrategy(deps: Deps): Strategy {
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
    },
    (claims: Claims, done: (error: unknown, person?: Person | false) => void) => {
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
