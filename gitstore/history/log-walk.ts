/** Walks the commits above the known logs in `git log`'s order. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Oid, Repo } from '../repo.ts'
import { type Ancestry, AncestryReader, commitsPerTurn } from './ancestry-reader.ts'
import type { KnownLogs, LogEntry, LogPart } from './known-logs.ts'

interface Shown {
  readonly oid: Oid
  /** Whether git's queue held nothing else. */
  readonly alone: boolean
  /** The first place among those shown that one of its parents has; its own, as a rule. */
  readonly earliest: number
}

/**
 * Git's own walk, from `head` down to the first known log: a queue by committer date, newest first, equal dates in the order
 * of arrival. Source: get_revision_1 (revision.c), commit_list_insert_by_date (commit.c).
 * `reader` may be shared by several walks over the same known logs.
 *
 * @throws GitError object_missing, object_damaged, repo_missing, native_failed
 */
export async function walkLog(
  repo: Repo,
  head: Oid,
  known: Pick<KnownLogs, 'isCut' | 'tips' | 'holdsAny'>,
  reader: AncestryReader = new AncestryReader(repo, known),
): Promise<LogPart> {
  const shown: Shown[] = []
  const places = new Map<Oid, number>()
  const seen = new Set([head])
  /** The next commit is the last element. */
  const queue = [await reader.read(head, [])]
  let merges = false
  for (let commit = queue.pop(); commit; commit = queue.pop()) {
    const { oid, parents } = commit
    const alone = queue.length === 0
    if (alone && !reader.isNew(oid) && (await known.isCut(oid))) {
      // After a merge, with wrong clocks, the log below may repeat commits that are shown already.
      const again = merges && (await known.holdsAny(oid, [...places.keys()])) !== false
      if (!again) return { entries: toEntries(shown), base: oid }
    }
    places.set(oid, shown.length)
    let earliest = shown.length
    merges ||= parents.length > 1
    for (const parent of parents) {
      earliest = Math.min(earliest, places.get(parent) ?? earliest)
      if (seen.has(parent)) continue
      seen.add(parent)
      const next = reader.known(parent) ?? (await reader.read(parent, queue))
      queue.splice(firstNotOlder(queue, next.timestamp), 0, next)
    }
    shown.push({ oid, alone, earliest })
    if (shown.length % commitsPerTurn === 0) await nextTurn()
  }
  return { entries: toEntries(shown), base: undefined }
}

/** An entry is a cut if git's queue held it alone and no entry after it has a parent before it. */
function toEntries(shown: readonly Shown[]): LogEntry[] {
  let earliest = shown.length
  const entries = new Array<LogEntry>(shown.length)
  for (let place = shown.length - 1; place >= 0; place--) {
    const one = shown[place]
    if (!one) continue
    earliest = Math.min(earliest, one.earliest)
    entries[place] = { oid: one.oid, cut: one.alone && earliest >= place }
  }
  return entries
}

function firstNotOlder(queue: readonly Ancestry[], timestamp: number): number {
  let low = 0
  let high = queue.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((queue[middle]?.timestamp ?? 0) < timestamp) low = middle + 1
    else high = middle
  }
  return low
}
