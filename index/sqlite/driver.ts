/** One SQLite connection as Kysely drives it: statements kept prepared, waiting for other processes without blocking. */

import { statSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { LRUCache } from 'lru-cache'
import { asDatabaseFault, DatabaseBusy, DatabaseFault, isBusy } from './database-fault.ts'

/** How long a statement, or a transaction's turn, waits for others before it gives up, in ms. */
const patience = 10_000

export type Role = 'read' | 'write'

export interface SqliteOptions {
  /** FULL: an acknowledged write survives a power cut. NORMAL: it may be lost, the file stays sound. */
  readonly synchronous: 'FULL' | 'NORMAL'
  /** Reads the whole file first: 0.2 s for 100 MB. */
  readonly check?: boolean
  readonly role: Role
}

/** Opens `file`, made if it is not there; WAL, foreign keys on; the role `read` cannot write. */
export async function openConnection(file: string, options: SqliteOptions): Promise<Sqlite.Database> {
  refuseOddFile(file)
  const handle = openHandle(file)
  try {
    await retryWhileBusy(handle.name, () => handle.pragma('journal_mode = wal'))
    handle.pragma(`synchronous = ${options.synchronous}`)
    handle.pragma('foreign_keys = on')
    if (options.check === true) await requireSound(handle)
    if (options.role === 'read') handle.pragma('query_only = on')
    return handle
  } catch (error) {
    handle.close()
    throw error
  }
}

/** @throws DatabaseFault storage_error, busy where too many files are open */
function openHandle(file: string): Sqlite.Database {
  try {
    // timeout 0: SQLite's own waiting is synchronous and would stop the event loop.
    return new Sqlite(file, { timeout: 0 })
  } catch (error) {
    throw asDatabaseFault(error, file)
  }
}

/** SQLite waits for a pipe, and reads a device. @throws DatabaseFault storage_error: there is something, and it is no file */
export function refuseOddFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found && !found.isFile()) throw new DatabaseFault('storage_error', `${file} is not a regular file`)
}

/** @throws DatabaseFault damaged */
async function requireSound(handle: Sqlite.Database): Promise<void> {
  const found = await retryWhileBusy(handle.name, () => handle.pragma('quick_check(1)', { simple: true }))
  if (found !== 'ok') throw new DatabaseFault('damaged', `The database is damaged: ${found}`)
}

/** Keeps a damaged file, and what belongs to it, under another name. */
export async function setAside(file: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) {
    await rename(`${file}${suffix}`, `${file}.damaged${suffix}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}

/** Which file has this name now; undefined where none has. */
export function identityOf(file: string): bigint | undefined {
  return statSync(file, { throwIfNoEntry: false, bigint: true })?.ino
}

/**
 * Runs `work` alone among all who name the same `file`, in whatever process. The file holds nothing; the operating system
 * lets go of it when its holder dies.
 *
 * @param timeoutMs how long the turn is waited for; without it for as long as it takes
 * @returns undefined where `signal` was aborted before the turn came
 * @throws DatabaseFault busy: the turn did not come in time, or too many files are open
 */
export async function alone<T>(
  file: string,
  signal: AbortSignal,
  work: () => Promise<T>,
  timeoutMs = Number.POSITIVE_INFINITY,
): Promise<T | undefined> {
  const handle = openHandle(file)
  const since = performance.now()
  try {
    while (!locks(handle)) {
      if (signal.aborted) return undefined
      if (performance.now() - since > timeoutMs)
        throw new DatabaseFault('busy', `Another process has held ${file} for ${timeoutMs / 1000} seconds`)
      await sleep(10 + Math.random() * 20)
    }
    return await work()
  } finally {
    handle.close()
  }
}

function locks(handle: Sqlite.Database): boolean {
  try {
    handle.exec('begin exclusive')
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw asDatabaseFault(error, handle.name)
  }
}

/** `onDamage` is told of each statement that finds the file damaged, beside whoever asked for it. */
export function sqliteDialect(handle: Sqlite.Database, role: Role, onDamage: () => void = () => {}): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => (role === 'read' ? readDriver(handle, onDamage) : writeDriver(handle, onDamage)),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** Every query is one statement on the shared connection; consistency across statements is the writer's affair. */
function readDriver(handle: Sqlite.Database, onDamage: () => void): Driver {
  const connection = new Connection(handle, onDamage)
  const refuse = () => Promise.reject(new Error('The reading side has no transactions: read in one statement'))
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    releaseConnection: async () => {},
    destroy: async () => {
      handle.close()
    },
  }
}

/** One transaction at a time, begun immediately, so that it never fails half-way for want of the lock. */
function writeDriver(handle: Sqlite.Database, onDamage: () => void): Driver {
  const connection = new Connection(handle, onDamage)
  const turns = new Turns()
  return {
    init: async () => {},
    acquireConnection: async () => {
      await turns.enter()
      return connection
    },
    beginTransaction: async () => {
      await connection.executeQuery(CompiledQuery.raw('begin immediate'))
      connection.watch()
    },
    commitTransaction: async () => {
      await connection.executeQuery(CompiledQuery.raw('commit'))
    },
    rollbackTransaction: async () => {
      // After some faults (disk full) SQLite has already rolled back by itself.
      if (handle.inTransaction) handle.exec('rollback')
    },
    releaseConnection: async () => {
      connection.unwatch()
      turns.leave()
    },
    destroy: async () => {
      await turns.enter()
      handle.close()
    },
  }
}

class Connection implements DatabaseConnection {
  readonly #handle: Sqlite.Database
  readonly #onDamage: () => void
  readonly #statements = new LRUCache<string, Sqlite.Statement>({ max: 500 })
  #foreign = false
  #watcher: NodeJS.Immediate | undefined

  constructor(handle: Sqlite.Database, onDamage: () => void) {
    this.#handle = handle
    this.#onDamage = onDamage
  }

  /** Kysely resolves without leaving the microtask queue, so an event loop turn means that something else was awaited. */
  watch(): void {
    this.#foreign = false
    this.#watcher = setImmediate(() => {
      this.#foreign = true
    })
  }

  unwatch(): void {
    if (this.#watcher !== undefined) clearImmediate(this.#watcher)
    this.#watcher = undefined
    this.#foreign = false
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#foreign) throw new Error('Inside a transaction nothing but its own statements may be awaited')
    const { sql, parameters } = query
    return retryWhileBusy(this.#handle.name, () => {
      const statement = this.#prepare(sql)
      const values = parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value))
      // Kysely types the rows of the query that it compiled.
      if (statement.reader) return { rows: statement.all(...values) as R[] }
      const { changes } = statement.run(...values)
      return { rows: [], numAffectedRows: BigInt(changes) }
    }).catch((error: unknown) => {
      if (error instanceof DatabaseFault && error.code === 'damaged') this.#onDamage()
      throw error
    })
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface asks for a generator, this driver has no streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not supported: an open cursor would hold the one connection')
  }

  #prepare(sql: string): Sqlite.Statement {
    const kept = this.#statements.get(sql)
    if (kept !== undefined) return kept
    const statement = this.#handle.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

/** First come, first served; who waits longer than `patience` leaves with DatabaseBusy. */
class Turns {
  #taken = false
  readonly #waiting: (() => void)[] = []

  async enter(): Promise<void> {
    if (!this.#taken) {
      this.#taken = true
      return
    }
    await new Promise<void>((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1)
        reject(new DatabaseBusy())
      }, patience)
      this.#waiting.push(turn)
    })
  }

  leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#taken = false
    else next()
  }
}

/** @throws DatabaseBusy after `patience`, DatabaseFault where the storage fails */
async function retryWhileBusy<R>(file: string, work: () => R): Promise<R> {
  const deadline = performance.now() + patience
  for (let pause = 2; ; pause = Math.min(pause * 2, 64)) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw asDatabaseFault(error, file)
      if (performance.now() > deadline) throw new DatabaseBusy({ cause: error })
    }
    await sleep(pause * (0.5 + Math.random()))
  }
}
