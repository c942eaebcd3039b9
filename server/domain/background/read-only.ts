/** A repository in which a sync has failed is checked in the background, and written to again once that succeeds. */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkSuspect } from '../../../gitstore/refs/read-only.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import type { Deps } from '../../deps.ts'

/** Milliseconds before the first check; twice as many before each further one, up to the longest. */
const pauses = { shortest: 1_000, longest: 60_000 } as const

export async function checkUntilWritable({ log, draining }: Pick<Deps, 'log' | 'draining'>, repo: Repo): Promise<void> {
  log.error({ path: repo.dir }, 'a sync failed; this repository is only read until it has been checked')
  for (let pause: number = pauses.shortest; ; pause = Math.min(2 * pause, pauses.longest)) {
    await sleep(pause, undefined, { signal: draining, ref: false }).catch(() => {})
    if (draining.aborted) return
    const sound = await checkSuspect(repo).catch((error: unknown) => {
      log.error({ err: error, path: repo.dir }, 'this repository could not be checked yet')
      return undefined
    })
    if (sound) {
      log.warn({ path: repo.dir }, 'this repository is sound and durable; it is written to again')
      return
    }
    if (sound === false) log.error({ path: repo.dir }, 'git fsck finds a fault here; it stays only read')
  }
}
