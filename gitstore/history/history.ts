/**
 * Answers questions about history in `git log`'s order from logs that the index has laid out (`KnownLogs`). Walks only the
 * commits above them. Answers about a commit never change, so they are cached.
 *
 * `log(c) = [c] + log(p)` for every commit with one parent, whatever the clocks. With merges, the entries below an entry are
 * that entry's own log only at a *cut*: git's queue held it alone, and no later entry has a parent that was shown before.
 */

import { LRUCache } from 'lru-cache'
import { GitError } from '../errors.ts'
import { runGit } from '../native.ts'
import { isOid, type Oid, type Repo } from '../repo.ts'
import type { KnownLogs, LogEntry, LogPart, SharedEnd } from './known-logs.ts'
import { walkLog } from './log-walk.ts'

interface Divergence {
  /** Commits that only head has. */
  readonly ahead: number
  /** Commits that only base has. */
  readonly behind: number
}

/**
 * Questions about a repository's history. A head may be pending in an object batch.
 *
 * Each method throws GitError object_missing, object_damaged, repo_missing, native_failed.
 */
export interface History {
  /** A page of `git log head`, and the length of the log. */
  page(head: Oid, offset: number, limit: number): Promise<{ total: number; oids: Oid[] }>
  /** Whether `oid` is `head` or one of its ancestors. */
  contains(head: Oid, oid: Oid): Promise<boolean>
  /** Those of `head` and its ancestors whose id begins so, two at most. */
  named(head: Oid, prefix: string): Promise<Oid[]>
  /** How far two commits have diverged, as sets; `git rev-list --left-right --count` is wrong under clock skew. */
  divergence(base: Oid, head: Oid): Promise<Divergence>
  /** What `head` has and `base` lacks, in the order of head's log, newest first. */
  between(base: Oid, head: Oid): Promise<Oid[]>
  /** The best common ancestor, the first of several; neither may be pending, unless one contains the other. */
  mergeBase(a: Oid, b: Oid): Promise<Oid | undefined>
}

/** 200,000 entries in all, of 105 bytes of heap each; what has none takes, with its key, as much as six. */
const walkedLogs = new LRUCache<string, LogPart>({
  maxSize: 200_000,
  sizeCalculation: ({ entries }) => entries.length + 6,
})

/** Of about 400 bytes each. */
const divergences = new LRUCache<string, Divergence>({ max: 5_000 })
const mergeBases = new LRUCache<string, { readonly oid: Oid | undefined }>({ max: 5_000 })

/** Attempts of a question whose logs are forgotten while it is answered. */
const maxAttempts = 10

export function historyOf(repo: Repo, known: KnownLogs): History {
  const isPending = (oid: Oid) => repo.pending?.has(oid) === true

  /** The log of `head` on top of one that is known, preferably its own. */
  async function logOf(head: Oid): Promise<LogPart> {
    if (!isPending(head) && (await known.isCut(head))) return { entries: [], base: head }
    const key = `${repo.dir}:${head}`
    const kept = isPending(head) ? undefined : walkedLogs.get(key)
    if (kept && (kept.base === undefined || (await known.isCut(kept.base)))) return kept
    const unfolded = await walkLog(repo, head, known)
    if (!isPending(head)) walkedLogs.set(key, unfolded)
    return unfolded
  }

  /** Repeats the question until its logs stay known. */
  async function retryWhileForgotten<T>(ask: () => Promise<T | undefined>): Promise<T> {
    for (let round = 0; round < maxAttempts; round++) {
      const answer = await ask()
      if (answer !== undefined) return answer
    }
    throw new GitError('busy', 'The history changes faster than it can be read; nothing is lost')
  }

  /** The parts of the two logs above their common end, and that end. */
  async function apart(base: Oid, head: Oid) {
    const ours = await logOf(head)
    const theirs = await logOf(base)
    const low = ours.base && theirs.base ? await known.shared(ours.base, theirs.base) : noneShared(ours, theirs)
    const lengths = low ?? (await sharedByLength(ours, theirs))
    return lengths && { ours, theirs, ...lengths }
  }

  function noneShared(ours: LogPart, theirs: LogPart): SharedEnd | undefined {
    return ours.base || theirs.base ? undefined : { a: 0, b: 0, shared: 0, straight: true }
  }

  /** One of the two has no known log below it: nothing is shared there. */
  async function sharedByLength(ours: LogPart, theirs: LogPart): Promise<SharedEnd | undefined> {
    if (ours.base && theirs.base) return undefined
    const a = ours.base ? (await known.page(ours.base, 0, 0))?.total : 0
    const b = theirs.base ? (await known.page(theirs.base, 0, 0))?.total : 0
    return a === undefined || b === undefined ? undefined : { a, b, shared: 0, straight: false }
  }

  async function above({ entries, base }: LogPart, count: number): Promise<Oid[] | undefined> {
    const rest = base && count > 0 ? await known.page(base, 0, count) : { oids: [] }
    return rest && [...entries.map(({ oid }) => oid), ...rest.oids]
  }

  /** The commits of both sides above the common end. */
  async function sides(base: Oid, head: Oid): Promise<{ ours: Oid[]; theirs: Oid[] } | undefined> {
    const found = await apart(base, head)
    const ours = found && (await above(found.ours, found.a - found.shared))
    const theirs = found && (await above(found.theirs, found.b - found.shared))
    return ours && theirs && { ours, theirs }
  }

  async function measure(base: Oid, head: Oid): Promise<Divergence | undefined> {
    const found = await apart(base, head)
    if (!found) return undefined
    if (isStraight(found)) {
      const both = countBoth(found.ours.entries, found.theirs.entries)
      return {
        ahead: found.ours.entries.length + found.a - found.shared - both,
        behind: found.theirs.entries.length + found.b - found.shared - both,
      }
    }
    const lists = await sides(base, head)
    if (!lists) return undefined
    const their = new Set(lists.theirs)
    const both = lists.ours.filter((oid) => their.has(oid)).length
    return { ahead: lists.ours.length - both, behind: lists.theirs.length - both }
  }

  async function findMergeBase(a: Oid, b: Oid): Promise<{ oid: Oid | undefined } | undefined> {
    const found = await apart(b, a)
    if (!found) return undefined
    if (!isStraight(found)) return { oid: await nativeMergeBase(repo, a, b) }
    const theirs = new Set(found.theirs.entries.map(({ oid }) => oid))
    const first = found.ours.entries.find(({ oid }) => theirs.has(oid))
    if (first || found.shared === 0 || !found.ours.base) return { oid: first?.oid }
    const at = await known.page(found.ours.base, found.a - found.shared, 1)
    return at && { oid: at.oids[0] }
  }

  const history: History = {
    page: (head, offset, limit) =>
      retryWhileForgotten(async () => {
        const direct = isPending(head) ? undefined : await known.page(head, offset, limit)
        if (direct) return direct
        const { entries, base } = await logOf(head)
        const first = entries.slice(offset, offset + limit).map(({ oid }) => oid)
        if (base === undefined) return { total: entries.length, oids: first }
        const rest = await known.page(base, Math.max(0, offset - entries.length), limit - first.length)
        return rest && { total: entries.length + rest.total, oids: [...first, ...rest.oids] }
      }),
    contains: async (head, oid) => {
      if (head === oid) return true
      return retryWhileForgotten(async () => {
        const direct = isPending(head) ? undefined : await known.holdsAny(head, [oid])
        if (direct !== undefined) return direct
        const { entries, base } = await logOf(head)
        if (entries.some((entry) => entry.oid === oid)) return true
        return base === undefined ? false : known.holdsAny(base, [oid])
      })
    },
    named: (head, prefix) =>
      retryWhileForgotten(async () => {
        const { entries, base } = await logOf(head)
        const found = entries.filter(({ oid }) => oid.startsWith(prefix)).map(({ oid }) => oid)
        const rest = base === undefined ? [] : await known.named(base, prefix)
        return rest && [...found, ...rest].slice(0, 2)
      }),
    divergence: async (base, head) => {
      if (base === head) return { ahead: 0, behind: 0 }
      const key = `${repo.dir}:${base}:${head}`
      const kept = divergences.get(key)
      if (kept) return kept
      const answer = await retryWhileForgotten(() => measure(base, head))
      if (!isPending(base) && !isPending(head)) divergences.set(key, answer)
      return answer
    },
    between: async (base, head) => {
      const { ours, theirs } = await retryWhileForgotten(() => sides(base, head))
      const their = new Set(theirs)
      return ours.filter((oid) => !their.has(oid))
    },
    mergeBase: async (a, b) => {
      if (await history.contains(a, b)) return b
      if (await history.contains(b, a)) return a
      const key = `${repo.dir}:${a}:${b}`
      const kept = mergeBases.get(key)
      if (kept) return kept.oid
      const answer = await retryWhileForgotten(() => findMergeBase(a, b))
      mergeBases.set(key, answer)
      return answer.oid
    },
  }
  return history
}

/** Whether no merge lies above the common end. Then both sides share only commits that are not laid out yet. */
function isStraight({ ours, theirs, straight }: { ours: LogPart; theirs: LogPart; straight: boolean }): boolean {
  return straight && ours.entries.every(({ cut }) => cut) && theirs.entries.every(({ cut }) => cut)
}

function countBoth(ours: readonly LogEntry[], theirs: readonly LogEntry[]): number {
  if (ours.length === 0 || theirs.length === 0) return 0
  const their = new Set(theirs.map(({ oid }) => oid))
  return ours.filter(({ oid }) => their.has(oid)).length
}

async function nativeMergeBase(repo: Repo, a: Oid, b: Oid): Promise<Oid | undefined> {
  const { code, stdout, stderr } = await runGit(repo, ['merge-base', '--end-of-options', a, b])
  const oid = stdout.toString('latin1').trim()
  if (code > 1 || (code === 0 && !isOid(oid))) throw new GitError('native_failed', 'git merge-base failed', { stderr })
  return code === 0 ? oid : undefined
}
