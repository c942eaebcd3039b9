/** A database that can be made again: set aside where it is damaged and made anew, at the opening and while it is used. */

import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Migration, sql, type Transaction } from 'kysely'
import { identityOf, setAside } from './connection.ts'
import { type Database, DatabaseFault, openDatabase } from './database.ts'
import { withFileLock } from './file-lock.ts'

export interface DerivedDatabase<S> extends Database<S> {
  /** The same, but each use throws DatabaseFault busy as long as not everything is in it. */
  readonly whole: Database<S>
  /**
   * Puts everything in by `fill` where it is not in yet, now and whenever the file is made anew; of all processes one at a
   * time. Resolves once everything is in, `fill` has answered false, or `closing` is aborted.
   */
  keepWhole(fill: () => Promise<boolean>): Promise<void>
}

export interface DerivedOptions {
  /** Names of files, in a folder that is there, by which processes take turns. */
  readonly turns: string
  /** Aborted when it will be closed soon: nothing is made anew from then on. */
  readonly closing: AbortSignal
  /** Whether one that a newer version has made may be set aside: no process of that version uses it. */
  mayReplaceNewer(): boolean
  /** Told in a sentence what was done, for the log. */
  tell(done: string, error?: unknown): void
}

/** Milliseconds between two looks whether the file is still the one that is open; and before what failed is tried again. */
const interval = 1_000
/** Milliseconds that another process may take to open the file, which reads all of it, before waiting for it is given up. */
const openingTimeoutMs = 120_000
/** Milliseconds that those who still read a file which was replaced get to end. */
const patience = 30_000
/** SQLite's `user_version` of a database that has everything in it; one that was just made has 0. */
const filled = 1

interface Generation<S> extends Database<S> {
  readonly identity: bigint | undefined
  isWhole: boolean
  /** It was found damaged, and another must take its place. */
  isBroken: boolean
}

/** Opens the database in `file`; while it is open, one that turns out damaged, or was deleted or replaced, is opened anew. */
export async function openDerivedDatabase<S>(
  file: string,
  migrations: Record<string, Migration>,
  { turns, closing, mayReplaceNewer, tell }: DerivedOptions,
): Promise<DerivedDatabase<S>> {
  const name = basename(file)
  let fill: (() => Promise<boolean>) | undefined
  let filling: Promise<void> | undefined
  let renewing: Promise<void> | undefined
  let current = await open()

  /** Under a lock, that two who find the same damage do not set aside what the other has just made. */
  async function open(broken?: Generation<S>): Promise<Generation<S>> {
    const opened = await withFileLock(
      `${turns}-opening`,
      closing,
      async () => {
        if (broken && identityOf(file) === broken.identity) await discard('it was found damaged')
        try {
          return await openNow()
        } catch (error) {
          if (!(error instanceof DatabaseFault)) throw error
          const isReplaced = error.code === 'damaged' || (error.code === 'too_new' && mayReplaceNewer())
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
    tell(`${name} was set aside as ${name}.damaged: ${reason}`)
  }

  async function openNow(): Promise<Generation<S>> {
    // What belonged to a file that is gone would be taken for the new one's.
    if (identityOf(file) === undefined) await setAside(file)
    let opened: Generation<S> | undefined
    // Without `fill` nobody could make it again.
    const onDamage = () => void (opened && fill && renew(opened))
    const database = await openDatabase<S>(file, migrations, { synchronous: 'NORMAL', check: true, onDamage })
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
          told = ''
          setTimeout(() => void broken.close().catch(() => {}), patience).unref()
          if (fill) void keepWhole(fill)
        },
        (error: unknown) => complain('cannot be opened again yet', error),
      )
      .finally(() => {
        renewing = undefined
      })
    return renewing
  }

  let told = ''
  function complain(what: string, error: unknown): void {
    const message = `${name} ${what}`
    if (message !== told) tell(message, error)
    told = message
  }

  const watch = setInterval(() => {
    if (fill === undefined || renewing !== undefined) return
    const now = identityOf(file)
    if (current.isBroken) void renew(current)
    else if (now !== current.identity) {
      if (current.isWhole) tell(`${name} was ${now === undefined ? 'deleted' : 'replaced'}; it is opened anew`)
      void renew(current, false)
    }
  }, interval).unref()

  async function keepWhole(work: () => Promise<boolean>): Promise<void> {
    fill = work
    filling ??= fillUp(work).finally(() => {
      filling = undefined
    })
    await filling
  }

  async function fillUp(work: () => Promise<boolean>): Promise<void> {
    while (!closing.aborted && !current.isWhole) {
      const goesOn = await withFileLock(`${turns}-filling`, closing, async () => {
        const generation = current
        if (!(await isFilled(generation))) {
          if (!(await work())) return false
          if (generation === current) await generation.write((trx) => declareFilled(trx, true))
        }
        generation.isWhole = await isFilled(generation)
        return true
      }).catch(async (error: unknown) => {
        complain('could not be filled yet', error)
        await sleep(interval, undefined, { ref: false, signal: closing }).catch(() => {})
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

/** Whether everything is in it now, for whoever opens it from now on. */
export async function declareFilled<S>(trx: Transaction<S>, isFilled: boolean): Promise<void> {
  await sql.raw(`pragma user_version = ${isFilled ? filled : 0}`).execute(trx)
}

async function isFilled<S>({ read }: Pick<Database<S>, 'read'>): Promise<boolean> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(read)
  return rows[0]?.user_version === filled
}
