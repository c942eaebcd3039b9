/** A database that can be rebuilt: a damaged file is set aside and replaced by a new one, at the start and while in use. */

import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Migration, sql, type Transaction } from 'kysely'
import { type DatabaseObserver, identityOf, setAside } from './connection.ts'
import { type Database, DatabaseFault, openDatabase } from './database.ts'
import { withFileLock } from './file-lock.ts'

export interface DerivedDatabase<S> extends Database<S> {
  /** The same database; each use throws DatabaseFault busy until it is filled. */
  readonly whole: Database<S>
  isWhole(): boolean
  /**
   * Fills the database by `fill` where it is not filled, now and whenever the file is replaced; one process at a time.
   * Resolves when it is filled, `fill` has returned false, or `closing` is aborted.
   */
  keepWhole(fill: () => Promise<boolean>): Promise<void>
}

export interface DerivedOptions {
  /** Path and prefix of the lock files by which processes take turns; the folder must exist. */
  readonly lockPrefix: string
  /** Aborted before the database is closed: no file is replaced from then on. */
  readonly closing: AbortSignal
  readonly observer?: DatabaseObserver

  /** Whether a file of a newer version may be set aside: no process of that version lives. */
  mayReplaceNewer(): Promise<boolean>
  /** Called with a sentence for the log. */
  report(done: string, error?: unknown): void
}

/** Time between two checks whether the open file is still the one of that name, and before a retry. */
const checkIntervalMs = 1_000
/** The longest wait for another process that opens the file, for which it reads all of it. */
const openingTimeoutMs = 120_000
/** Time that readers of a replaced file have to end. */
const readersTimeoutMs = 30_000
/** SQLite's `user_version` of a filled database; a new one has 0. */
const filled = 1

interface Generation<S> extends Database<S> {
  readonly identity: bigint | undefined
  isWhole: boolean
  /** It was found damaged and must be replaced. */
  isBroken: boolean
}

/** Opens the database in `file`. Opens it again when the file proves damaged, or was deleted or replaced. */
export async function openDerivedDatabase<S>(
  file: string,
  migrations: Record<string, Migration>,
  { lockPrefix, closing, observer, mayReplaceNewer, report }: DerivedOptions,
): Promise<DerivedDatabase<S>> {
  const name = basename(file)
  let fill: (() => Promise<boolean>) | undefined
  let filling: Promise<void> | undefined
  let renewing: Promise<void> | undefined
  let current = await open()

  /** Under a lock, so that of two processes that find the same damage none sets aside the other's new file. */
  async function open(broken?: Generation<S>): Promise<Generation<S>> {
    const opened = await withFileLock(
      `${lockPrefix}-opening`,
      closing,
      async () => {
        if (broken && identityOf(file) === broken.identity) await discard('it was found damaged')
        try {
          return await openNow()
        } catch (error) {
          if (!(error instanceof DatabaseFault)) throw error
          const isReplaced = error.code === 'damaged' || (error.code === 'too_new' && (await mayReplaceNewer()))
          if (!isReplaced) throw error
          await discard(error.cause instanceof Error ? error.cause.message : error.message)
          return await openNow()
        }
      },
      openingTimeoutMs,
    )
    if (!opened) throw new DatabaseFault('busy', 'The service is about to stop')
    return opened
  }

  async function discard(reason: string): Promise<void> {
    await setAside(file)
    report(`${name} was set aside as ${name}.damaged: ${reason}`)
  }

  async function openNow(): Promise<Generation<S>> {
    // SQLite would apply the log of a deleted file to the new one.
    if (identityOf(file) === undefined) await setAside(file)
    let opened: Generation<S> | undefined
    // Without `fill` the database could not be filled again.
    const onDamage = () => void (opened && fill && renew(opened))
    const options = { synchronous: 'NORMAL', check: true, onDamage, observer } as const
    const database = await openDatabase<S>(file, migrations, options)
    const isWhole = await isFilled(database)
    opened = { ...database, identity: identityOf(file), isWhole, isBroken: false }
    return opened
  }

  function renew(broken: Generation<S>, isDamaged = true): Promise<void> {
    if (closing.aborted || broken !== current) return Promise.resolve()
    broken.isWhole = false
    broken.isBroken ||= isDamaged
    renewing ??= open(broken.isBroken ? broken : undefined)
      .then(
        (opened) => {
          current = opened
          lastReport = ''
          setTimeout(() => void broken.close().catch(() => {}), readersTimeoutMs).unref()
          if (fill) void keepWhole(fill)
        },
        (error: unknown) => reportOnce('cannot be opened again yet', error),
      )
      .finally(() => {
        renewing = undefined
      })
    return renewing
  }

  let lastReport = ''
  function reportOnce(what: string, error: unknown): void {
    const message = `${name} ${what}`
    if (message !== lastReport) report(message, error)
    lastReport = message
  }

  const watch = setInterval(() => {
    if (fill === undefined || renewing !== undefined) return
    const now = identityOf(file)
    if (current.isBroken) void renew(current)
    else if (now !== current.identity) {
      if (current.isWhole) report(`${name} was ${now === undefined ? 'deleted' : 'replaced'}; it is opened anew`)
      void renew(current, false)
    }
  }, checkIntervalMs).unref()

  async function keepWhole(work: () => Promise<boolean>): Promise<void> {
    fill = work
    filling ??= fillUp(work).finally(() => {
      filling = undefined
    })
    await filling
  }

  async function fillUp(work: () => Promise<boolean>): Promise<void> {
    while (!closing.aborted && !current.isWhole) {
      const goesOn = await withFileLock(`${lockPrefix}-filling`, closing, async () => {
        const generation = current
        if (!(await isFilled(generation))) {
          if (!(await work())) return false
          if (generation === current) await generation.write((trx) => declareFilled(trx, true))
        }
        generation.isWhole = await isFilled(generation)
        return true
      }).catch(async (error: unknown) => {
        reportOnce('could not be filled yet', error)
        await sleep(checkIntervalMs, undefined, { ref: false, signal: closing }).catch(() => {})
        return true
      })
      if (!goesOn) return
    }
  }

  const requireWhole = (): Generation<S> => {
    if (!current.isWhole) throw new DatabaseFault('busy', `${name} is being made again; try again`)
    return current
  }
  return {
    get read() {
      return current.read
    },
    write: (work) => current.write(work),
    whole: {
      get read() {
        return requireWhole().read
      },
      write: async (work) => requireWhole().write(work),
      close: () => close(),
    },
    isWhole: () => current.isWhole,
    keepWhole,
    close,
  }

  async function close(): Promise<void> {
    clearInterval(watch)
    await renewing
    await filling
    await current.close()
  }
}

/** Declares in the file whether the database is filled. */
export async function declareFilled<S>(trx: Transaction<S>, isFilled: boolean): Promise<void> {
  await sql.raw(`pragma user_version = ${isFilled ? filled : 0}`).execute(trx)
}

async function isFilled<S>({ read }: Pick<Database<S>, 'read'>): Promise<boolean> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(read)
  return rows[0]?.user_version === filled
}
