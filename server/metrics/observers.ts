/** Turns reports of the lower layers into metrics. */

import type { StoreObserver } from '../../gitstore/store.ts'
import type { DatabaseObserver } from '../../index/sqlite/connection.ts'
import type { LimitSignIn } from '../base/counters.ts'
import { AppError, RateLimitedError } from '../base/errors.ts'
import type { Metrics } from './metrics.ts'

export function storeObserver(metrics: Metrics): StoreObserver {
  return {
    phase: (phase, seconds) => metrics.refPhaseSeconds.observe({ phase }, seconds),
    ended: (outcome) => metrics.refTransactions.inc({ outcome }),
    recovered: () => metrics.refTransactionsRecovered.inc(),
    waitedForLock: (seconds) => metrics.refLockWaitSeconds.observe(seconds),
  }
}

export function databaseObserver(metrics: Metrics, database: 'credentials' | 'index' | 'events'): DatabaseObserver {
  return {
    waited: (role, seconds) => metrics.databaseWaitSeconds.observe({ database, role }, seconds),
    gaveUp: () => metrics.databaseBusy.inc({ database }),
  }
}

export function countedSignIns(metrics: Metrics, limitSignIn: LimitSignIn): LimitSignIn {
  const count = (outcome: 'done' | 'wrong' | 'limited' | 'failed') => metrics.signIns.inc({ outcome })
  return async (attempt, work) => {
    try {
      const result = await limitSignIn(attempt, work)
      count('done')
      return result
    } catch (error) {
      const code = error instanceof AppError ? error.code : undefined
      if (code === 'rate_limited') count('limited')
      else count(code === 'invalid_credentials' || code === 'invalid_token' ? 'wrong' : 'failed')
      throw error
    }
  }
}

const storageFaults = { storage_full: 'full', storage_readonly: 'readonly', storage_error: 'error' } as const

/** Counts a refusal that a limit or the storage has caused. */
export function countRefusal(metrics: Metrics, refusal: AppError): void {
  // Other refusals of this code come from the queue of passwords.
  if (refusal.code === 'rate_limited')
    metrics.rateLimited.inc({ limit: refusal instanceof RateLimitedError ? refusal.limit.name : 'password-queue' })
  if (refusal.code in storageFaults)
    metrics.storageFaults.inc({ kind: storageFaults[refusal.code as keyof typeof storageFaults] }) // the condition checks it
}
