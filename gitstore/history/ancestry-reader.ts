/** Reads parents and dates of commits: a few one by one, more of them by one `git rev-list`. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { runGitOrThrow } from '../native.ts'
import { readCommit } from '../objects/commits.ts'
import type { Oid, Repo } from '../repo.ts'
import type { KnownLogs, LogEntry } from './known-logs.ts'

/** Commits read one by one (0.1 ms loose, 1 ms packed) before git is asked for the rest (5 ms, then 10 µs each). */
const maxSingleReads = 50

/** Parents and date of a commit. */
export interface Ancestry {
  readonly oid: Oid
  readonly parents: readonly Oid[]
  /** Seconds since 1970, of the committer. */
  readonly timestamp: number
}

export class AncestryReader {
  readonly #repo: Repo
  readonly #known: Pick<KnownLogs, 'tips'>
  readonly #loaded = new Map<Oid, Ancestry>()
  readonly #learnt = new Set<Oid>()
  /** Whether only commits that no known log held are loaded. */
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

  /** Whether no known log held the commit when it was loaded, and `addKnown` has not named it since. */
  isNew(oid: Oid): boolean {
    return this.#isNew && this.#loaded.has(oid) && !this.#learnt.has(oid)
  }

  /** These entries are known from now on. */
  addKnown(entries: readonly LogEntry[]): void {
    for (const { oid } of entries) this.#learnt.add(oid)
  }

  /** Loads at once what walks from many `heads` would read one by one. */
  async prepare(heads: readonly Oid[]): Promise<void> {
    if (heads.length >= maxSingleReads) await this.#load(heads)
  }

  /** `beside`: the other commits in the walk's queue. */
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

  /** Loads first the commits that no known log holds; at the next call, everything. */
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

/** Commits between two turns of the event loop. */
export const commitsPerTurn = 5_000
