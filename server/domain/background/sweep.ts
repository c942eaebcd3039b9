/** Background jobs: recovery, clean-up, repair, reindexing. */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDamage } from '../../../gitstore/errors.ts'
import { exists, listNames } from '../../../gitstore/fs-exists.ts'
import { recoverAll } from '../../../gitstore/refs/ref-transaction.ts'
import { isUnfinished } from '../../../gitstore/temporary-names.ts'
import { fileSystemTime, removeIfStale } from '../../../gitstore/upkeep/stale-files.ts'
import { forgetLogs } from '../../../index/derived/chain-removal.ts'
import { listMissing } from '../../../index/derived/node-queries.ts'
import { forgetWholeOrgs, recordProgress } from '../../../index/derived/whole-orgs.ts'
import { type Pauses, untilDraining } from '../../base/rounds.ts'
import { removeDeletedMembers } from '../accounts/deletion.ts'
import { forgetEmailTokens } from '../accounts/email-proofs.ts'
import { updateMembersBehind } from '../accounts/member-profiles.ts'
import { completeMemberships, forgetInvitations } from '../accounts/memberships.ts'
import { createMembersSettlement } from '../accounts/settled-members.ts'
import { keepReserve } from '../disk-reserve.ts'
import { sweepVectors } from '../embeddings/sweep.ts'
import { removeGoneLogs } from '../events/gone-logs.ts'
import { EventRemoval, type OldestNeeded, removeOldIntents } from '../events/retention.ts'
import { requestedFirst } from '../indexing/partial-index.ts'
import { recordGaps, recordGoneOrgs } from '../indexing/record-gaps.ts'
import {
  type IndexOne,
  indexAll,
  indexMoved,
  indexMovedOrg,
  indexOne,
  type UnreadableRepository,
} from '../indexing/reindex.ts'
import { isId, orgFolder, searchFolder } from '../layout.ts'
import { forgetMails } from '../mail/outbox.ts'
import { forgetReadMarks } from '../review/read-marks.ts'
import { removeUnusedSegments } from '../search/segment-files.ts'
import type { Services } from '../services.ts'
import { discardLeft } from '../sets/discard.ts'
import { closeAbandoned } from '../sets/expiry.ts'
import { repairRepository } from './repair.ts'
import type { Report } from './unreadable.ts'
import { createWalk, type Walk } from './walk.ts'
import { WholeLogs } from './whole-logs.ts'

/** A recurring job. Jobs run one after the other. */
export interface Job {
  /** Its name in metrics. */
  readonly chore: string
  /** The log message if it fails. */
  readonly failed: string
  /** Minimum milliseconds between its end and its next start. */
  readonly everyMs: number
  /** True if it changes repositories. It then waits for the end of maintenance mode. */
  readonly changesContent?: boolean
  /** Does the next step. Returns false if more remain. */
  work(deps: Services): Promise<unknown>
}

const minuteMs = 60_000

/** Additions of features and cells. */
export interface Additions {
  readonly jobs: readonly Job[]
  readonly oldestNeeded: OldestNeeded
}

/** Returns the jobs in order. All begin at the start. Walks through all repositories continue where they were. */
function jobsOf(report: Report, more: Additions): readonly Job[] {
  const [unfinished, repair, index] = [createWalk('unfinished'), createWalk('repair'), createWalk('index')]
  const events = eventsJob()
  return [
    {
      chore: 'reserve',
      everyMs: 5_000,
      work: keepReserve,
      failed: 'the reserve of disk space could not be made',
    },
    {
      chore: 'recovery',
      everyMs: minuteMs,
      work: recoverDead,
      failed: 'transactions of dead processes could not be recovered',
    },
    {
      chore: 'unfinished',
      changesContent: true,
      everyMs: minuteMs,
      work: (deps) => removeUnfinished(deps, unfinished),
      failed: 'unfinished folders could not be removed',
    },
    {
      chore: 'repair',
      changesContent: true,
      everyMs: 60 * minuteMs,
      work: (deps) => repairNext(deps, repair),
      failed: 'the repositories could not be checked for damage by crashes',
    },
    {
      chore: 'index',
      everyMs: minuteMs,
      work: (deps) => indexNext(deps, index, report),
      failed: 'the repositories could not be indexed',
    },
    events,
    ...more.jobs,
    ...lateJobsOf(more),
  ]
}

/** The job that records missing events. */
function eventsJob(): Job {
  const walk = createWalk('events')
  const wholeLogs = new WholeLogs()
  const work = async (deps: Services) => {
    wholeLogs.begin(deps)
    let hasFailed = false
    const isOver = await walk.step(deps, async ({ orgId, ...stretch }) => {
      hasFailed = !(await recordGaps(deps, orgId, stretch)) || hasFailed
      return true
    })
    if (isOver) await recordGoneOrgs(deps)
    await wholeLogs.end(deps, { isOver, hasFailed })
    return isOver
  }
  return { chore: 'events', everyMs: minuteMs, work, failed: 'missing events could not be recorded' }
}

/** The jobs after those of the caller: members, and rows and files that nobody needs. */
function lateJobsOf({ oldestNeeded }: Additions): readonly Job[] {
  return [...eventJobsOf(oldestNeeded), settlementJob(), expiryJob, ...memberJobs, vectorsJob]
}

/** The job that removes unused vectors. It sweeps each organisation once a week. */
const vectorsJob: Job = {
  chore: 'vectors',
  everyMs: 60 * minuteMs,
  work: sweepVectors,
  failed: 'unused vectors could not be removed',
}

/** The jobs of the log of events. */
function eventJobsOf(oldestNeeded: OldestNeeded): readonly Job[] {
  const removal = new EventRemoval(oldestNeeded)
  return [
    {
      chore: 'old events',
      everyMs: 10 * minuteMs,
      work: (deps) => removal.step(deps),
      failed: 'old events could not be removed',
    },
    {
      chore: 'intents',
      everyMs: 10 * minuteMs,
      work: removeOldIntents,
      failed: 'notes about moved refs could not be removed',
    },
    {
      chore: 'gone logs',
      everyMs: 60 * minuteMs,
      work: removeGoneLogs,
      failed: 'events of deleted organisations could not be removed',
    },
  ]
}

/** The job that compares members with accounts. */
function settlementJob(): Job {
  return {
    chore: 'settlement',
    changesContent: true,
    everyMs: 10 * minuteMs,
    work: createMembersSettlement(),
    failed: 'members could not be compared with accounts',
  }
}

/** The job that closes abandoned change sets. */
const expiryJob: Job = {
  chore: 'proposals',
  changesContent: true,
  everyMs: 60 * minuteMs,
  work: closeAbandoned,
  failed: 'abandoned change sets could not be closed',
}

const memberJobs: readonly Job[] = [
  {
    chore: 'members',
    changesContent: true,
    everyMs: minuteMs,
    work: updateMembersBehind,
    failed: 'member files could not be brought up to date',
  },
  {
    chore: 'departures',
    changesContent: true,
    everyMs: minuteMs,
    work: removeDeletedMembers,
    failed: 'memberships of deleted accounts could not be ended',
  },
  {
    chore: 'memberships',
    changesContent: true,
    everyMs: minuteMs,
    work: completeMemberships,
    failed: 'pending memberships could not be committed',
  },
  {
    chore: 'invitations',
    everyMs: 60 * minuteMs,
    work: forgetInvitations,
    failed: 'expired invitations could not be removed',
  },
  {
    chore: 'read marks',
    everyMs: 60 * minuteMs,
    work: forgetReadMarks,
    failed: 'old read marks could not be removed',
  },
  {
    chore: 'mails',
    everyMs: 60 * minuteMs,
    work: forgetMails,
    failed: 'old mails could not be removed',
  },
  {
    chore: 'mailed tokens',
    everyMs: 60 * minuteMs,
    work: forgetEmailTokens,
    failed: 'expired tokens of mails could not be removed',
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
      removeUnusedSegments(searchFolder(store.root), async (id) => isId(id) && exists(orgFolder(store, id))),
    failed: 'unused files of search indexes could not be removed',
  },
]

/** Milliseconds between two checks whether a cell has its lease again. */
const leaseLookMs = 1_000

/** Milliseconds between two checks whether maintenance mode has ended. */
const maintenanceLookMs = 5_000

/** A step of a job is followed by a pause 20 times as long. 100,000 repositories take a quarter of an hour. */
const restFactor = 20

/** Runs a step of each job when it is due, until `deps.draining`. */
export function sweep(deps: Services, report: Report, more: Additions): Promise<void> {
  const { lease } = deps.placement
  const jobs = jobsOf(report, more)
  const dueAt = new Map<Job, number>()
  const workedMs = new Map<Job, number>()
  /** The ends of jobs that have no step left, by the service's clock. */
  const overAt = new Map<Job, number>()
  const round = async ({ isAwaited }: Pauses) => {
    const isDue = (job: Job) =>
      performance.now() >= (dueAt.get(job) ?? 0) ||
      (isAwaited && deps.now().getTime() - (overAt.get(job) ?? 0) >= job.everyMs)
    let isIdle = true
    for (const job of jobs) {
      const began = performance.now()
      if (deps.draining.aborted || !isDue(job) || !lease.isHeld()) continue
      if (job.changesContent && deps.maintenance.current()) {
        dueAt.set(job, began + maintenanceLookMs)
        continue
      }
      isIdle = false
      const outcome = await job.work(deps).then(
        (isOver) => (isOver === false ? 'more' : 'over'),
        (error: unknown) => {
          deps.log.error({ err: error }, `${job.failed}; it will be retried`)
          return 'failed'
        },
      )
      const now = performance.now()
      const worked = (workedMs.get(job) ?? 0) + now - began
      workedMs.set(job, outcome === 'over' ? 0 : worked)
      overAt.set(job, outcome === 'more' ? 0 : deps.now().getTime())
      if (outcome === 'over') {
        deps.metrics.sweepSuccess.set({ chore: job.chore }, deps.now().getTime() / 1000)
        deps.metrics.sweepSeconds.set({ chore: job.chore }, worked / 1000)
      }
      dueAt.set(job, now + Math.max(outcome === 'more' ? 0 : job.everyMs, restFactor * (now - began)))
    }
    return isIdle
  }
  return untilDraining(deps, {
    name: 'the sweep',
    everyMs: () => (lease.isHeld() ? Math.min(...dueAt.values()) - performance.now() : leaseLookMs),
    failedMs: leaseLookMs,
    work: round,
    failed: (error) => deps.log.error({ err: error }, 'the sweep failed; it continues in a second'),
  })
}

/** Milliseconds between two notes of how far a rebuild of the index is. */
const progressMs = 500

/** Fills a new index. Returns false if the service stops before it is complete. */
export async function fillIndex(deps: Services, report: Report): Promise<boolean> {
  const began = performance.now()
  let notedAt = Number.NEGATIVE_INFINITY
  const note = async (done: number, total: number) => {
    if (performance.now() < notedAt + progressMs) return
    notedAt = performance.now()
    await deps.index.write((trx) => recordProgress(trx, { done, total }))
  }
  const { orgs, nodes, failed } = await indexAll(deps, note, requestedFirst(deps.index))
  if (deps.draining.aborted) return false
  await deps.index.write(forgetWholeOrgs)
  report(failed, true)
  const ms = Math.round(performance.now() - began)
  if (orgs > 0) deps.log.warn({ orgs, nodes, ms }, 'the index was rebuilt from the repositories')
  return true
}

async function recoverDead(deps: Services): Promise<void> {
  await recoverAll(deps.store, (error) =>
    deps.log.error({ err: error }, 'a transaction of a dead process could not be finished; the next sweep retries'),
  )
}

/** Removes folders of unfinished creations, merges and deletions. */
async function removeUnfinished(deps: Services, walk: Walk): Promise<boolean> {
  const now = await fileSystemTime(deps.store)
  const isOver = await walk.step(deps, async ({ orgId, isFirst }) => {
    if (isFirst) await removeUnfinishedIn(deps, orgFolder(deps.store, orgId), now)
    return false
  })
  if (isOver) await removeUnfinishedIn(deps, deps.store.root, now)
  return isOver
}

async function removeUnfinishedIn({ log }: Services, folder: string, now: number): Promise<void> {
  for (const name of (await listNames(folder)).filter(isUnfinished)) {
    const path = join(folder, name)
    if (await removeIfStale(path, now)) log.warn({ path }, 'removed an unfinished folder')
  }
}

async function repairNext(deps: Services, walk: Walk): Promise<boolean> {
  const now = await fileSystemTime(deps.store)
  return walk.step(deps, async ({ orgId, isFirst, nodeIds }) => {
    for (const nodeId of isFirst ? [...nodeIds, undefined] : nodeIds) {
      if (deps.draining.aborted) return true
      await repairRepository(deps, now, orgId, nodeId).catch((error: unknown) =>
        deps.log.error({ err: error, orgId, nodeId }, 'a repository could not be checked for damage by crashes'),
      )
      await nextTurn()
    }
    for (const nodeId of await listMissing(deps.index.read, nodeIds))
      await discardLeft(deps, orgId, nodeId).catch((error: unknown) =>
        deps.log.error({ err: error, orgId, nodeId }, 'a page that a change set has left could not be removed'),
      )
    return true
  })
}

async function indexNext(deps: Services, walk: Walk, report: Report): Promise<boolean> {
  const failed: UnreadableRepository[] = []
  const isOver = await walk.step(deps, async ({ orgId, isFirst, nodeIds }) => {
    if (isFirst && !(await indexMovedOrg(deps, orgId, failed, repairAndIndex))) return false
    await indexMoved(deps, orgId, nodeIds, failed, repairAndIndex)
    return true
  })
  report(failed, isOver)
  return isOver
}

/** Repairs a damaged repository and indexes it again. */
const repairAndIndex: IndexOne = async (deps, orgId, nodeId) => {
  await indexOne(deps, orgId, nodeId).catch(async (error: unknown) => {
    if (!isDamage(error) || deps.maintenance.current()) throw error
    await repairRepository(deps, await fileSystemTime(deps.store), orgId, nodeId)
    await indexOne(deps, orgId, nodeId)
  })
}

/** Deletes the histories of deleted nodes, a few rows at a time. */
async function forgetGone({ index, draining }: Services): Promise<void> {
  while (!draining.aborted && !(await index.write(forgetLogs))) await nextTurn()
}
