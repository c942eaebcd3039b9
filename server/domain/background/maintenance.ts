/** Background maintenance (git gc and the like), one repository at a time. */
import { relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isGitError } from '../../../gitstore/errors.ts'
import { holding } from '../../../gitstore/refs/ref-transaction.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { maintain, needsOf } from '../../../gitstore/upkeep/maintenance.ts'
import type { Deps } from '../../deps.ts'
import { nodeRepo, orgRepo } from '../layout.ts'
import { newWalk } from './walk.ts'

/** Milliseconds from the start to the first look, and between two walks through all repositories. */
const pausesMs = { first: 5_000, other: 60_000 } as const
/** Milliseconds before a repository whose maintenance failed is tried again. */
const retryAfterMs = 60 * 60_000
/** A piece of the walk is followed by 20 times as long without it; what git does does not count. */
const restFactor = 20

/** Locked, never moved: only one process at a time maintains a repository. */
const maintenanceRef = 'refs/grove/maintenance'

/** Runs until `deps.draining`, which also ends a running git. */
export async function maintainRepositories(deps: Deps): Promise<void> {
  const failures = new Map<string, Failure>()
  const walk = newWalk('maintenance')
  const pause = (ms: number) => sleep(ms, undefined, { signal: deps.draining, ref: false }).catch(() => {})
  await pause(pausesMs.first)
  let worked = 0
  while (!deps.draining.aborted) {
    const began = performance.now()
    let gitMs = 0
    const isOver = await walk
      .step(deps, async ({ orgId, isFirst, nodeIds }) => {
        const repos = nodeIds.map((id) => nodeRepo(deps.store, orgId, id))
        gitMs += await maintainSome(deps, isFirst ? [...repos, orgRepo(deps.store, orgId)] : repos, failures)
        return true
      })
      .catch((error: unknown) => {
        deps.log.error({ err: error }, 'the maintenance failed; it continues in a minute')
        return undefined
      })
    const ms = performance.now() - began
    worked += ms
    if (isOver) {
      deps.metrics.sweepSuccess.set({ chore: 'maintenance' }, deps.now().getTime() / 1000)
      deps.metrics.sweepSeconds.set({ chore: 'maintenance' }, worked / 1000)
      worked = 0
    }
    await pause(Math.max(isOver === false ? 0 : pausesMs.other, restFactor * (ms - gitMs)))
  }
}

interface Failure {
  /** When to retry; milliseconds since the process started. */
  readonly until: number
  readonly message: string
}

/** @returns how many milliseconds git has taken */
async function maintainSome(deps: Deps, repos: readonly Repo[], failures: Map<string, Failure>): Promise<number> {
  let gitMs = 0
  for (const repo of repos) {
    const path = relative(deps.store.root, repo.dir)
    if (deps.draining.aborted) break
    const failure = failures.get(path)
    if (failure && performance.now() < failure.until) continue
    const began = performance.now()
    try {
      gitMs += await maintainOne(deps, repo)
      failures.delete(path)
    } catch (error) {
      gitMs += performance.now() - began
      if (deps.draining.aborted || isPassing(error)) continue
      const message = error instanceof Error ? error.message : String(error)
      deps.metrics.maintained.inc({ outcome: 'failed' })
      failures.set(path, { until: performance.now() + retryAfterMs, message })
      if (failure?.message !== message)
        deps.log.error({ err: error, path }, 'a repository could not be maintained; it is unchanged')
    }
  }
  return gitMs
}

/** @returns how many milliseconds git has taken */
async function maintainOne({ store, draining, log, metrics }: Deps, repo: Repo): Promise<number> {
  const needs = await needsOf(repo)
  if (!Object.values(needs).some(Boolean)) return 0
  const since = performance.now()
  await holding(store, { repo, ref: maintenanceRef }, '', () => maintain(repo, needs, draining))
  const ms = performance.now() - since
  metrics.maintained.inc({ outcome: 'done' })
  log.info({ path: repo.dir, ...needs, ms: Math.round(ms) }, 'a repository was maintained')
  return ms
}

/** Another process is maintaining it, or it has just been deleted. */
function isPassing(error: unknown): boolean {
  return isGitError(error, 'busy', 'repo_missing')
}
