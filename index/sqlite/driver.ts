/**
 * Kysely's driver for one SQLite connection. Caches prepared statements, and waits for other processes without blocking
 * the event loop.
 */

import type Sqlite from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type LimitNode,
  type QueryResult,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  ValueNode,
} from 'kysely'
import { createCache } from '../../gitstore/caching/caches.ts'
import { createSemaphore } from '../../gitstore/concurrency/semaphore.ts'
import { busyTimeoutMs, type ConnectionMode, type DatabaseObserver, retryWhileBusy } from './connection.ts'
import { DatabaseBusyError, DatabaseError } from './database-fault.ts'

export interface DriverEvents {
  /** Called for each statement that finds the file damaged. The statement also throws. */
  readonly onDamage?: (() => void) | undefined
  readonly observer?: DatabaseObserver | undefined
}

export function sqliteDialect(handle: Sqlite.Database, role: ConnectionMode, events: DriverEvents = {}): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => (role === 'read' ? readDriver(handle, events) : writeDriver(handle, events)),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new QueryCompiler(),
  }
}

/**
 * Writes limits into statements and omits `for update`. SQLite recompiles a statement with a bound limit at each call,
 * 15 µs. `for update` matters only on an engine with several concurrent writers.
 */
class QueryCompiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier !== 'ForUpdate') super.visitSelectModifier(node)
  }

  protected override visitLimit(node: LimitNode): void {
    const { limit } = node
    if (ValueNode.is(limit) && Number.isSafeInteger(limit.value)) this.append(`limit ${limit.value}`)
    else super.visitLimit(node)
  }
}

/**
 * Runs every query as one statement on the shared connection. Only a write transaction is consistent across statements.
 */
function readDriver(handle: Sqlite.Database, events: DriverEvents): Driver {
  const { observer } = events
  const connection = new Connection(handle, events, (seconds) => observer?.waited('read', seconds))
  const refuse = () => Promise.reject(new Error('The read connection has no transactions; read in one statement'))
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

/** Runs one transaction at a time. Begins it with `immediate`, so that it never fails half-way for want of the lock. */
function writeDriver(handle: Sqlite.Database, events: DriverEvents): Driver {
  const { observer } = events
  const connection = new Connection(handle, events)
  const semaphore = createSemaphore({
    running: 1,
    waiting: { timeoutMs: busyTimeoutMs, refusal: () => new DatabaseBusyError() },
  })
  let release = () => {}
  /** When the running transaction was requested. */
  let asked = 0
  return {
    init: async () => {},
    acquireConnection: async () => {
      const since = performance.now()
      release = await semaphore.acquire({}).catch((error: unknown) => {
        observer?.gaveUp()
        throw error
      })
      asked = since
      return connection
    },
    beginTransaction: async () => {
      await connection.executeQuery(CompiledQuery.raw('begin immediate'))
      observer?.waited('write', (performance.now() - asked) / 1000)
      connection.watch()
    },
    commitTransaction: async () => {
      await connection.executeQuery(CompiledQuery.raw('commit'))
    },
    rollbackTransaction: async () => {
      // After some faults (disk full) SQLite has already rolled back.
      if (handle.inTransaction) handle.exec('rollback')
    },
    releaseConnection: async () => {
      connection.unwatch()
      release()
    },
    destroy: async () => {
      await semaphore.acquire({})
      handle.close()
    },
  }
}

class Connection implements DatabaseConnection {
  readonly #handle: Sqlite.Database
  readonly #events: DriverEvents
  readonly #waited: ((seconds: number) => void) | undefined
  readonly #statements = createCache<Sqlite.Statement>('statements')
  #foreign = false
  #watcher: NodeJS.Immediate | undefined

  constructor(handle: Sqlite.Database, events: DriverEvents, waited?: (seconds: number) => void) {
    this.#handle = handle
    this.#events = events
    this.#waited = waited
  }

  /**
   * Detects foreign awaits. Kysely resolves in the microtask queue, so a turn of the event loop means another await.
   */
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
    if (this.#foreign) throw new Error('A transaction may await only its own statements')
    const { sql, parameters } = query
    const execute = () => {
      const statement = this.#prepare(sql)
      const values = parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value))
      // Kysely types the rows of the query that it compiled.
      if (statement.reader) return { rows: statement.all(...values) as R[] }
      const { changes } = statement.run(...values)
      return { rows: [], numAffectedRows: BigInt(changes) }
    }
    return retryWhileBusy(this.#handle.name, execute, this.#waited).catch((error: unknown) => {
      const { onDamage, observer } = this.#events
      if (error instanceof DatabaseError && error.code === 'damaged') onDamage?.()
      if (error instanceof DatabaseBusyError) observer?.gaveUp()
      throw error
    })
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface asks for a generator, this driver has no streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not supported, because an open cursor would block the only connection')
  }

  #prepare(sql: string): Sqlite.Statement {
    const kept = this.#statements.get(sql)
    if (kept !== undefined) return kept
    const statement = this.#handle.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}
