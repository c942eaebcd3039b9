/** Waits until a service of this process has nothing to do. It needs no sign that something has happened. */

import { promisify } from 'node:util'
import { dataVersion } from '../../index/log/events.ts'
import type { Round } from '../../server/base/rounds.ts'
import type { Services } from '../../server/domain/services.ts'

/** Use the machine's clock, even if a test sets another one. */
const sleep = promisify(setTimeout)

/** Milliseconds after which to give up. It is less than mocha gives a test, so that the failure names what runs. */
const patience = 300_000

/**
 * Resolves when two looks in a row found nothing due and nothing running. Nothing was recorded between them. One look does
 * not suffice: work that has ended may have caused work of a round that was asked before.
 *
 * Each look asks every background loop for a round, so that no pause is waited for. Not included: requests over HTTP
 * other than Git's, Git's maintenance that is not running, retries whose pause has begun, and work of other processes.
 *
 * @throws Error that names what did not settle
 */
export async function settled({ rounds, events }: Pick<Services, 'rounds' | 'events'>): Promise<void> {
  const deadline = performance.now() + patience
  let [wasIdle, lastVersion] = [false, -1]
  for (let pause = 1; ; pause = Math.min(1.5 * pause, 100)) {
    const busy = await busyOf([...rounds], deadline)
    const version = await dataVersion(events.read)
    const isIdle = busy.length === 0
    if (isIdle && wasIdle && version === lastVersion) return
    if (performance.now() > deadline) throw new Error(`This did not settle: ${busy.join(', ') || 'the log of events'}`)
    ;[wasIdle, lastVersion] = [isIdle, version]
    // A turn of the event loop at least, in which work that ends can cause other work.
    await sleep(isIdle ? 1 : pause)
  }
}

/** The names of what was due or is running. */
async function busyOf(rounds: readonly Round[], deadline: number): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, deadline - performance.now(), false)
  })
  const idle = await Promise.all(rounds.map(async (round) => Promise.race([round.settle(), late])))
  clearTimeout(timer)
  return rounds.filter((_, at) => !idle[at]).map(({ name }) => name)
}
