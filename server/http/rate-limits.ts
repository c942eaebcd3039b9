/** How often one may ask. */

import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import type { Counter, Limit, NewCounter } from '../counters.ts'
import { RateLimited } from '../errors.ts'
import { networkOf } from './addresses.ts'
import { contextOf } from './context.ts'
import type { OperationId } from './spec.ts'

const everything: Limit = { name: 'default', quota: 6_000, windowSeconds: 60 }
const signUps: Limit = { name: 'signup', quota: 100, windowSeconds: 3_600 }

const unlimited: ReadonlySet<OperationId> = new Set(['getHealth', 'getReadiness', 'getSpec', 'getDocs'])

/**
 * Counts a request, once: by `person`, or by its address where it shows no good token. Who finds out who asks calls it
 * before anything is done for them; what is refused earlier (bad tokens, unknown paths) is counted by address too.
 *
 * @throws Refusal rate_limited
 */
export type CountRequest = (req: Request, res: Response, person?: string) => Promise<void>

/** Undefined: nothing is counted. */
export function requestCounter(newCounter: NewCounter | undefined): CountRequest {
  if (newCounter === undefined) return async () => {}
  const counter = newCounter('default', everything)
  const counted = new WeakSet<Request>()
  return async (req, res, person) => {
    if (counted.has(req)) return
    counted.add(req)
    const key = person === undefined ? `address ${networkOf(req)}` : `person ${person}`
    await take(counter, key, res)
  }
}

/** Once it is known who asks, and for what. */
export function limitRequests(count: CountRequest): RequestHandler {
  return async (req, res, next) => {
    const { operation, actor } = contextOf(req)
    if (!unlimited.has(operation.id)) await count(req, res, actor.kind === 'person' ? actor.id : undefined)
    next()
  }
}

/** What is answered before anybody asks who sent it. */
export function limitOptions(count: CountRequest): RequestHandler {
  return async (req, res, next) => {
    if (req.method === 'OPTIONS') await count(req, res)
    next()
  }
}

/** What was refused before it was counted. */
export function countRefused(count: CountRequest): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) next(error)
    else count(req, res).then(() => next(error), next)
  }
}

/** Sign-ups cost a password hash each. Comes after validation: a mistake is not one. */
export function limitSignUps(newCounter: NewCounter | undefined): RequestHandler {
  const counter = newCounter?.('signup', signUps)
  return async (req, res, next) => {
    if (counter !== undefined && contextOf(req).operation.id === 'signUp') await take(counter, networkOf(req), res)
    next()
  }
}

async function take(counter: Counter, key: string, res: Response): Promise<void> {
  const { limit, taken, waitMs } = await counter.take(key)
  const seconds = Math.ceil(waitMs / 1000)
  if (taken > limit.quota) throw new RateLimited('requests', limit, seconds)
  setLimitHeaders(res, limit, limit.quota - taken, seconds)
}

/** How many are left, for so many seconds; none: it is too early until then. */
export function setLimitHeaders(res: Response, limit: Limit, left: number, seconds: number): void {
  res.set('RateLimit-Policy', `"${limit.name}";q=${limit.quota};w=${limit.windowSeconds}`)
  res.set('RateLimit', `"${limit.name}";r=${left};t=${seconds}`)
}
