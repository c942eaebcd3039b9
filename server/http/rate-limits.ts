/** How often one may ask. Counted in memory, by each process for itself. */

import type { Request, RequestHandler, Response } from 'express'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Deps } from '../deps.ts'
import { Refusal } from '../errors.ts'
import { contextOf } from './context.ts'
import type { OperationId } from './spec.ts'

interface Limit {
  readonly name: string
  readonly limiter: RateLimiterMemory
  keyOf(req: Request): string
}

const unlimited: ReadonlySet<OperationId> = new Set(['healthz', 'readyz', 'getSpec', 'docs'])

/** Everybody's limit: by person, of the anonymous by address. Comes after authentication. */
export function limitRequests(deps: Deps): RequestHandler {
  const everything = limit('default', 6000, 60, (req) => {
    const { actor } = contextOf(req)
    return actor.kind === 'person' ? `person ${actor.id}` : address(req)
  })
  return limiting(deps, ({ operation }) => (unlimited.has(operation.id) ? [] : [everything]))
}

/** The limits of sign-up and login, which cost a password hash each. Comes after validation: the account is in the body. */
export function limitSignIns(deps: Deps): RequestHandler {
  const signups = [limit('signup', 10, 3600, address)]
  const account = (req: Request) => String(req.body.email).normalize('NFC').toLowerCase()
  const logins = [limit('login', 30, 60, address), limit('login', 10, 60, account)]
  return limiting(deps, ({ operation }) => {
    if (operation.id === 'signup') return signups
    return operation.id === 'login' ? logins : []
  })
}

function limit(name: string, points: number, duration: number, keyOf: Limit['keyOf']): Limit {
  return { name, limiter: new RateLimiterMemory({ points, duration }), keyOf }
}

function limiting(deps: Deps, limitsFor: (context: ReturnType<typeof contextOf>) => readonly Limit[]): RequestHandler {
  if (!deps.config.rateLimit) return (_req, _res, next) => next()
  return async (req, res, next) => {
    for (const one of limitsFor(contextOf(req))) {
      if (await consumed(one, req, res)) continue
      throw new Refusal('rate_limited', 'Too many requests; wait a little')
    }
    next()
  }
}

async function consumed({ name, limiter, keyOf }: Limit, req: Request, res: Response): Promise<boolean> {
  const state = await limiter.consume(keyOf(req)).catch((refused: unknown) => {
    if (refused instanceof RateLimiterRes) return refused
    throw refused
  })
  const seconds = Math.ceil(state.msBeforeNext / 1000)
  const exceeded = state.consumedPoints > limiter.points
  res.set('RateLimit-Policy', `"${name}";q=${limiter.points};w=${limiter.duration}`)
  res.set('RateLimit', `"${name}";r=${state.remainingPoints};t=${seconds}`)
  if (exceeded) res.set('Retry-After', String(seconds))
  return !exceeded
}

function address(req: Request): string {
  return `address ${req.ip ?? ''}`
}
