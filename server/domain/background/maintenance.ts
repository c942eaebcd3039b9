/** Repositories are kept quick to read in the background, one after the other. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isGitError } from '../../../gitstore/errors.ts'
import { holding } from '../../../gitstore/refs/ref-transaction.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { maintain, needsOf } from '../../../gitstore/upkeep/maintenance.ts'
import type { Deps } from '../../deps.ts'
import { listStoredRepositories } from '../indexing/stored-repositories.ts'

/** Milliseconds from the start to the first look at every repository, and between two looks. */
const pauses = { first: 5_000, other: 60_000 } as const
/** Milliseconds for which a repository is left alone whose maintenance has failed. */
const afterFailure = 60 * 60_000

/** Held, never moved: of several processes one at a time maintains a repository. */
const maintenanceRef = 'refs/grove/maintenance'

/** Goes on until `deps.draining`, which ends a git that is at work; the promise ends then. */
export async function maintainRepositories(deps: Deps): Promise<void> {
  const failures = new Map<string, Failure>()
  const pause = (ms: number) => sleep(ms, undefined, { signal: deps.draining, ref: false }).catch(() => {})
  await pause(pauses.first)
  while (!deps.draining.aborted) {
    await maintainAll(deps, failures).catch((error: unknown) =>
      deps.log.error({ err: error }, 'the maintenance broke off; it goes on in a minute'),
    )
    await pause(pauses.other)
  }
}

interface Failure {
  /** When to try again; milliseconds since the process began. */
  readonly until: number
  readonly message: string
}

async function maintainAll(deps: Deps, failures: Map<string, Failure>): Promise<void> {
  for (const { path } of await listStoredRepositories(deps.store.root)) {
    if (deps.draining.aborted) return
    const failure = failures.get(path)
    if (failure && performance.now() < failure.until) continue
    try {
      await maintainOne(deps, { dir: join(deps.store.root, path) })
      failures.delete(path)
    } catch (error) {
      if (deps.draining.aborted || isPassing(error)) continue
      const message = error instanceof Error ? error.message : String(error)
      failures.set(path, { until: performance.now() + afterFailure, message })
      if (failure?.message !== message)
        deps.log.error({ err: error, path }, 'a repository could not be maintained; it is left as it is')
    }
  }
}

async function maintainOne({ store, draining, log }: Deps, repo: Repo): Promise<void> {
  const needs = await needsOf(repo)
  if (!Object.values(needs).some(Boolean)) return
  const since = performance.now()
  await holding(store, { repo, ref: maintenanceRef }, '', () => maintain(repo, needs, draining))
  log.info({ path: repo.dir, ...needs, ms: Math.round(performance.now() - since) }, 'a repository was maintained')
}

/** Another process is at it, or the repository has just been deleted. */
function isPassing(error: unknown): boolean {
  return isGitError(error, 'busy', 'repo_missing')
}
