/** Background jobs: recovery, clean-up, repair, reindexing. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { isDamage } from '../../../gitstore/errors.ts'
import { isThere, namesIn } from '../../../gitstore/presence.ts'
import { recoverAll } from '../../../gitstore/refs/ref-transaction.ts'
import { isUnfinished } from '../../../gitstore/temporary-names.ts'
import { fileSystemTime, removeIfStale } from '../../../gitstore/upkeep/stale-files.ts'
import { forgetLogs } from '../../../index/derived/chain-removal.ts'
import type { Deps } from '../../deps.ts'
import { takeOutDeleted } from '../accounts/deletion.ts'
import { finishMemberships, forgetInvitations } from '../accounts/memberships.ts'
import { updateMembersBehind } from '../accounts/profile.ts'
import { type IndexOne, indexAll, indexOne, type UnreadableRepository } from '../indexing/reindex.ts'
import { listStoredRepositories } from '../indexing/stored-repositories.ts'
import { isId, orgFolder, searchFolder } from '../layout.ts'
import { removeUnusedSegments } from '../search/segment-files.ts'
import { repairRepository } from './repair.ts'

/** A recurring job; jobs run one after the other. */
interface Job {
  /** Its name in metrics. */
  readonly chore: string
  /** The log message if it fails. */
  readonly failed: string
  /** Minimum milliseconds between its end and its next start. */
  readonly everyMs: number
  work(deps: Deps): Promise<void>
}

const minuteMs = 60_000

/** In this order; all run at the start. */
function jobsOf(report: Report): readonly Job[] {
  return [
    {
      chore: 'recovery',
      everyMs: minuteMs,
      work: recoverDead,
      failed: 'transactions of dead processes could not be recovered',
    },
    {
      chore: 'unfinished',
      everyMs: minuteMs,
      work: removeUnfinished,
      failed: 'unfinished folders could not be removed',
    },
    {
      chore: 'repair',
      everyMs: 60 * minuteMs,
      work: repairAll,
      failed: 'the repositories could not be checked for damage by crashes',
    },
    {
      chore: 'index',
      everyMs: minuteMs,
      work: async (deps) => report((await indexAll(deps, undefined, repairAndIndex)).failed),
      failed: 'the repositories could not be indexed',
    },
    {
      chore: 'members',
      everyMs: minuteMs,
      work: updateMembersBehind,
      failed: 'member files could not be brought up to date',
    },
    {
      chore: 'departures',
      everyMs: minuteMs,
      work: takeOutDeleted,
      failed: 'memberships of deleted accounts could not be ended',
    },
    {
      chore: 'memberships',
      everyMs: minuteMs,
      work: finishMemberships,
      failed: 'pending memberships could not be committed',
    },
    {
      chore: 'invitations',
      everyMs: 60 * minuteMs,
      work: forgetInvitations,
      failed: 'expired invitations could not be removed',
    },
    {
      chore: 'histories',
      everyMs: minuteMs,
      work: forgetGone,
      failed: 'histories of deleted nodes could not be removed',
    },
    {
      chore: 'search',
      everyMs: 60 * minuteMs,
      work: ({ store }) =>
        removeUnusedSegments(searchFolder(store.root), async (id) => isId(id) && isThere(orgFolder(store, id))),
      failed: 'unused files of search indexes could not be removed',
    },
  ]
}

/** A job takes at most 1/20 of the time: with 100,000 repositories, a pass runs every quarter of an hour. */
const restFactor = 20

/** Runs each job when it is due, until `deps.draining`. */
export async function sweep(deps: Deps, report: Report): Promise<void> {
  const dueAt = new Map<Job, number>()
  const jobs = jobsOf(report)
  while (!deps.draining.aborted) {
    for (const job of jobs) {
      const began = performance.now()
      if (deps.draining.aborted || began < (dueAt.get(job) ?? 0)) continue
      await job.work(deps).then(
        () => deps.metrics.sweepSuccess.set({ chore: job.chore }, deps.now().getTime() / 1000),
        (error: unknown) => deps.log.error({ err: error }, `${job.failed}; it will be retried`),
      )
      const ended = performance.now()
      deps.metrics.sweepSeconds.set({ chore: job.chore }, (ended - began) / 1000)
      dueAt.set(job, ended + Math.max(job.everyMs, restFactor * (ended - began)))
    }
    const next = Math.min(...dueAt.values()) - performance.now()
    await sleep(Math.max(next, 1), undefined, { signal: deps.draining, ref: false }).catch(() => {})
  }
}

/** Receives all repositories that are unreadable now. */
export type Report = (unreadable: readonly UnreadableRepository[]) => void

/** Logs once when a repository becomes unreadable, and once when it is readable again. */
export function reporter({ log, metrics }: Pick<Deps, 'log' | 'metrics'>): Report {
  let known = new Map<string, string>()
  return (unreadable) => {
    metrics.unreadable.set(unreadable.filter(({ error }) => isDamage(error)).length)
    metrics.behindNodes.set(unreadable.filter(({ path }) => path.includes('/')).length)
    for (const { path, reason, error } of unreadable)
      if (known.get(path) !== reason)
        log.error({ err: error, path }, 'a repository cannot be read; it answers 503 until it is repaired')
    const now = new Map(unreadable.map(({ path, reason }) => [path, reason]))
    for (const path of known.keys()) if (!now.has(path)) log.warn({ path }, 'a repository can be read again')
    known = now
  }
}

/** Fills a new index; false if the service stops before it is complete. */
export async function fillIndex(deps: Deps, report: Report): Promise<boolean> {
  const began = performance.now()
  const { orgs, nodes, failed } = await indexAll(deps)
  if (deps.draining.aborted) return false
  report(failed)
  const ms = Math.round(performance.now() - began)
  if (orgs > 0) deps.log.warn({ orgs, nodes, ms }, 'the index was rebuilt from the repositories')
  return true
}

async function recoverDead(deps: Deps): Promise<void> {
  await recoverAll(deps.store, (error) =>
    deps.log.error({ err: error }, 'a transaction of a dead process could not be finished; the next sweep retries'),
  )
}

/** Removes folders of unfinished creations, merges and deletions. */
async function removeUnfinished(deps: Deps): Promise<void> {
  const { root } = deps.store
  const now = await fileSystemTime(deps.store)
  const orgs = (await readdir(root)).filter(isId).map((org) => orgFolder(deps.store, org))
  for (const folder of [root, ...orgs]) {
    for (const name of await namesIn(folder)) {
      const path = join(folder, name)
      if (isUnfinished(name) && (await removeIfStale(path, now)))
        deps.log.warn({ path }, 'removed an unfinished folder')
    }
  }
}

async function repairAll(deps: Deps): Promise<void> {
  const now = await fileSystemTime(deps.store)
  for (const { orgId, nodeId, path } of await listStoredRepositories(deps.store.root)) {
    if (deps.draining.aborted) return
    await repairRepository(deps, now, orgId, nodeId).catch((error: unknown) =>
      deps.log.error({ err: error, path }, 'a repository could not be checked for damage by crashes'),
    )
    await nextTurn()
  }
}

/** Repairs a damaged repository and indexes it again. */
const repairAndIndex: IndexOne = async (deps, orgId, nodeId) => {
  await indexOne(deps, orgId, nodeId).catch(async (error: unknown) => {
    if (!isDamage(error)) throw error
    await repairRepository(deps, await fileSystemTime(deps.store), orgId, nodeId)
    await indexOne(deps, orgId, nodeId)
  })
}

/** Deletes the histories of deleted nodes, a few rows at a time. */
async function forgetGone({ index, draining }: Deps): Promise<void> {
  while (!draining.aborted && !(await index.write(forgetLogs))) await nextTurn()
}
