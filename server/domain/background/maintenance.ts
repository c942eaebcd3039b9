/** Background maintenance such as git gc, one repository at a time. */
import { relative } from 'node:path'
import { isGitError } from '../../../gitstore/errors.ts'
import { withRefLock } from '../../../gitstore/refs/ref-transaction.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { listErasing } from '../../../gitstore/upkeep/forget.ts'
import { maintain, needsOf } from '../../../gitstore/upkeep/maintenance.ts'
import { listReposToMaintain, markMaintained, ownRepository } from '../../../index/derived/change-log.ts'
import { AppError } from '../../base/errors.ts'
import { untilDraining } from '../../base/rounds.ts'
import { correctBytes, countTrash } from '../indexing/byte-counts.ts'
import { maintenanceRef, nodeRepo, orgRepo } from '../layout.ts'
import { finishErasures } from '../review/erasure.ts'
import type { Services } from '../services.ts'
import { createWalk, repositoriesAtOnce } from './walk.ts'

/**
 * Milliseconds before the first check, between two checks of recorded moves, and between two walks. A walk
 * visits all repositories, because other programs may write to them and the index may have been rebuilt.
 */
const pausesMs = { first: 5_000, other: 60_000, walk: 6 * 60 * 60_000 } as const
/** Milliseconds before a repository whose maintenance failed is tried again. */
const retryAfterMs = 60 * 60_000
/** A step of the walk is followed by a pause 20 times as long. The time of Git processes does not count. */
const restFactor = 20

/** Maintains repositories until `deps.draining`, which also ends a running Git process. */
export function maintainRepositories(deps: Services): Promise<void> {
  const { lease } = deps.placement
  const failures = new Map<string, Failure>()
  const walk = createWalk('maintenance')
  const mayChange = () => lease.isHeld() && deps.maintenance.current() === undefined && !deps.reserve.isFreed()
  let dueAt = performance.now() + pausesMs.first
  let [walkDueAt, walkedMs] = [0, 0]

  const round = async () => {
    const began = performance.now()
    // A caller who waits does not bring it forward, because no answer depends on it.
    if (began < dueAt) return true
    let gitMs = 0
    let isOver: boolean | undefined
    try {
      if (mayChange()) gitMs += await maintainMoved(deps, failures)
      if (mayChange() && began >= walkDueAt)
        isOver = await walk.step(deps, async ({ orgId, isFirst, nodeIds }) => {
          const repos = reposOf(deps, orgId, isFirst ? [...nodeIds, ownRepository] : nodeIds)
          gitMs += await maintainSome(deps, repos, failures)
          await correctAll(deps, orgId, nodeIds)
          if (isFirst) await countTrash(deps, orgId)
          return true
        })
    } finally {
      const tookMs = performance.now() - began
      walkedMs += tookMs
      dueAt = began + tookMs + Math.max(isOver === false ? 0 : pausesMs.other, restFactor * (tookMs - gitMs))
    }
    if (isOver) {
      deps.metrics.sweepSuccess.set({ chore: 'maintenance' }, deps.now().getTime() / 1000)
      deps.metrics.sweepSeconds.set({ chore: 'maintenance' }, walkedMs / 1000)
      walkDueAt = performance.now() + pausesMs.walk
      walkedMs = 0
    }
    return false
  }

  return untilDraining(deps, {
    name: 'maintenance',
    everyMs: () => dueAt - performance.now(),
    work: round,
    failed: (error) => deps.log.error({ err: error }, 'the maintenance failed; it continues in a minute'),
  })
}

/** Maintains repositories with many recorded moves of refs, without checking the others. */
async function maintainMoved(deps: Services, failures: Map<string, Failure>): Promise<number> {
  let gitMs = 0
  for (const moved of await listReposToMaintain(deps.index.read, repositoriesAtOnce)) {
    gitMs += await maintainSome(deps, reposOf(deps, moved.org_id, [moved.node_id]), failures)
    if (moved.node_id !== ownRepository) await correctBytes(deps, moved.org_id, moved.node_id)
    await deps.index.write((trx) => markMaintained(trx, moved))
  }
  return gitMs
}

/** Measures the nodes of a walk, because other programs may have changed them. */
async function correctAll(deps: Services, orgId: string, nodeIds: readonly string[]): Promise<void> {
  for (const id of nodeIds) {
    if (deps.draining.aborted) return
    await correctBytes(deps, orgId, id)
  }
}

function reposOf({ store }: Services, orgId: string, nodeIds: readonly string[]): Repo[] {
  return nodeIds.map((id) => (id === ownRepository ? orgRepo(store, orgId) : nodeRepo(store, orgId, id)))
}

interface Failure {
  /** When to retry, in milliseconds since the process started. */
  readonly until: number
  readonly message: string
}

/** @returns how many milliseconds git has taken */
async function maintainSome(deps: Services, repos: readonly Repo[], failures: Map<string, Failure>): Promise<number> {
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
async function maintainOne(deps: Services, repo: Repo): Promise<number> {
  const { store, draining, log, metrics } = deps
  if ((await listErasing(repo)).length > 0) {
    const removed = await finishErasures(deps, repo, { signal: draining, patienceMs: 0 })
    log.info({ path: repo.dir, removed }, 'an interrupted erasure was finished')
  }
  const needs = await needsOf(repo)
  if (!Object.values(needs).some(Boolean)) return 0
  const since = performance.now()
  await withRefLock(store, { repo, ref: maintenanceRef }, '', () => maintain(repo, needs, draining))
  const ms = performance.now() - since
  metrics.maintained.inc({ outcome: 'done' })
  log.info({ path: repo.dir, ...needs, ms: Math.round(ms) }, 'a repository was maintained')
  return ms
}

/** True if the failure passes. Another process maintains the repository, it was deleted, or nothing may change. */
function isPassing(error: unknown): boolean {
  return isGitError(error, 'busy', 'repo_missing') || (error instanceof AppError && error.code === 'maintenance')
}
