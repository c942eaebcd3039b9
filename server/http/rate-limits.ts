/** How often one may ask. Counted in memory: by each process for itself, or by the first for all of its workers. */

import type { Request, RequestHandler, Response } from 'express'
import { type RateLimiterAbstract, RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Deps } from '../deps.ts'
import { Refusal } from '../errors.ts'
import { contextOf } from './context.ts'
import type { OperationId } from './spec.ts'

interface Limit {
  readonly name: string
  readonly limiter: RateLimiterAbstract
  keyOf(req: Request): string
}

const unlimited: ReadonlySet<OperationId> = new Set(['healthz', 'readyz', 'getSpec', 'docs'])

/** Everybody's limit: by person, of the anonymous by address. Comes after authentication. `shared`: among workers. */
export function limitRequests(deps: Deps, shared: boolean): RequestHandler {
  if (!deps.config.rateLimit) return unlimitedRequests
  const limiter = newLimiter(shared, 'default', 6000, 60)
  const everything = {
    name: 'default',
    limiter,
    keyOf: (req: Request) => {
      const { actor } = contextOf(req)
      return actor.kind === 'person' ? `person ${actor.id}` : address(req)
    },
  }
  return limiting(({ operation }) => (unlimited.has(operation.id) ? [] : [everything]))
}

/** The limits of sign-up and login, which cost a password hash each. Comes after validation: the account is in the body. */
export function limitSignIns(deps: Deps, shared: boolean): RequestHandler {
  if (!deps.config.rateLimit) return unlimitedRequests
  const account = (req: Request) => String(req.body.email).normalize('NFC').toLowerCase()
  const signups = [{ name: 'signup', limiter: newLimiter(shared, 'signup', 10, 3600), keyOf: address }]
  const logins = [
    { name: 'login', limiter: newLimiter(shared, 'login by address', 30, 60), keyOf: address },
    { name: 'login', limiter: newLimiter(shared, 'login by account', 10, 60), keyOf: account },
  ]
  return limiting(({ operation }) => {
    if (operation.id === 'signup') return signups
    return operation.id === 'login' ? logins : []
  })
}

/** `duration` in seconds. A worker whose first process is gone counts for itself until it has ended too. */
function newLimiter(shared: boolean, keyPrefix: string, points: number, duration: number): RateLimiterAbstract {
  const own = new RateLimiterMemory({ keyPrefix, points, duration })
  if (!shared) return own
  const all = new RateLimiterCluster({ keyPrefix, points, duration })
  const consume = all.consume.bind(all)
  all.consume = async (key, ...rest) => {
    if (process.connected !== true) return own.consume(key, ...rest)
    try {
      return await consume(key, ...rest)
    } catch (refused) {
      if (refused instanceof RateLimiterRes) throw refused
      return own.consume(key, ...rest)
    }
  }
  return all
}

const unlimitedRequests: RequestHandler = (_req, _res, next) => next()

function limiting(limitsFor: (context: ReturnType<typeof contextOf>) => readonly Limit[]): RequestHandler {
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
