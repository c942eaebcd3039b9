/**
 * Rate counters, in memory or in PostgreSQL.
 *
 * In memory, they belong to one process, or to the first process for all workers. In PostgreSQL, all cells share them.
 */

import {
  type RateLimiterAbstract,
  RateLimiterCluster,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import { rateCountClient, rateCountTable } from '../../index/credentials/rate-counts.ts'
import type { CredentialsSchema } from '../../index/credentials/schema.ts'
import type { Database } from '../../index/sqlite/database.ts'

export interface Limit {
  /** The name in response headers. */
  readonly name: string
  /** Per key and window. */
  readonly quota: number
  readonly windowSeconds: number
}

/** A count after a `take`. */
export interface Count {
  readonly limit: Limit
  /** The count of this window. More than the quota is too many. */
  readonly taken: number
  /** The time until the next window. */
  readonly waitMs: number
}

export interface Counter {
  take(key: string): Promise<Count>
  /** Undoes one `take`. */
  giveBack(key: string): Promise<void>
  /** Refuses the key for this time. */
  close(key: string, seconds: number): Promise<void>
}

/** `id`: unique per counter. */
export type NewCounter = (id: string, limit: Limit) => Counter

/** The count of a closed counter: above any quota, even after `giveBack`. */
const closedPoints = 1_000_000

/** Creates counters in memory. `shared`: the first process counts. If it is gone, each worker counts until it ends. */
export function counters(shared: boolean): NewCounter {
  return (id, limit) => counterOf(limit, newLimiter(shared, optionsOf(id, limit)))
}

/**
 * Creates counters that all cells of the database share, by the clocks of their machines. If PostgreSQL is unavailable,
 * `take` fails, so that nothing is allowed uncounted.
 */
export function countersOfCells(credentials: Database<CredentialsSchema>): NewCounter {
  const store = {
    storeClient: rateCountClient(credentials),
    storeType: 'client',
    tableName: rateCountTable,
    tableCreated: true,
    // The sweep removes counts whose window has ended.
    clearExpiredByTimeout: false,
  }
  return (id, limit) => {
    const counter = counterOf(limit, new RateLimiterPostgres({ ...optionsOf(id, limit), ...store }))
    // The work is done. A count that cannot be given back stays until its window ends.
    return { ...counter, giveBack: (key) => counter.giveBack(key).catch(() => {}) }
  }
}

function optionsOf(keyPrefix: string, { quota, windowSeconds }: Limit) {
  return { keyPrefix, points: quota, duration: windowSeconds }
}

function counterOf(limit: Limit, limiter: Limiter): Counter {
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

/** The keys of an attempt. */
export interface Attempt {
  /** The caller's IP address, or its network. */
  readonly from: string
  /** The account. Absent if it is unknown before the attempt succeeds. */
  readonly account?: { readonly key: string; readonly isKnownFrom: boolean }
}

/**
 * Runs `work` unless the attempt exceeds a limit. An attempt counts from its start, so that parallel attempts cannot
 * exceed the limit. It stops counting if `work` succeeds, or fails for a reason other than a wrong secret.
 *
 * @throws AppError rate_limited; errors of `work`
 */
export type LimitSignIn = <T>(attempt: Attempt, work: () => Promise<T>) => Promise<T>

/**
 * Counts mails. Resolves to false if there are too many for the key, and the mail must not be written or sent. `all` has
 * one key.
 */
export type LimitMail = (purpose: 'reset' | 'verify' | 'invitation' | 'all', key?: string) => Promise<boolean>
