/** Optional parts of a page. If one is late or refused, the rest is shown without it. */

import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, type RefusalCode } from '../../base/errors.ts'

/** Milliseconds that a page waits for an optional part. */
const longestMs = 3_000

/** Returns `otherwise` if `asked` takes too long, or rejects with `busy` or one of `codes`. @throws its other errors */
export async function unlessBusy<T>(
  asked: Promise<T>,
  otherwise: T,
  codes: readonly RefusalCode[] = [],
  ms: number = longestMs,
): Promise<T> {
  const clock = new AbortController()
  const late = sleep(ms, otherwise, { signal: clock.signal, ref: false })
  try {
    return await Promise.race([asked, late])
  } catch (error) {
    if (error instanceof AppError && ['busy', ...codes].includes(error.code)) return otherwise
    throw error
  } finally {
    clock.abort()
    for (const one of [asked, late]) one.catch(() => {})
  }
}
