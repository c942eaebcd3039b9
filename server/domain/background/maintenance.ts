/** Background maintenance (git gc and the like), one repository at a time. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isGitError } from '../../../gitstore/errors.ts'
import { holding } from '../../../gitstore/refs/ref-transaction.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { maintain, needsOf } from '../../../gitstore/upkeep/maintenance.ts'
import type { Deps } from '../../deps.ts'
import { listStoredRepositories } from '../indexing/stored-repositories.ts'

/** Milliseconds from the start to the first pass over all repositories, and between two passes. */
const pausesMs = { first: 5_000, other: 60_000 } as const
/** Milliseconds before a repository whose maintenance failed is tried again. */
const retryAfterMs = 60 * 60_000

/** Locked, never moved: only one process at a time maintains a repository. */
const maintenanceRef = 'refs/grove/maintenance'

/** Runs until `deps.draining`, which also ends a running git. */
export async function maintainRepositories(deps: Deps): Promise<void> {
  const failures = new Map<string, Failure>()
  const pause = (ms: number) => sleep(ms, undefined, { signal: deps.draining, ref: false }).catch(() => {})
  await pause(pausesMs.first)
  while (!deps.draining.aborted) {
    const began = performance.now()
    await maintainAll(deps, failures).then(
      () => deps.metrics.sweepSuccess.set({ chore: 'maintenance' }, deps.now().getTime() / 1000),
      (error: unknown) => deps.log.error({ err: error }, 'the maintenance failed; it continues in a minute'),
    )
    deps.metrics.sweepSeconds.set({ chore: 'maintenance' }, (performance.now() - began) / 1000)
    await pause(pausesMs.other)
  }
}

interface Failure {
  /** When to retry; milliseconds since the process started. */
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
      deps.metrics.maintained.inc({ outcome: 'failed' })
      failures.set(path, { until: performance.now() + retryAfterMs, message })
      if (failure?.message !== message)
        deps.log.error({ err: error, path }, 'a repository could not be maintained; it is unchanged')
    }
  }
}

async function maintainOne({ store, draining, log, metrics }: Deps, repo: Repo): Promise<void> {
  const needs = await needsOf(repo)
  if (!Object.values(needs).some(Boolean)) return
  const since = performance.now()
  await holding(store, { repo, ref: maintenanceRef }, '', () => maintain(repo, needs, draining))
  metrics.maintained.inc({ outcome: 'done' })
  log.info({ path: repo.dir, ...needs, ms: Math.round(performance.now() - since) }, 'a repository was maintained')
}

/** Another process is maintaining it, or it has just been deleted. */
function isPassing(error: unknown): boolean {
  return isGitError(error, 'busy', 'repo_missing')
}
