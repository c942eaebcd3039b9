/** Walks the commits above the known logs, in the order of `git log`. Also reads their parents and dates. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { runGitOrThrow } from '../native.ts'
import { readCommit } from '../objects/commits.ts'
import type { Oid, Repo } from '../repo.ts'
import type { KnownLogs, LogEntry, LogPart } from './known-logs.ts'

/** Commits between two turns of the event loop. */
const commitsPerTurn = 5_000

interface Shown {
  readonly oid: Oid
  /** True if Git's queue held nothing else. */
  readonly alone: boolean
  /** The first place of its parents among the shown commits. Usually this is the commit's own place. */
  readonly earliest: number
}

/**
 * Walks as Git does from `head` down to the first known log. The queue is ordered by committer date, newest first;
 * equal dates stay in the order of arrival. Source: get_revision_1 (revision.c), commit_list_insert_by_date (commit.c).
 * Several walks over the same known logs may share `reader`.
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
      // After a merge, with wrong clocks, the log below may repeat commits that are already shown.
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

/** Marks the cuts. At a cut, Git's queue held nothing else, and no later entry has a parent before it. */
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

/**
 * Commits that are read one by one before Git is asked for the rest. One read takes 0.1 ms loose and 1 ms packed. Git
 * takes 5 ms, then 10 µs each.
 */
const maxSingleReads = 50

/** Parents and date of a commit. */
interface Ancestry {
  readonly oid: Oid
  readonly parents: readonly Oid[]
  /** Seconds since 1970, of the committer. */
  readonly timestamp: number
}

/** Reads parents and dates of commits: a few one by one, more with one `git rev-list`. */
export class AncestryReader {
  readonly #repo: Repo
  readonly #known: Pick<KnownLogs, 'tips'>
  readonly #loaded = new Map<Oid, Ancestry>()
  readonly #learnt = new Set<Oid>()
  /** True if all loaded commits are ones that no known log held. */
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

  /** True if no known log held the commit when it was loaded. False after `addKnown` has named it. */
  isNew(oid: Oid): boolean {
    return this.#isNew && this.#loaded.has(oid) && !this.#learnt.has(oid)
  }

  /** Marks these entries as known. */
  addKnown(entries: readonly LogEntry[]): void {
    for (const { oid } of entries) this.#learnt.add(oid)
  }

  /** Loads the commits that walks from many `heads` would read one by one. */
  async prepare(heads: readonly Oid[]): Promise<void> {
    if (heads.length >= maxSingleReads) await this.#load(heads)
  }

  /** Reads a commit. `beside` has the other commits in the walk's queue. */
  async read(oid: Oid, beside: readonly Ancestry[]): Promise<Ancestry> {
    const loaded = this.#loaded.get(oid)
    if (loaded) return loaded
    if (!this.#repo.pending?.has(oid) && ++this.#misses >= maxSingleReads * 2 ** this.#loads) {
      this.#misses = 0
      await this.#load([oid, ...beside.map((one) => one.oid)])
    }
    return this.#loaded.get(oid) ?? this.#readOne(oid)
  }

  async #readOne(oid: Oid): Promise<Ancestry> {
    const { parents, committer } = await readCommit(this.#repo, oid)
    return { oid, parents, timestamp: committer.timestamp }
  }

  /** Loads the commits that no known log holds. Later calls load everything. */
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
      if (++lines % commitsPerTurn === 0) await nextTurn()
    }
  }
}
