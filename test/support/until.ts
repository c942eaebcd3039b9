/** Waiting for what is meant to happen, on a machine that may be slow and do much else. */

import { promisify } from 'node:util'

/** By the clock of the machine, also where a test turns another. */
const sleep = promisify(setTimeout)

/** Milliseconds after which it never happens: fewer than mocha gives a test, so that its failure says what it waited for. */
const never = 300_000

/** Resolves once it holds. @throws Error after five minutes */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + never
  // More seldom in a long wait: some look at thousands of files.
  for (let pause = 10; !(await holds()); pause = Math.min(1.5 * pause, 100)) {
    if (performance.now() > deadline) throw new Error(`This never came to hold: ${holds}`)
    await sleep(pause)
  }
}
