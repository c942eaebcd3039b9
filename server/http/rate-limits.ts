/** Rate limits of requests. */

import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import type { Counter, Limit, NewCounter } from '../base/counters.ts'
import { RateLimitedError } from '../base/errors.ts'
import { networkOf } from './connection/addresses.ts'
import { contextOf } from './context.ts'
import type { OperationId } from './contract/spec.ts'
import { stateOf } from './request-state.ts'

/** The limit of a user, or of an IP address without a valid token. */
export const everything: Limit = { name: 'default', quota: 6_000, windowSeconds: 60 }
/** The limit of a user's comments, reviews, and edits of pull requests, types and settings. Each is a commit. */
const talk: Limit = { name: 'talk', quota: 120, windowSeconds: 60 }
/** The limit of a user's reports of checks, each of which may be a commit. */
const reports: Limit = { name: 'checks', quota: 600, windowSeconds: 60 }
/** The limit of requests for a new password, by IP address. */
const resets: Limit = { name: 'reset', quota: 20, windowSeconds: 3_600 }
const signUps: Limit = { name: 'signup', quota: 100, windowSeconds: 3_600 }

const talks: ReadonlySet<OperationId> = new Set([
  'createComment',
  'updateComment',
  'deleteComment',
  'updateThread',
  'submitReview',
  'updateReview',
  'applySuggestions',
  'eraseEntry',
  'updatePull',
  'updateOrg',
  'putType',
  'deleteType',
])
const unlimited: ReadonlySet<OperationId> = new Set(['getHealth', 'getReadiness', 'getSpec', 'getDocs', 'getMetrics'])

/**
 * Counts a request once, by `person`, or by IP address without a valid token. Called as soon as the caller is known.
 * Requests that are refused earlier (invalid tokens, unknown paths) are counted by IP address.
 *
 * @throws AppError rate_limited
 */
export type CountRequest = (req: Request, res: Response, person?: string) => Promise<void>

/** Creates the function that counts requests. @param newCounter undefined: no limits */
export function requestCounter(newCounter: NewCounter | undefined): CountRequest {
  if (newCounter === undefined) return async () => {}
  const counter = newCounter('default', everything)
  return async (req, res, person) => {
    const state = stateOf(req)
    if (state.isCounted) return
    state.isCounted = true
    const key = person === undefined ? `address ${networkOf(req)}` : `person ${person}`
    await takeFrom(counter, key, res)
  }
}

/** Limits requests, once the caller and the operation are known. */
export function limitRequests(count: CountRequest): RequestHandler {
  return async (req, res, next) => {
    const { operation, actor } = contextOf(req)
    if (!unlimited.has(operation.id)) await count(req, res, actor.kind === 'person' ? actor.id : undefined)
    next()
  }
}

/** Limits OPTIONS requests, which are answered before authentication. */
export function limitOptions(count: CountRequest): RequestHandler {
  return async (req, res, next) => {
    if (req.method === 'OPTIONS') await count(req, res)
    next()
  }
}

/** Counts requests that were refused before they were counted. */
export function countRefused(count: CountRequest): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) next(error)
    else count(req, res).then(() => next(error), next)
  }
}

/**
 * Limits requests that anyone may send and that cost much. A sign-up costs a password hash, and a new password a mail.
 * Runs after validation, so that invalid requests do not count.
 */
export function limitSignUps(newCounter: NewCounter | undefined): RequestHandler {
  const counters: Partial<Record<OperationId, Counter>> = newCounter
    ? { signUp: newCounter('signup', signUps), requestPasswordReset: newCounter('reset', resets) }
    : {}
  return async (req, res, next) => {
    const counter = counters[contextOf(req).operation.id]
    if (counter !== undefined) await takeFrom(counter, networkOf(req), res)
    next()
  }
}

/** Limits comments, reviews and reports of checks. Runs after validation, so that invalid requests do not count. */
export function limitTalk(newCounter: NewCounter | undefined): RequestHandler {
  const talkCounter = newCounter?.('talk', talk)
  const reportCounter = newCounter?.('checks', reports)
  return async (req, res, next) => {
    const { actor, operation } = contextOf(req)
    const isReport = operation.id === 'putCheck' || operation.id === 'putChangeSetCheck'
    const counter = isReport ? reportCounter : talks.has(operation.id) ? talkCounter : undefined
    if (counter !== undefined && actor.kind === 'person') await takeFrom(counter, actor.id, res)
    next()
  }
}

/** Counts one, and shows what is left. @throws RateLimitedError */
export async function takeFrom(counter: Counter, key: string, res: Response): Promise<void> {
  const { limit, taken, waitMs } = await counter.take(key)
  const seconds = Math.ceil(waitMs / 1000)
  if (taken > limit.quota) throw new RateLimitedError('requests', limit, seconds)
  setLimitHeaders(res, limit, limit.quota - taken, seconds)
}

/**
 * Sets the number of requests left, and of seconds until the window ends. If no requests are left, retry after that
 * time.
 */
export function setLimitHeaders(res: Response, limit: Limit, left: number, seconds: number): void {
  res.set('RateLimit-Policy', `"${limit.name}";q=${limit.quota};w=${limit.windowSeconds}`)
  res.set('RateLimit', `"${limit.name}";r=${left};t=${seconds}`)
}
