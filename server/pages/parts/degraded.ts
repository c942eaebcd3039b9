/** Optional parts of a page. If one is late or refused, the rest is shown without it. */

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
  let clock: NodeJS.Timeout | undefined
  const late = new Promise<T>((resolve) => {
    clock = setTimeout(resolve, ms, otherwise).unref()
  })
  try {
    return await Promise.race([asked, late])
  } catch (error) {
    if (error instanceof AppError && ['busy', ...codes].includes(error.code)) return otherwise
    throw error
  } finally {
    clearTimeout(clock)
    asked.catch(() => {})
  }
}
