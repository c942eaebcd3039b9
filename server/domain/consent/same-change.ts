/**
 * Decides whether an approved change is still the same change. An approval is given to a change, not to a commit. It
 * holds for exactly the result of a three-way merge of the approved change onto the current base. Neither an equal head
 * nor an equal tree is enough. With an older base the same head brings in more, and an old tree on a newer base removes
 * the additions of others.
 */
import { createHash } from 'node:crypto'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { createQuota } from '../../../gitstore/concurrency/quota.ts'
import { createSemaphore, type Turn } from '../../../gitstore/concurrency/semaphore.ts'
import { isGitError } from '../../../gitstore/errors.ts'
import type { History } from '../../../gitstore/history/history.ts'
import { mergeThreeTrees } from '../../../gitstore/history/merge-three.ts'
import { findCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'

/** A proposed change: the commits that `head` has and `base` lacks. */
export interface Change {
  /** The only merge base with the target; null if there is none, or several. */
  readonly base: Oid | null
  readonly head: Oid
}

/** `same_commit` is the same head, `same_change` its exact merge onto the current base. */
export type Sameness = 'same_commit' | 'same_change' | 'other'

/** A repository whose changes are compared, such as a NodeAccess. */
interface Compared {
  readonly repo: Repo
  readonly history: History
}

/**
 * Returns the base of a change from `source` into `target`. It is null for unrelated histories, and for several merge
 * bases, because no single diff shows such a change.
 *
 * @throws the errors of History
 */
export async function mergeBaseOf(history: History, target: Oid, source: Oid): Promise<Oid | null> {
  return (await history.onlyMergeBase(target, source)) ?? null
}

/**
 * Compares an approved change with the current one. Without both bases, only an equal head with an equal base counts.
 * If a commit is missing, nothing can be merged. A change that is too large to merge here is `other`. A comparison takes
 * 25 ms if both sides changed a path, 1 ms otherwise, and no time if it was made before.
 *
 * @throws AppError busy: too many changes are being compared
 * @throws the signal's reason, and the errors of mergeThreeTrees and History
 */
export async function compareChanges(
  node: Compared,
  approved: Change,
  present: Change,
  signal?: AbortSignal,
): Promise<Sameness> {
  signal?.throwIfAborted()
  if (approved.head === present.head && (await isBelow(node, approved.base, present.base))) return 'same_commit'
  const { base } = approved
  const onto = present.base
  if (base === null || onto === null) return 'other'
  const ids = [base, approved.head, onto, present.head].join()
  const key = createHash('sha1').update(`${node.repo.dir}:${ids}`).digest('base64')
  const known = verdicts.get(key)
  if (known) return known
  return leavable(comparing.get(key) ?? beginComparing(key, node, approved, present), signal)
}

/** True if the target only moved forward. It then has taken in a part of the change. */
async function isBelow({ history }: Compared, base: Oid | null, present: Oid | null): Promise<boolean> {
  if (base === present) return true
  if (base === null || present === null) return false
  try {
    return await history.contains(present, base)
  } catch (error) {
    if (isGitError(error, 'object_missing')) return false
    throw error
  }
}

/** Results by repository and commits, which never change. */
const verdicts = createCache<Sameness>('same_changes')
const comparing = new Map<string, Promise<Sameness>>()

/** Milliseconds after which a merge that ran out of time is tried again. */
const retryAfterMs = 10 * 60_000

/** Ignores the caller's signal, because other callers may wait for the result. */
function beginComparing(key: string, node: Compared, approved: Change, present: Change): Promise<Sameness> {
  const made = isMerged(node.repo, approved, present)
    .then(({ isSame, keptMs }) => {
      const sameness = isSame ? 'same_change' : 'other'
      if (keptMs !== 0) verdicts.set(key, sameness, keptMs === undefined ? {} : { ttl: keptMs })
      return sameness
    })
    .finally(() => comparing.delete(key))
  comparing.set(key, made)
  return made
}

interface Finding {
  readonly isSame: boolean
  /** Milliseconds for which the finding is valid. Undefined: for ever. */
  readonly keptMs?: number
}

async function isMerged(repo: Repo, approved: Change, present: Change): Promise<Finding> {
  const now = await findCommit(repo, present.head)
  if (!now) return { isSame: false, keptMs: 0 }
  const merged = await mergeApproved(repo, approved, present)
  if (merged.outcome === 'merged') return { isSame: merged.tree === now.tree }
  if (merged.outcome === 'missing') return { isSame: false, keptMs: 0 }
  return { isSame: false, ...(merged.outcome === 'timed_out' ? { keptMs: retryAfterMs } : {}) }
}

type ApprovedMerge =
  /** `repo` also reads the objects that the merge has made. */
  | { readonly outcome: 'merged'; readonly tree: Oid; readonly repo: Repo }
  | { readonly outcome: 'conflict' | 'missing' | 'too_large' | 'timed_out' }

interface MergeTurn extends Turn {
  readonly dir: string
}

const shares = (all: number, repository: number) =>
  createQuota<MergeTurn>(({ dir }) => [
    ['all', all],
    [`repository ${dir}`, repository],
  ])

/** Limits merges per process. Repositories take turns. Each merge may run a Git process. */
const semaphore = createSemaphore<MergeTurn>({
  running: shares(3, 2),
  waiting: {
    quota: shares(512, 128),
    timeoutMs: 30_000,
    refusal: () => new AppError('busy', 'Too many changes are being compared; try again in a moment'),
  },
  laneOf: ({ dir }) => ({ key: dir }),
})

/**
 * Merges the approved change onto the current base, and saves nothing. The current head does not matter.
 *
 * @throws AppError busy; the signal's reason, and the errors of mergeThreeTrees except those of the outcomes
 */
export async function mergeApproved(
  repo: Repo,
  approved: Change,
  present: Pick<Change, 'base'>,
  signal?: AbortSignal,
): Promise<ApprovedMerge> {
  const ids = [approved.base, present.base, approved.head]
  const trees = ids.map(async (oid) => (oid === null ? undefined : (await findCommit(repo, oid))?.tree))
  const [base, ours, theirs] = await Promise.all(trees)
  if (!base || !ours || !theirs) return { outcome: 'missing' }
  try {
    const merged = await semaphore.run({ dir: repo.dir, signal }, () =>
      mergeThreeTrees(repo, { base, ours, theirs }, { timeoutMs: limits.sameMergeMs, ...(signal && { signal }) }),
    )
    return 'tree' in merged ? { outcome: 'merged', ...merged } : { outcome: 'conflict' }
  } catch (error) {
    if (isGitError(error, 'object_missing')) return { outcome: 'missing' }
    if (isGitError(error, 'limit_exceeded')) return { outcome: 'too_large' }
    if (isGitError(error, 'native_failed') && error.facts.timedOut === true) return { outcome: 'timed_out' }
    throw error
  }
}

/** Waits for `work`, which continues after the signal. @throws the signal's reason, and any error of `work` */
export function leavable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
