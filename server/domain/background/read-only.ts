/** Checks repositories that a failed sync made read-only, until they are intact and writable. */
import { checkReadOnly } from '../../../gitstore/refs/read-only.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { Pauses } from '../../base/rounds.ts'
import type { Services } from '../services.ts'

/** Milliseconds before the first check. They double before each further one, up to `longest`. */
const pausesMs = { shortest: 1_000, longest: 60_000 } as const

export function checkUntilWritable(deps: Pick<Services, 'log' | 'draining' | 'rounds'>, repo: Repo): Promise<void> {
  const pauses = new Pauses(`the check of ${repo.dir}`, deps.draining)
  return pauses.during(deps.rounds, () => check(deps, repo, pauses))
}

async function check({ log, draining }: Pick<Services, 'log' | 'draining'>, repo: Repo, pauses: Pauses): Promise<void> {
  log.error({ path: repo.dir }, 'a sync failed; the repository is read-only until it is checked')
  for (let pause: number = pausesMs.shortest; ; pause = Math.min(2 * pause, pausesMs.longest)) {
    await pauses.rest(pause, true)
    if (draining.aborted) return
    const sound = await checkReadOnly(repo).catch((error: unknown) => {
      log.error({ err: error, path: repo.dir }, 'a read-only repository could not be checked yet')
      return undefined
    })
    if (sound) {
      log.warn({ path: repo.dir }, 'a read-only repository is intact and durable; it is writable again')
      return
    }
    if (sound === false) log.error({ path: repo.dir }, 'git fsck reports damage; the repository stays read-only')
  }
}
