/**
 * The lease of a cell. Only one of the data folders and machines with its name writes.
 *
 * The disk is the fence. The lease guards against mistakes. Processes on one data folder share it, because file locks
 * already separate them.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ignoreMissing } from '../../../gitstore/fs-exists.ts'
import { endLease, findCell, insertCell, renewLease, takeLease } from '../../../index/credentials/cells.ts'
import type { CredentialsSchema } from '../../../index/credentials/schema.ts'
import type { Database } from '../../../index/sqlite/database.ts'
import { AppError } from '../../base/errors.ts'
import { listLiveProcesses } from '../live-processes.ts'
import type { Lease } from '../placement.ts'

/** Milliseconds. */
const leaseMs = 10_000
const renewEveryMs = 3_000
/** Between two checks of a start that waits for another's lease. */
const lookEveryMs = 500

/** The file in `run/<process>/` that holds the epoch of its lease. */
const leaseFile = 'lease'

export interface CellLease extends Lease {
  /** Returns the milliseconds that are left of the lease. 0: it has ended. */
  leftMs(): number
  /** Stops renewing. Ends the lease if no other process shares it, so that the next one need not wait. */
  close(): Promise<void>
}

/** A service cannot get the lease of its cell, and does not start. */
export class LeaseError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'LeaseError'
  }
}

interface LeaseOptions {
  readonly name: string
  readonly url: string
  readonly credentials: Database<CredentialsSchema>
  /** `<data folder>/run`. */
  readonly run: string
  /** This process's folder below it. */
  readonly process: string
  /** Releases the lock of that folder. */
  leave(): void
  readonly log: Logger
  readonly draining: AbortSignal
  /** True: without a lease this throws. False: the process only reads. */
  readonly isNeeded: boolean
}

/**
 * Takes the lease when another's has ended, or shares the one of this data folder. Renews it until `close`.
 *
 * @throws LeaseError if another service renews it, or this one is about to stop
 * @throws DatabaseError
 */
export async function openLease(options: LeaseOptions): Promise<CellLease> {
  const { credentials, name, url } = options
  await credentials.write((trx) => insertCell(trx, { name, url }))
  return newLease(options, await obtain(options))
}

/** A lease, and the moment before it was requested. */
interface Obtained {
  readonly epoch: number
  readonly since: Moment
}

async function obtain(options: LeaseOptions): Promise<Obtained | undefined> {
  const { credentials, name, url, draining, isNeeded } = options
  let first: { readonly epoch: number; readonly until: number } | undefined
  for (;;) {
    const since = now()
    const beside = await epochBeside(options)
    const shares =
      beside !== undefined && (await credentials.write((trx) => renewLease(trx, { name, epoch: beside }, leaseMs)))
    const epoch = shares ? beside : await credentials.write((trx) => takeLease(trx, { name, url }, leaseMs))
    if (epoch !== undefined) {
      await writeFile(join(options.run, options.process, leaseFile), `${epoch}\n`)
      return { epoch, since }
    }
    if (!isNeeded) return undefined
    const found = await findCell(credentials.read, name)
    if (draining.aborted) throw new LeaseError('The service is about to stop')
    if (found !== undefined) {
      first ??= found
      if (found.epoch !== first.epoch || found.until > first.until) throw heldByAnother(name, found.url)
    }
    const wait = Math.min(Math.max(found?.left ?? 0, 0) + 1, lookEveryMs)
    await sleep(wait, undefined, { signal: draining }).catch(() => {})
  }
}

function heldByAnother(name: string, url: string): LeaseError {
  return new LeaseError(
    `The cell ${name} is served at ${url} from another data folder or machine. Stop that service, or give this folder another CELL`,
  )
}

/**
 * Returns the lease of another live process of this data folder. A copy of the folder has the file but no live process.
 */
async function epochBeside({ run, process }: LeaseOptions): Promise<number | undefined> {
  for (const id of await listLiveProcesses(run, process)) {
    const text = await ignoreMissing(readFile(join(run, id, leaseFile), 'utf8'))
    if (text !== undefined && /^\d+\n$/.test(text)) return Number(text)
  }
  return undefined
}

/** A moment by two clocks. A suspended machine stops the monotonic one, and the wall clock may be set back. */
interface Moment {
  readonly wall: number
  readonly monotonic: number
}

function now(): Moment {
  return { wall: Date.now(), monotonic: performance.now() }
}

/** Returns the milliseconds since then, by the clock that counts more. */
function elapsed({ wall, monotonic }: Moment): number {
  const at = now()
  return Math.max(at.wall - wall, at.monotonic - monotonic)
}

function newLease(
  { name, credentials, run, process, leave, log }: LeaseOptions,
  obtained: Obtained | undefined,
): CellLease {
  let renewed = obtained?.since
  let lost: Lost | undefined = obtained === undefined ? 'never had' : undefined
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const leftMs = () => (lost !== undefined || renewed === undefined ? 0 : Math.max(0, leaseMs - elapsed(renewed)))
  const isHeld = () => leftMs() > 0

  const renew = async (epoch: number) => {
    const asked = now()
    const wasHeld = isHeld()
    try {
      if (await credentials.write((trx) => renewLease(trx, { name, epoch }, leaseMs))) {
        renewed = asked
        if (!wasHeld && isHeld()) log.warn({ cell: name, epoch }, 'the cell has its lease again and can write')
        return
      }
      lost = 'taken'
      clearInterval(timer)
      log.error(
        { cell: name, epoch },
        'another data folder or machine has taken the lease of this cell, which is read-only now',
      )
    } catch (error) {
      log.error({ err: error, cell: name, epoch }, 'the lease of this cell could not be renewed; it is retried')
    }
  }

  if (obtained !== undefined) {
    const { epoch } = obtained
    timer = setInterval(() => {
      running ??= renew(epoch).finally(() => {
        running = undefined
      })
    }, renewEveryMs).unref()
  }

  return {
    isHeld,
    leftMs,
    before: () => {
      if (!isHeld()) throw new AppError('storage_readonly', sentences[lost ?? 'unanswered'])
    },
    after: () => {
      if (isHeld()) return
      throw new AppError(
        'outcome_unknown',
        'The lease of this cell ended during the change, which may be lost; read again before you repeat it',
      )
    },
    close: async () => {
      clearInterval(timer)
      await running
      leave()
      if (obtained === undefined || lost !== undefined || (await listLiveProcesses(run, process)).length > 0) return
      const { epoch } = obtained
      await credentials.write((trx) => endLease(trx, { name, epoch })).catch(() => {})
    },
  }
}

/** The reason why a process is read-only until it is restarted. */
type Lost = 'never had' | 'taken'

const sentences = {
  'never had': `Another data folder or machine has the lease of this cell, or a process was killed in the last ${leaseMs / 1000} s. Nothing was changed; try again in ${leaseMs / 1000} s`,
  taken: 'Another service has taken over this cell; this one is read-only until it is restarted',
  unanswered: 'The database of accounts does not respond; this cell is read-only until it does',
} as const
