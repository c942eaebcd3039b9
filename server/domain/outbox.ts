/**
 * Sends the rows of an outbox: mails, and deliveries of webhooks. Each row is claimed in the database first, so several
 * processes may send. A process that dies after a receiver has accepted a row leaves a claim. Another process then sends
 * the row again, under the same id.
 */
import { setMaxListeners } from 'node:events'
import { type ClaimDatabase, type ClaimedTable, endClaimsOf, listClaimers } from '../../index/claims.ts'
import { type Pauses, untilDraining } from '../base/rounds.ts'
import { isLiveProcess } from './live-processes.ts'
import type { Services } from './services.ts'

/** Milliseconds after which a claim of a live process ends. An attempt takes less. */
export const claimMs = 60_000
/** Milliseconds between two searches for dead processes. */
const deadMs = 1_000
/** A turn is followed by a pause this many times as long. */
const restFactor = 4
/** Milliseconds for which an outcome waits for others, so that one transaction records them. */
const gatherMs = 5
/** Milliseconds that running attempts have to end when the service stops. */
const graceMs = 3_000

/** An attempt that has ended. Outcome undefined: nothing was tried, so the row is given back. */
export interface Ended<Row, Outcome> {
  readonly row: Row
  readonly outcome: Outcome | undefined
}

export interface Outbox<Row extends { readonly id: string }, Outcome> {
  /** Names the work. */
  readonly name: string
  /** Milliseconds between two turns, and after a failure of the database. */
  readonly everyMs: number
  readonly failedMs: number
  /** A sentence for the log. */
  readonly failed: string
  readonly database: ClaimDatabase
  readonly table: ClaimedTable
  /** Claims of this data folder begin with it. The id of a process follows. */
  readonly folder: string
  /** Claims rows that are due, while others are being sent. */
  claim(sending: readonly Row[]): Promise<readonly Row[]>
  /** Sends a row once. Never throws because of the receiver. */
  send(row: Row, signal: AbortSignal): Promise<Outcome | undefined>
  /** Records outcomes in one transaction, which also ends the claims. */
  record(ended: readonly Ended<Row, Outcome>[]): Promise<void>
}

/** Sends rows until `deps.draining`. Then running attempts end, or their claims do. */
export async function sendOutbox<Row extends { readonly id: string }, Outcome>(
  deps: Services,
  outbox: Outbox<Row, Outcome>,
): Promise<void> {
  const { name, everyMs, failedMs, failed } = outbox
  const sender = new Sender(deps, outbox)
  await untilDraining(deps, {
    ...{ name, failedMs, everyMs: (tookMs) => Math.max(everyMs, restFactor * tookMs) },
    work: (pauses) => sender.turn(pauses),
    failed: (error) => deps.log.warn({ err: error }, failed),
  })
  await sender.end()
}

interface Attempt<Row, Outcome> {
  readonly row: Row
  /** When the claim ends, by the clock of this process. */
  readonly untilMs: number
  readonly done: Promise<void>
  ended?: Ended<Row, Outcome>
}

class Sender<Row extends { readonly id: string }, Outcome> {
  readonly #deps: Services
  readonly #outbox: Outbox<Row, Outcome>
  /** The attempts that run, or whose outcomes are not recorded. */
  readonly #attempts = new Set<Attempt<Row, Outcome>>()
  readonly #stopping = new AbortController()
  #gathering: NodeJS.Timeout | undefined
  #deadAt = 0
  /** Nothing is claimed before. */
  #claimAt = 0

  constructor(deps: Services, outbox: Outbox<Row, Outcome>) {
    this.#deps = deps
    this.#outbox = outbox
    // Each attempt listens a few times.
    setMaxListeners(0, this.#stopping.signal)
  }

  /** Records what has ended, and begins to send. Returns true if nothing was due, and no attempt runs. */
  async turn(pauses: Pauses): Promise<boolean> {
    await this.#record()
    if (!this.#deps.placement.lease.isHeld()) return true
    const now = performance.now()
    if (now >= this.#deadAt) {
      this.#deadAt = now + deadMs
      await this.#releaseDead()
    }
    if (now >= this.#claimAt) {
      const sending = [...this.#attempts].map(({ row }) => row)
      for (const row of await this.#outbox.claim(sending)) this.#begin(row, pauses)
    }
    return this.#attempts.size === 0
  }

  /** Ends the claims of processes of this folder that no longer run. */
  async #releaseDead(): Promise<void> {
    const { database, table, folder } = this.#outbox
    const { run, process: own } = this.#deps.store
    for (const by of await listClaimers(database, table)) {
      const process = by.startsWith(folder) ? by.slice(folder.length) : own
      if (process !== own && !isLiveProcess(run, process)) await endClaimsOf(database, table, by)
    }
  }

  #begin(row: Row, pauses: Pauses): void {
    const { name } = this.#outbox
    const done = this.#outbox.send(row, this.#stopping.signal).then(
      (outcome) => {
        attempt.ended = { row, outcome }
        this.#wakeSoon(pauses)
      },
      (error: unknown) => {
        this.#deps.log.error({ err: error, id: row.id }, `${name}: an attempt failed, so its claim will end`)
        this.#attempts.delete(attempt)
      },
    )
    const attempt: Attempt<Row, Outcome> = { row, untilMs: performance.now() + claimMs, done }
    this.#attempts.add(attempt)
  }

  #ended(): Attempt<Row, Outcome>[] {
    return [...this.#attempts].filter(({ ended }) => ended !== undefined)
  }

  /** Begins the next turn when all attempts have ended, or soon after the first one. */
  #wakeSoon(pauses: Pauses): void {
    const wake = () => {
      clearTimeout(this.#gathering)
      this.#gathering = undefined
      pauses.wake()
    }
    if (this.#ended().length === this.#attempts.size) wake()
    else this.#gathering ??= setTimeout(wake, gatherMs).unref()
  }

  /** Records what has ended. If that fails, the next turn tries again, until the claims end. */
  async #record(): Promise<void> {
    const attempts = this.#ended()
    if (attempts.length === 0) return
    const ended = attempts.flatMap((attempt) => attempt.ended ?? [])
    try {
      await this.#outbox.record(ended)
    } catch (error) {
      const now = performance.now()
      for (const attempt of attempts) if (attempt.untilMs <= now) this.#attempts.delete(attempt)
      throw error
    }
    for (const attempt of attempts) this.#attempts.delete(attempt)
    // A row that was given back is not claimed again at once.
    if (ended.some(({ outcome }) => outcome === undefined)) this.#claimAt = performance.now() + this.#outbox.everyMs
  }

  /** Lets attempts end for a while, and gives the others back. */
  async end(): Promise<void> {
    const running = () => [...this.#attempts].map(({ done }) => done)
    const grace = setTimeout(() => this.#stopping.abort(), graceMs)
    try {
      for (; this.#attempts.size > 0; await this.#record()) await Promise.race(running())
    } catch (error) {
      this.#deps.log.error({ err: error }, this.#outbox.failed)
      await Promise.all(running())
    } finally {
      clearTimeout(grace)
    }
  }
}
