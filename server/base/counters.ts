/** Rate counters: in memory, per process or shared by the first process for all workers, or in PostgreSQL, shared by all cells. */

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
  /** As named in response headers. */
  readonly name: string
  /** Per key and window. */
  readonly quota: number
  readonly windowSeconds: number
}

/** A count after one was taken. */
export interface Count {
  readonly limit: Limit
  /** In this window; above the quota it is too many. */
  readonly taken: number
  /** Until the next window. */
  readonly waitMs: number
}

export interface Counter {
  take(key: string): Promise<Count>
  /** Undoes one `take`. */
  giveBack(key: string): Promise<void>
  /** Refuses the key for so many seconds. */
  close(key: string, seconds: number): Promise<void>
}

/** `id`: unique per counter. */
export type NewCounter = (id: string, limit: Limit) => Counter

/** A count above any quota, even after `giveBack`: the counter is closed. */
const closedPoints = 1_000_000

/** `shared`: counted by the first process. A worker counts by itself if that process is gone, until it ends too. */
export function counters(shared: boolean): NewCounter {
  return (id, limit) => counterOf(limit, newLimiter(shared, optionsOf(id, limit)))
}

/**
 * Counted by all cells of the database together, by the clocks of their machines. Where PostgreSQL is away `take` fails: what
 * cannot be counted is refused.
 */
export function countersOfCells(credentials: Database<CredentialsSchema>): NewCounter {
  const store = {
    storeClient: rateCountClient(credentials),
    storeType: 'client',
    tableName: rateCountTable,
    tableCreated: true,
    // The sweep removes what has ended.
    clearExpiredByTimeout: false,
  }
  return (id, limit) => {
    const counter = counterOf(limit, new RateLimiterPostgres({ ...optionsOf(id, limit), ...store }))
    // What was done is done: where the count cannot be given back it stays, until its window ends.
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
  /** The caller's address, or network. */
  readonly from: string
  /** The account; absent if it is unknown before the attempt succeeds. */
  readonly account?: { readonly key: string; readonly isKnownFrom: boolean }
}

/**
 * Runs `work` unless the attempt exceeds a limit. An attempt counts from its start, so that parallel attempts do not exceed
 * the limit, and stops counting once `work` succeeds or fails for a reason other than a wrong secret.
 *
 * @throws AppError rate_limited, what `work` throws
 */
export type LimitSignIn = <T>(attempt: Attempt, work: () => Promise<T>) => Promise<T>
