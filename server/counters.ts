/** How often something has happened. In memory: of each process for itself, or of the first for all of its workers. */

import { type RateLimiterAbstract, RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

export interface Limit {
  /** As the headers of an answer tell it. */
  readonly name: string
  /** For one key in one window. */
  readonly quota: number
  readonly windowSeconds: number
}

/** After one more was counted. */
export interface Count {
  readonly limit: Limit
  /** In this window; more than the quota is too many. */
  readonly taken: number
  /** Until a new window begins. */
  readonly waitMs: number
}

export interface Counter {
  take(key: string): Promise<Count>
  /** As if it had not been taken. */
  giveBack(key: string): Promise<void>
  /** Whatever is taken for so long is too many. */
  close(key: string, seconds: number): Promise<void>
}

/** `id` is of this counter alone. */
export type NewCounter = (id: string, limit: Limit) => Counter

/** More than are ever taken, or given back, while a counter is closed. */
const closedPoints = 1_000_000

/** `shared`: by the first process. A worker counts for itself where that one is gone, until it ends too. */
export function counters(shared: boolean): NewCounter {
  return (id, limit) => {
    const limiter = newLimiter(shared, { keyPrefix: id, points: limit.quota, duration: limit.windowSeconds })
    return {
      take: async (key) => {
        const { consumedPoints, msBeforeNext } = await limiter.penalty(key)
        return { limit, taken: consumedPoints, waitMs: msBeforeNext }
      },
      giveBack: async (key) => {
        await limiter.reward(key)
      },
      close: async (key, seconds) => {
        await limiter.block(key, seconds)
        await limiter.penalty(key, closedPoints)
      },
    }
  }
}

type Limiter = Pick<RateLimiterAbstract, 'penalty' | 'reward' | 'block'>

function newLimiter(shared: boolean, options: { keyPrefix: string; points: number; duration: number }): Limiter {
  const own = new RateLimiterMemory(options)
  if (!shared) return own
  const all = new RateLimiterCluster(options)
  const ask = (name: keyof Limiter) => async (key: string, points: number) => {
    if (process.connected !== true) return own[name](key, points)
    return all[name](key, points).catch((error: unknown) => {
      if (error instanceof RateLimiterRes) throw error
      return own[name](key, points)
    })
  }
  return { penalty: ask('penalty'), reward: ask('reward'), block: ask('block') }
}

/** Where an attempt is counted. */
export interface Attempt {
  /** The address, or network, that it comes from. */
  readonly from: string
  /** What it would open; absent where that is unknown until it succeeds. */
  readonly account?: { readonly key: string; readonly isKnownFrom: boolean }
}

/**
 * Does `work` where the attempt is not one too many. It counts from its beginning, so that many at once are not more than
 * one after the other, and no longer once `work` resolves or fails for another reason than a wrong secret.
 *
 * @throws Refusal rate_limited, what `work` throws
 */
export type LimitSignIn = <T>(attempt: Attempt, work: () => Promise<T>) => Promise<T>
