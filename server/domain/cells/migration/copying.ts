/** Copies the repositories of an organisation to another cell in rounds. Each sends the differences. */
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import pLimit from 'p-limit'
import { allDone } from '../../../../gitstore/durable.ts'
import { isGitError } from '../../../../gitstore/errors.ts'
import { exists } from '../../../../gitstore/fs-exists.ts'
import { listRefs } from '../../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../../gitstore/repo.ts'
import { refsDigest, sendMissing } from '../../../../gitstore/transfer/pack-transfer.ts'
import type { Log } from '../../../../index/log/events.ts'
import type { MovedRow, RowRange } from '../../../../index/log/moved-tables.ts'
import { orgFolder, trashFolder } from '../../layout.ts'
import type { Services } from '../../services.ts'
import { listMovable, movableAt } from './movable.ts'

/** The cell to which an organisation moves. Each method throws AppError or the fault of the connection. */
export interface Destination {
  readonly name: string
  /** Returns the digest of the refs of each repository that has arrived, by its path. */
  arrived(orgId: string): Promise<ReadonlyMap<string, string>>
  refs(orgId: string, path: string): Promise<ReadonlyMap<string, Oid>>
  sendPack(orgId: string, path: string, pack: Readable): Promise<void>
  /** Returns the digest of the refs that are then there. */
  setRefs(orgId: string, path: string, refs: ReadonlyMap<string, Oid>): Promise<string>
  drop(orgId: string, path: string): Promise<void>
  /** Begins to take the log, or continues with one of the same id. Writes its row. */
  putLog(orgId: string, log: MovedLog): Promise<void>
  /** Returns the digest of the rows of a range that have arrived. */
  digestOfRange(orgId: string, range: RowRange): Promise<string>
  /** Replaces the rows of a range. Returns the digest of the rows that are then there. */
  putRange(orgId: string, range: RowRange, rows: readonly MovedRow[]): Promise<string>
  /** Makes what has arrived of the log durable, and returns it. */
  arrivedLog(orgId: string): Promise<ArrivedLog>
  /** Indexes nodes after `beyond`. Returns the last one for the next call, or undefined if all are indexed. */
  prepare(orgId: string, beyond: string): Promise<string | undefined>
  arrive(orgId: string): Promise<void>
}

/** The row of a log that moves. */
export type MovedLog = Omit<Log, 'sealed'>

export interface ArrivedLog {
  /** Null: none has arrived. */
  readonly log: MovedLog | null
  /** Rows of each table. */
  readonly counts: Readonly<Record<string, number>>
}

export interface CopyOptions {
  /** Repositories copied at a time. */
  readonly atOnce: number
  readonly signal: AbortSignal
  /** Called with numbers of repositories, in the first round. */
  onProgress(done: number, total: number): void
}

/** The organisation stays where it is, unchanged. */
export class NotMovedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'NotMovedError'
  }
}

/**
 * The directory of cells does not answer, so the result of the move is unknown.
 *
 * The organisation takes changes again when the directory answers.
 */
export class LeftClosedError extends Error {
  constructor(cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(
      `It takes no changes until the database of the cells answers; the service of this cell then undoes the move or finishes it. ${reason}`,
      { cause },
    )
    this.name = 'LeftClosedError'
  }
}

/** Most rounds of copying before the organisation is closed. */
const maxRounds = 10
/** A round that finds fewer changed repositories is the last before the organisation is closed. */
const fewRepositories = 20
export interface Copier {
  /** Returns the number of repositories in the last round. */
  repositories(): number
  /** Copies while the organisation is in use, until a round finds few changes. */
  inUse(): Promise<void>
  /** Copies the last changes. Then checks that nothing changes any more and that the other cell has everything. */
  last(): Promise<void>
}

/** Creates a copier. Its methods throw NotMovedError, GitError or the signal's reason. */
export function createCopier(
  { store }: Pick<Services, 'store'>,
  orgId: string,
  to: Destination,
  { atOnce, signal, onProgress }: CopyOptions,
): Copier {
  const folder = orgFolder(store, orgId)
  const trash = join(trashFolder(store), orgId)
  const repoOf = (path: string): Repo => ({ dir: movableAt(folder, trash, path) })
  let there = new Map<string, string>()
  let count = 0

  async function send(path: string): Promise<void> {
    const refs = listRefs(repoOf(path), 'refs/', 'afresh')
    const known = there.has(path) ? await to.refs(orgId, path) : new Map<string, Oid>()
    await sendMissing(repoOf(path), refs, known, (pack) => to.sendPack(orgId, path, pack), signal)
    there.set(path, await to.setRefs(orgId, path, refs))
  }

  /** Returns how many repositories differed. */
  async function round(progress: CopyOptions['onProgress']): Promise<number> {
    const here = await listMovable(folder, trash)
    count = here.length
    const turn = pLimit(atOnce)
    let [done, changed] = [0, 0]
    const compare = async (path: string) => {
      signal.throwIfAborted()
      try {
        if (there.get(path) !== refsDigest(listRefs(repoOf(path), 'refs/', 'afresh'))) {
          changed++
          await send(path)
        }
      } catch (error) {
        // It was deleted since the list. The next round drops it.
        if (!isGitError(error, 'repo_missing') && exists(repoOf(path).dir)) throw error
        changed++
      }
      progress(++done, here.length)
    }
    await allDone(here.map((path) => turn(() => compare(path))))
    for (const path of [...there.keys()].filter((one) => !here.includes(one))) {
      changed++
      await to.drop(orgId, path)
      there.delete(path)
    }
    return changed
  }

  return {
    repositories: () => count,
    inUse: async () => {
      there = new Map(await to.arrived(orgId))
      for (let rounds = 0; rounds < maxRounds; rounds++) {
        const changed = await round(rounds === 0 ? onProgress : () => {})
        if (changed < fewRepositories) return
      }
    },
    last: async () => {
      await round(() => {})
      if ((await round(() => {})) > 0) throw new NotMovedError('A program other than the service is still changing it')
      const arrived = await to.arrived(orgId)
      if (arrived.size !== there.size || [...there].some(([path, digest]) => arrived.get(path) !== digest))
        throw new NotMovedError(`The repositories at the cell ${to.name} differ from those sent to it`)
    },
  }
}
