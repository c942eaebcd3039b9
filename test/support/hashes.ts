/** Counts password hashes, which cost 20 ms each, by argon2's jobs on libuv's threads. */

import { createHook } from 'node:async_hooks'

/** Counts the hashes that begin in this process before `work` ends. */
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
