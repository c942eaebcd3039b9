/** A database that can be rebuilt. Sets a damaged file aside and creates a new one, at the start and while in use. */

import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Migration, sql, type Transaction } from 'kysely'
import { type DatabaseObserver, identityOf, setAside } from './connection.ts'
import { type Database, DatabaseError, openDatabase } from './database.ts'
import { withFileLock } from './file-lock.ts'

export interface DerivedDatabase<S> extends Database<S> {
  /** The same database, but each use throws DatabaseError busy until it is filled. */
  readonly whole: Database<S>
  isWhole(): boolean
  /**
   * Fills the database with `fill`, now and whenever the file is replaced. Does nothing while it is filled. One process
   * fills it at a time. Resolves when the database is filled, `fill` returns false, or `closing` is aborted.
   */
  keepWhole(fill: () => Promise<boolean>): Promise<void>
}

export interface DerivedOptions {
  /** Path and prefix of the lock files with which processes take turns. The folder must exist. */
  readonly lockPrefix: string
  /** Aborted before the database is closed. No file is replaced after that. */
  readonly closing: AbortSignal
  readonly observer?: DatabaseObserver

  /** Resolves to true if a newer version's file may be set aside. No process of that version is running then. */
  mayReplaceNewer(): Promise<boolean>
  /** Called with a sentence for the log. */
  report(done: string, error?: unknown): void
}

/** Interval of checks that the open file still has its name. Also the pause before a retry. */
const checkIntervalMs = 1_000
/** The longest wait for another process to open the file. That process reads all of it. */
const openingTimeoutMs = 120_000
/** Time for readers of a replaced file to finish. */
const readersTimeoutMs = 30_000
/** SQLite's `user_version` of a filled database; a new one has 0. */
const filled = 1

/** One open file. If it is replaced, a new generation follows. */
interface Generation<S> extends Database<S> {
  readonly identity: bigint | undefined
  isWhole: boolean
  /** True if the file was found damaged and must be replaced. */
  isBroken: boolean
}

/** Options for opening the file, the same each time. */
interface Opening<S>
  extends Pick<DerivedOptions, 'lockPrefix' | 'closing' | 'observer' | 'mayReplaceNewer' | 'report'> {
  readonly file: string
  readonly migrations: Record<string, Migration>
  readonly onDamage: (broken: Generation<S>) => void
}

/** Opens the database in `file`. Reopens it if the file is damaged, deleted or replaced. */
export async function openDerivedDatabase<S>(
  file: string,
  migrations: Record<string, Migration>,
  options: DerivedOptions,
): Promise<DerivedDatabase<S>> {
  let database: RebuildableDatabase<S> | undefined
  const onDamage = (broken: Generation<S>) => database?.replaceDamaged(broken)
  const opening: Opening<S> = { ...options, file, migrations, onDamage }
  database = new RebuildableDatabase(opening, await openLocked(opening))
  return database
}

/** Opens the file under a lock. Two processes that find the same damage must not set aside each other's new file. */
async function openLocked<S>(opening: Opening<S>, broken?: Generation<S>): Promise<Generation<S>> {
  const { file, lockPrefix, closing, mayReplaceNewer } = opening
  const opened = await withFileLock(
    `${lockPrefix}-opening`,
    closing,
    async () => {
      if (broken && identityOf(file) === broken.identity) await discard(opening, 'it was found damaged')
      try {
        return await openNow(opening)
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error
        const isReplaced = error.code === 'damaged' || (error.code === 'too_new' && (await mayReplaceNewer()))
        if (!isReplaced) throw error
        await discard(opening, error.cause instanceof Error ? error.cause.message : error.message)
        return await openNow(opening)
      }
    },
    openingTimeoutMs,
  )
  if (!opened) throw new DatabaseError('busy', 'The service is about to stop')
  return opened
}

async function discard({ file, report }: Pick<DerivedOptions, 'report'> & { file: string }, reason: string) {
  await setAside(file)
  const name = basename(file)
  report(`${name} was set aside as ${name}.damaged: ${reason}`)
}

async function openNow<S>({ file, migrations, observer, onDamage }: Opening<S>): Promise<Generation<S>> {
  // If the file was deleted, SQLite would apply its remaining log to the new one.
  if (identityOf(file) === undefined) await setAside(file)
  let opened: Generation<S> | undefined
  const database = await openDatabase<S>(file, migrations, {
    synchronous: 'NORMAL',
    check: true,
    onDamage: () => opened && onDamage(opened),
    observer,
  })
  const isWhole = await isFilled(database)
  opened = { ...database, identity: identityOf(file), isWhole, isBroken: false }
  return opened
}

class RebuildableDatabase<S> implements DerivedDatabase<S> {
  readonly whole: Database<S>
  readonly #opening: Opening<S>
  readonly #name: string
  readonly #watch: NodeJS.Timeout
  #current: Generation<S>
  #fill: (() => Promise<boolean>) | undefined
  #filling: Promise<void> | undefined
  #renewing: Promise<void> | undefined
  #lastReport = ''

  constructor(opening: Opening<S>, current: Generation<S>) {
    this.#opening = opening
    this.#name = basename(opening.file)
    this.#current = current
    this.#watch = setInterval(() => this.#look(), checkIntervalMs).unref()
    const requireWhole = () => this.#requireWhole()
    this.whole = {
      get read() {
        return requireWhole().read
      },
      write: async (work) => requireWhole().write(work),
      close: () => this.close(),
    }
  }

  get read() {
    return this.#current.read
  }

  /** A field instead of a method, because callers pass it on without the database. */
  readonly write: Database<S>['write'] = (work) => this.#current.write(work)

  isWhole(): boolean {
    return this.#current.isWhole
  }

  async keepWhole(work: () => Promise<boolean>): Promise<void> {
    this.#fill = work
    this.#filling ??= this.#fillUp(work).finally(() => {
      this.#filling = undefined
    })
    await this.#filling
  }

  async close(): Promise<void> {
    clearInterval(this.#watch)
    await this.#renewing
    await this.#filling
    await this.#current.close()
  }

  /** Replaces a damaged file. Keeps it if there is no way to fill a new one. */
  replaceDamaged(broken: Generation<S>): void {
    if (this.#fill) void this.#renew(broken)
  }

  #requireWhole(): Generation<S> {
    if (!this.#current.isWhole) throw new DatabaseError('busy', `${this.#name} is being rebuilt; try again in a moment`)
    return this.#current
  }

  #look(): void {
    if (this.#fill === undefined || this.#renewing !== undefined) return
    const now = identityOf(this.#opening.file)
    const current = this.#current
    if (current.isBroken) void this.#renew(current)
    else if (now !== current.identity) {
      const what = now === undefined ? 'deleted' : 'replaced'
      if (current.isWhole) this.#opening.report(`${this.#name} was ${what}; reopening it`)
      void this.#renew(current, false)
    }
  }

  #renew(broken: Generation<S>, isDamaged = true): Promise<void> {
    if (this.#opening.closing.aborted || broken !== this.#current) return Promise.resolve()
    broken.isWhole = false
    broken.isBroken ||= isDamaged
    this.#renewing ??= openLocked(this.#opening, broken.isBroken ? broken : undefined)
      .then(
        (opened) => this.#follow(broken, opened),
        (error: unknown) => this.#reportOnce('cannot be reopened yet', error),
      )
      .finally(() => {
        this.#renewing = undefined
      })
    return this.#renewing
  }

  /** Switches to the new file. Readers of the previous one have time to finish. */
  #follow(broken: Generation<S>, opened: Generation<S>): void {
    this.#current = opened
    this.#lastReport = ''
    setTimeout(() => void broken.close().catch(() => {}), readersTimeoutMs).unref()
    if (this.#fill) void this.keepWhole(this.#fill)
  }

  async #fillUp(work: () => Promise<boolean>): Promise<void> {
    const { lockPrefix, closing } = this.#opening
    while (!closing.aborted && !this.#current.isWhole) {
      const goesOn = await withFileLock(`${lockPrefix}-filling`, closing, () => this.#fillOnce(work)).catch(
        async (error: unknown) => {
          this.#reportOnce('cannot be filled yet', error)
          await sleep(checkIntervalMs, undefined, { ref: false, signal: closing }).catch(() => {})
          return true
        },
      )
      if (!goesOn) return
    }
  }

  /** Returns false if `work` has given up. */
  async #fillOnce(work: () => Promise<boolean>): Promise<boolean> {
    const generation = this.#current
    if (!(await isFilled(generation))) {
      if (!(await work())) return false
      if (generation === this.#current) await generation.write((trx) => declareFilled(trx, true))
    }
    generation.isWhole = await isFilled(generation)
    return true
  }

  #reportOnce(what: string, error: unknown): void {
    const message = `${this.#name} ${what}`
    if (message !== this.#lastReport) this.#opening.report(message, error)
    this.#lastReport = message
  }
}

/** Records in the file whether the database is filled. */
export async function declareFilled<S>(trx: Transaction<S>, isFilled: boolean): Promise<void> {
  await sql.raw(`pragma user_version = ${isFilled ? filled : 0}`).execute(trx)
}

async function isFilled<S>({ read }: Pick<Database<S>, 'read'>): Promise<boolean> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(read)
  return rows[0]?.user_version === filled
}
