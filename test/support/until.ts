/** Waits for an expected event, on a machine that may be slow and busy. */

import { promisify } from 'node:util'

/** Uses the machine's clock, even if a test sets another one. */
const sleep = promisify(setTimeout)

/**
 * Milliseconds after which to give up. It is less than mocha gives a test, so that the failure says what was awaited.
 */
const never = 300_000

/** Resolves when the condition is true. @throws Error after five minutes */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + never
  // Checks less often in a long wait, because some checks read thousands of files.
  for (let pause = 10; !(await holds()); pause = Math.min(1.5 * pause, 100)) {
    if (performance.now() > deadline) throw new Error(`This never became true: ${holds}`)
    await sleep(pause)
  }
}
