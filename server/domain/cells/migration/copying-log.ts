/**
 * Copies the log of an organisation to another cell in rounds.
 *
 * The log is its events, and the refs that they describe. The rows of a table are compared in ranges, and a range whose
 * digest differs is sent.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { findLog } from '../../../../index/log/events.ts'
import {
  countMovedRows,
  digestOfRows,
  keyOf,
  listRange,
  type MovedRow,
  movedTableNames,
  type RowKey,
  type RowRange,
} from '../../../../index/log/moved-tables.ts'
import { markLogWhole, sealLog } from '../../../../index/log/sealed-logs.ts'
import { syncEvents } from '../../event-log/durable-events.ts'
import { recordGaps } from '../../indexing/record-gaps.ts'
import { listNodes } from '../../indexing/stored-repositories.ts'
import type { Services } from '../../services.ts'
import { type CopyOptions, type Destination, type MovedLog, NotMovedError } from './copying.ts'

/** Rows of a range that is cut. A longer range is cut once it has twice as many. */
const rowsAtOnce = 500
/** Most rounds before the organisation is closed. */
const maxRounds = 10
/** A round that sends fewer ranges is the last before the organisation is closed. */
const fewRanges = 4

/** Copies one log. Its methods throw NotMovedError, DatabaseError or the signal's reason. */
export class LogCopier {
  readonly #deps: Services
  readonly #orgId: string
  readonly #to: Destination
  readonly #signal: AbortSignal
  /** The digests at the other cell, by range. */
  readonly #there = new Map<string, string>()
  /** The last keys of the ranges of each table, in their order. */
  readonly #ends = new Map<string, readonly RowKey[]>()

  constructor(deps: Services, orgId: string, to: Destination, { signal }: Pick<CopyOptions, 'signal'>) {
    this.#deps = deps
    this.#orgId = orgId
    this.#to = to
    this.#signal = signal
  }

  /** Copies while the organisation is in use, until a round finds few changes. First records what is missing. */
  async inUse(): Promise<void> {
    if (!(await recordAll(this.#deps, this.#orgId))) {
      this.#signal.throwIfAborted()
      throw new NotMovedError('One of its repositories cannot be read. Run grove doctor, and repeat the move')
    }
    await this.#putLog()
    for (let rounds = 0; rounds < maxRounds; rounds++) if ((await this.#round()) < fewRanges) return
  }

  /** Seals the log and copies the last changes. Then checks that the other cell has everything. */
  async last(): Promise<void> {
    const { events } = this.#deps
    await events.write((trx) => sealLog(trx, this.#orgId))
    // After a power cut, nothing may be appended to a log that another cell has.
    await syncEvents(this.#deps)
    const log = await this.#putLog()
    await this.#round()
    if ((await this.#round()) > 0) throw this.#differs()
    const counts = await countMovedRows(events.read, this.#orgId)
    const arrived = await this.#to.arrivedLog(this.#orgId)
    if (!isSame(log, arrived.log) || !isSame(counts, arrived.counts)) throw this.#differs()
  }

  async #putLog(): Promise<MovedLog> {
    const log = await findLog(this.#deps.events.read, this.#orgId)
    if (log === undefined) throw new NotMovedError('Its log of events is missing; try again in a minute')
    const { sealed: _, ...moved } = log
    await this.#to.putLog(this.#orgId, moved)
    return moved
  }

  /** Returns how many ranges were sent. */
  async #round(): Promise<number> {
    let sent = 0
    for (const table of movedTableNames) sent += await this.#sendTable(table)
    return sent
  }

  async #sendTable(table: string): Promise<number> {
    const found: RowKey[] = []
    let sent = 0
    let after: RowKey | null = null
    for (const end of [...(this.#ends.get(table) ?? []), null]) {
      for (let isCut = true; isCut; ) {
        this.#signal.throwIfAborted()
        const within: RowRange = { table, after, until: end }
        const rows = await listRange(this.#deps.events.read, this.#orgId, within, 2 * rowsAtOnce)
        isCut = rows.length === 2 * rowsAtOnce
        const some = isCut ? rows.slice(0, rowsAtOnce) : rows
        const last = some.at(-1)
        const until = isCut && last ? keyOf(table, last) : end
        sent += Number(await this.#sendRange({ table, after, until }, some))
        after = until
        if (after !== null) found.push(after)
        await nextTurn()
      }
    }
    this.#ends.set(table, found)
    return sent
  }

  /** Returns true if the rows differed. */
  async #sendRange(range: RowRange, rows: readonly MovedRow[]): Promise<boolean> {
    const name = JSON.stringify(range)
    const digest = digestOfRows(rows)
    const known = this.#there.get(name) ?? (await this.#to.digestOfRange(this.#orgId, range))
    const isSent = known !== digest
    // While the organisation is in use, rows may be sent before the row of their repository. They are sent again.
    this.#there.set(name, isSent ? await this.#to.putRange(this.#orgId, range, rows) : digest)
    return isSent
  }

  #differs(): NotMovedError {
    return new NotMovedError(`The events at the cell ${this.#to.name} differ from those sent to it; repeat the move`)
  }
}

/**
 * Records what is missing, so that the log describes every repository. The other cell would not know which are new.
 * Returns false if a repository cannot be read.
 */
async function recordAll(deps: Services, orgId: string): Promise<boolean> {
  const areAll = await recordGaps(deps, orgId, { isFirst: true, nodeIds: await listNodes(deps, orgId) })
  if (areAll) await deps.events.write((trx) => markLogWhole(trx, orgId))
  return areAll
}

function isSame(one: object, other: object | null): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other ?? {}))
}

function sorted(object: object): [string, unknown][] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
}
