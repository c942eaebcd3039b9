/** Counts password hashes, which cost 20 ms each, by the jobs that argon2 gives to libuv's threads. */

import { createHook } from 'node:async_hooks'

/** How many hashes were begun in this process until `work` had ended. */
export async function hashesOf(work: () => Promise<unknown>): Promise<number> {
  let begun = 0
  const hook = createHook({
    init: (_, type) => {
      if (type === 'argon2:HashWorker') begun++
    },
  }).enable()
  try {
    await work()
  } finally {
    hook.disable()
  }
  return begun
}
