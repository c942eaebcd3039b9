/**
 * A client that retries when the service answers 503 busy. Such an answer changes nothing. Other processes hold the
 * locks, for example native Git, or the index is being rebuilt.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Client } from './people.ts'

/** Milliseconds after which `busy` is returned. */
const patience = 300_000

export function patiently(someone: Client): Client {
  const again = async (request: () => Promise<Answer>): Promise<Answer> => {
    const deadline = performance.now() + patience
    for (let pause = 20; ; pause = Math.min(1.5 * pause, 100)) {
      const answer = await request()
      if (answer.status !== 503 || answer.body.code !== 'busy' || performance.now() > deadline) return answer
      await sleep(pause)
    }
  }
  return {
    get: (...request) => again(() => someone.get(...request)),
    post: (...request) => again(() => someone.post(...request)),
    patch: (...request) => again(() => someone.patch(...request)),
    put: (...request) => again(() => someone.put(...request)),
    delete: (...request) => again(() => someone.delete(...request)),
  }
}
