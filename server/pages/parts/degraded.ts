/** Parts of a page that it can do without: it shows the rest sooner than nothing. */

import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, type RefusalCode } from '../../base/errors.ts'

/** Milliseconds that a page waits for such a part. */
const longestMs = 3_000

/** `otherwise` where the answer takes too long, or is refused with `busy` or one of `codes`. @throws what else `asked` rejects with */
export async function unlessBusy<T>(asked: Promise<T>, otherwise: T, codes: readonly RefusalCode[] = []): Promise<T> {
  const clock = new AbortController()
  const late = sleep(longestMs, otherwise, { signal: clock.signal, ref: false })
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
