/**
 * Questions about history, in `git log`'s order, answered from logs that are already laid out (`KnownLogs`): only what lies
 * above them is walked. What is said here of a commit is true for ever, whoever remembers it.
 *
 * `log(c) = [c] + log(p)` for every commit with one parent, whatever the clocks. With merges, what lies below an entry of a
 * log is that entry's own log only at a *cut*: git's queue held it alone, and no later entry has a parent that was shown.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { GitError } from '../errors.ts'
import { runGit, runGitOrThrow } from '../native.ts'
import { readCommit } from '../objects/commits.ts'
import { isOid, type Oid, type Repo } from '../repo.ts'

/** Commits read one by one (0.1 ms loose, 1 ms packed) before git is asked for the rest (5 ms, then 10 µs each). */
const walkAtMost = 50
/** Commits between two turns of the event loop. */
const turn = 5_000

export interface LogEntry {
  readonly oid: Oid
  /** Whether this entry and all below are exactly its own log. */
  readonly cut: boolean
}

/** A log as its newest entries on top of the log of `base`, which is known; undefined: there is nothing below. */
export interface Unfolded {
  readonly entries: readonly LogEntry[]
  readonly base: Oid | undefined
}

/** Two known logs: their lengths, how many entries at their ends are the same, and whether no merge lies above those. */
interface Shared {
  readonly a: number
  readonly b: number
  readonly shared: number
  readonly straight: boolean
}

/** The logs of one repository that are laid out. All but `isCut` and `tips` answer undefined where a log is not (any more). */
export interface KnownLogs {
  isCut(oid: Oid): Promise<boolean>
  /** Commits from which every entry of every known log can be reached. */
  tips(): Promise<readonly Oid[]>
  /** Entries after the first `offset`, newest first. */
  page(cut: Oid, offset: number, limit: number): Promise<{ total: number; oids: Oid[] } | undefined>
  holdsAny(cut: Oid, oids: readonly Oid[]): Promise<boolean | undefined>
  /** Two at most of the entries whose id begins so. */
  named(cut: Oid, prefix: string): Promise<Oid[] | undefined>
  shared(a: Oid, b: Oid): Promise<Shared | undefined>
}

interface Divergence {
  /** Commits that only head has. */
  readonly ahead: number
  /** Commits that only base has. */
  readonly behind: number
}

/**
 * What one may ask of a repository's history. A head may be pending in a draft.
 *
 * Each method throws GitError object_missing, object_damaged, repo_missing, native_failed.
 */
export interface History {
  /** A page of `git log head`, and how long that is. */
  page(head: Oid, offset: number, limit: number): Promise<{ total: number; oids: Oid[] }>
  /** Whether `oid` is `head` or one of its ancestors. */
  contains(head: Oid, oid: Oid): Promise<boolean>
  /** Those of `head` and its ancestors whose id begins so, two at most. */
  named(head: Oid, prefix: string): Promise<Oid[]>
  /** How far two commits have grown apart, as sets; `git rev-list --left-right --count` is wrong under clock skew. */
  divergence(base: Oid, head: Oid): Promise<Divergence>
  /** What `head` has and `base` lacks, in the order of head's log, newest first. */
  between(base: Oid, head: Oid): Promise<Oid[]>
  /** The best common ancestor, the first of several; neither may be pending, unless one contains the other. */
  mergeBase(a: Oid, b: Oid): Promise<Oid | undefined>
}

/** 200,000 entries in all, of 105 bytes of heap each; what has none takes, with its key, as much as six. */
const unfoldings = new LRUCache<string, Unfolded>({
  maxSize: 200_000,
  sizeCalculation: ({ entries }) => entries.length + 6,
})
/** Of about 400 bytes each; every move of a branch is asked after anew. */
const divergences = new LRUCache<string, Divergence>({ max: 5_000 })
const mergeBases = new LRUCache<string, { readonly oid: Oid | undefined }>({ max: 5_000 })

/** Times that a log may be forgotten while it is asked after. */
const rounds = 10

export function historyOf(repo: Repo, known: KnownLogs): History {
  const isPending = (oid: Oid) => repo.pending?.has(oid) === true

  /** The log of `head` on top of one that is known, preferably its own. */
  async function locate(head: Oid): Promise<Unfolded> {
    if (!isPending(head) && (await known.isCut(head))) return { entries: [], base: head }
    const key = `${repo.dir}:${head}`
    const kept = isPending(head) ? undefined : unfoldings.get(key)
    if (kept && (kept.base === undefined || (await known.isCut(kept.base)))) return kept
    const unfolded = await unfold(repo, head, known)
    if (!isPending(head)) unfoldings.set(key, unfolded)
    return unfolded
  }

  /** Asks until the logs that the answer stands on stay where they are. */
  async function steady<T>(ask: () => Promise<T | undefined>): Promise<T> {
    for (let round = 0; round < rounds; round++) {
      const answer = await ask()
      if (answer !== undefined) return answer
    }
    throw new GitError('busy', 'The history changes faster than it can be read; nothing is lost')
  }

  /** What the two logs have for themselves above their common end, and that end. */
  async function apart(base: Oid, head: Oid) {
    const ours = await locate(head)
    const theirs = await locate(base)
    const low = ours.base && theirs.base ? await known.shared(ours.base, theirs.base) : noneShared(ours, theirs)
    const lengths = low ?? (await sharedByLength(ours, theirs))
    return lengths && { ours, theirs, ...lengths }
  }

  function noneShared(ours: Unfolded, theirs: Unfolded): Shared | undefined {
    return ours.base || theirs.base ? undefined : { a: 0, b: 0, shared: 0, straight: true }
  }

  /** One of the two has no known log below it, so nothing is shared there. */
  async function sharedByLength(ours: Unfolded, theirs: Unfolded): Promise<Shared | undefined> {
    if (ours.base && theirs.base) return undefined
    const a = ours.base ? (await known.page(ours.base, 0, 0))?.total : 0
    const b = theirs.base ? (await known.page(theirs.base, 0, 0))?.total : 0
    return a === undefined || b === undefined ? undefined : { a, b, shared: 0, straight: false }
  }

  async function above({ entries, base }: Unfolded, count: number): Promise<Oid[] | undefined> {
    const rest = base && count > 0 ? await known.page(base, 0, count) : { oids: [] }
    return rest && [...entries.map(({ oid }) => oid), ...rest.oids]
  }

  /** Both sides as lists of what lies above the common end. */
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

  async function fork(a: Oid, b: Oid): Promise<{ oid: Oid | undefined } | undefined> {
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
      steady(async () => {
        const direct = isPending(head) ? undefined : await known.page(head, offset, limit)
        if (direct) return direct
        const { entries, base } = await locate(head)
        const first = entries.slice(offset, offset + limit).map(({ oid }) => oid)
        if (base === undefined) return { total: entries.length, oids: first }
        const rest = await known.page(base, Math.max(0, offset - entries.length), limit - first.length)
        return rest && { total: entries.length + rest.total, oids: [...first, ...rest.oids] }
      }),
    contains: async (head, oid) => {
      if (head === oid) return true
      return steady(async () => {
        const direct = isPending(head) ? undefined : await known.holdsAny(head, [oid])
        if (direct !== undefined) return direct
        const { entries, base } = await locate(head)
        if (entries.some((entry) => entry.oid === oid)) return true
        return base === undefined ? false : known.holdsAny(base, [oid])
      })
    },
    named: (head, prefix) =>
      steady(async () => {
        const { entries, base } = await locate(head)
        const found = entries.filter(({ oid }) => oid.startsWith(prefix)).map(({ oid }) => oid)
        const rest = base === undefined ? [] : await known.named(base, prefix)
        return rest && [...found, ...rest].slice(0, 2)
      }),
    divergence: async (base, head) => {
      if (base === head) return { ahead: 0, behind: 0 }
      const key = `${repo.dir}:${base}:${head}`
      const kept = divergences.get(key)
      if (kept) return kept
      const answer = await steady(() => measure(base, head))
      if (!isPending(base) && !isPending(head)) divergences.set(key, answer)
      return answer
    },
    between: async (base, head) => {
      const { ours, theirs } = await steady(() => sides(base, head))
      const their = new Set(theirs)
      return ours.filter((oid) => !their.has(oid))
    },
    mergeBase: async (a, b) => {
      if (await history.contains(a, b)) return b
      if (await history.contains(b, a)) return a
      const key = `${repo.dir}:${a}:${b}`
      const kept = mergeBases.get(key)
      if (kept) return kept.oid
      const answer = await steady(() => fork(a, b))
      mergeBases.set(key, answer)
      return answer.oid
    },
  }
  return history
}

/** No merge above the common end: then a commit of one side is the other's too only where both are not laid out yet. */
function isStraight({ ours, theirs, straight }: { ours: Unfolded; theirs: Unfolded; straight: boolean }): boolean {
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

/** What the walk needs to know of a commit. */
interface Ancestry {
  readonly oid: Oid
  readonly parents: readonly Oid[]
  /** Seconds since 1970, of the committer. */
  readonly timestamp: number
}

interface Shown {
  readonly oid: Oid
  /** Whether git's queue held nothing else. */
  readonly alone: boolean
  /** The first place among those shown that one of its parents has; its own, as a rule. */
  readonly earliest: number
}

/**
 * Git's own walk, from `head` down to the first log that is known: a list by committer date, newest first, equal dates in the
 * order they came. Source: get_revision_1 (revision.c), commit_list_insert_by_date (commit.c).
 * `reader` may be shared by several walks over the same known logs.
 *
 * @throws GitError object_missing, object_damaged, repo_missing, native_failed
 */
export async function unfold(
  repo: Repo,
  head: Oid,
  known: Pick<KnownLogs, 'isCut' | 'tips' | 'holdsAny'>,
  reader: AncestryReader = new AncestryReader(repo, known),
): Promise<Unfolded> {
  const shown: Shown[] = []
  const places = new Map<Oid, number>()
  const seen = new Set([head])
  /** The next one last. */
  const queue = [await reader.read(head, [])]
  let merges = false
  for (let commit = queue.pop(); commit; commit = queue.pop()) {
    const { oid, parents } = commit
    const alone = queue.length === 0
    if (alone && !reader.isNew(oid) && (await known.isCut(oid))) {
      // After a merge, and only where clocks go wrong, the log below may show again what is shown already.
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
    if (shown.length % turn === 0) await nextTurn()
  }
  return { entries: toEntries(shown), base: undefined }
}

/** A place is a cut if git's queue held it alone and nothing after it has a parent before it. */
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

/** Parents and dates: a few commits one by one, more of them from git at once. */
export class AncestryReader {
  readonly #repo: Repo
  readonly #known: Pick<KnownLogs, 'tips'>
  readonly #loaded = new Map<Oid, Ancestry>()
  readonly #learnt = new Set<Oid>()
  /** Whether what is loaded is what no known log held. */
  #isNew = true
  #loads = 0
  #misses = 0

  constructor(repo: Repo, known: Pick<KnownLogs, 'tips'>) {
    this.#repo = repo
    this.#known = known
  }

  known(oid: Oid): Ancestry | undefined {
    return this.#loaded.get(oid)
  }

  /** Whether git has said that no known log holds it, and `learn` nothing else since. */
  isNew(oid: Oid): boolean {
    return this.#isNew && this.#loaded.has(oid) && !this.#learnt.has(oid)
  }

  /** These entries are known from now on. */
  learn(entries: readonly LogEntry[]): void {
    for (const { oid } of entries) this.#learnt.add(oid)
  }

  /** For the walks from `heads`, which would read them one by one. */
  async prepare(heads: readonly Oid[]): Promise<void> {
    if (heads.length >= walkAtMost) await this.#load(heads)
  }

  /** `beside`: what else the walk has before it. */
  async read(oid: Oid, beside: readonly Ancestry[]): Promise<Ancestry> {
    const loaded = this.#loaded.get(oid)
    if (loaded) return loaded
    if (!this.#repo.pending?.has(oid) && ++this.#misses >= walkAtMost * 2 ** this.#loads) {
      this.#misses = 0
      await this.#load([oid, ...beside.map((one) => one.oid)])
    }
    return this.#loaded.get(oid) ?? this.#readOne(oid)
  }

  async #readOne(oid: Oid): Promise<Ancestry> {
    const { parents, committer } = await readCommit(this.#repo, oid)
    return { oid, parents, timestamp: committer.timestamp }
  }

  /** First what no known log holds; where that is not enough, everything. */
  async #load(from: readonly Oid[]): Promise<void> {
    this.#isNew = this.#loads++ === 0
    const known = this.#isNew ? await this.#known.tips() : []
    const stored = from.filter((oid) => !this.#repo.pending?.has(oid))
    const input = Buffer.from([...stored, ...known.map((oid) => `^${oid}`)].map((line) => `${line}\n`).join(''))
    const args = ['rev-list', '--parents', '--timestamp', '--ignore-missing', '--stdin']
    const output = (await runGitOrThrow({ dir: this.#repo.dir }, args, { input })).toString('latin1')
    let lines = 0
    for (let at = 0, end = output.indexOf('\n'); end >= 0; at = end + 1, end = output.indexOf('\n', at)) {
      const [timestamp = '', oid = '', ...parents] = output.slice(at, end).split(' ')
      this.#loaded.set(oid, { oid, parents, timestamp: Number(timestamp) })
      if (++lines % turn === 0) await nextTurn()
    }
  }
}
