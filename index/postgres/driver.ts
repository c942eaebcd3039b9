/**
 * Kysely's driver for a pool of PostgreSQL connections. Faults have the same codes as SQLite's. Drops broken
 * connections.
 */
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type pg from 'pg'
import type { ConnectionMode, DatabaseObserver } from '../sqlite/connection.ts'
import { DatabaseBusyError, DatabaseError } from '../sqlite/database-fault.ts'
import { asPostgresFault, isBroken } from './faults.ts'
import { clocks } from './pool.ts'

/** The first statements of a transaction. `set local` ends with it, so it leaves no session state. */
const beginnings = {
  write: begin('read committed'),
  /** All statements see the same snapshot. */
  read: begin('repeatable read read only'),
} as const

function begin(mode: string): CompiledQuery {
  return CompiledQuery.raw(
    `begin isolation level ${mode}; set local statement_timeout = ${clocks.statement}; set local idle_in_transaction_session_timeout = ${clocks.idleInTransaction}`,
  )
}

/** Returns the dialect for a role. A transaction of role `read` is a snapshot. */
export function postgresDialect(pool: pg.Pool, role: ConnectionMode, observer: DatabaseObserver | undefined): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => driver(pool, role, observer),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

function driver(pool: pg.Pool, role: ConnectionMode, observer: DatabaseObserver | undefined): Driver {
  return {
    init: async () => {},
    acquireConnection: async () => {
      const since = performance.now()
      const isWaiting = pool.idleCount === 0
      const client = await pool.connect().catch((error: unknown) => {
        const fault = asPostgresFault(error)
        if (fault instanceof DatabaseBusyError) observer?.gaveUp()
        throw fault
      })
      if (role === 'write' || isWaiting) observer?.waited(role, (performance.now() - since) / 1000)
      return new Connection(client, observer)
    },
    beginTransaction: async (connection) => {
      await connection.executeQuery(beginnings[role])
      if (connection instanceof Connection) connection.watch()
    },
    commitTransaction: async (connection) => {
      if (connection instanceof Connection) await connection.commit()
    },
    rollbackTransaction: async (connection) => {
      if (connection instanceof Connection) await connection.rollBack()
    },
    releaseConnection: async (connection) => {
      if (connection instanceof Connection) connection.release()
    },
    destroy: async () => {},
  }
}

/**
 * Replaces NUL in a value to compare, because PostgreSQL rejects strings with NUL. Ids and search words from callers
 * may contain it. The control character used instead occurs in no stored string either. Inserted values are validated
 * before.
 */
function comparable(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\x01') : value
}

class Connection implements DatabaseConnection {
  readonly #client: pg.PoolClient
  readonly #observer: DatabaseObserver | undefined
  #isBroken = false
  #isWatched = false
  #foreign = false
  #watcher: NodeJS.Immediate | undefined

  constructor(client: pg.PoolClient, observer: DatabaseObserver | undefined) {
    this.#client = client
    this.#observer = observer
  }

  /**
   * Detects foreign awaits. Between a response and the next statement the event loop turns only if something else was
   * awaited.
   */
  watch(): void {
    this.#isWatched = true
    this.#await()
  }

  #await(): void {
    this.#watcher = setImmediate(() => {
      this.#foreign = true
    })
  }

  #unwatch(): void {
    if (this.#watcher !== undefined) clearImmediate(this.#watcher)
    this.#watcher = undefined
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    this.#unwatch()
    if (this.#foreign) throw new Error('A transaction may await only its own statements')
    const { command, rowCount, rows } = await this.#send(sql, parameters)
    if (this.#isWatched) this.#await()
    const isChange = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE'
    // Kysely types the rows of the query that it compiled.
    return { rows: (rows ?? []) as R[], ...(isChange ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) }
  }

  /** @throws DatabaseError outcome_unknown: PostgreSQL did not respond to the commit */
  async commit(): Promise<void> {
    this.#unwatch()
    if (this.#foreign) throw new Error('A transaction may await only its own statements')
    const { command } = await this.#send('commit', []).catch((error: unknown) => {
      if (!this.#isBroken) throw error
      throw new DatabaseError('outcome_unknown', 'PostgreSQL did not confirm the change; it may or may not be saved', {
        cause: error,
      })
    })
    // PostgreSQL responds like this if a statement failed and the error was swallowed.
    if (command === 'ROLLBACK') throw new Error('A statement of the transaction failed; nothing was saved')
  }

  /** Rolls back, unless the connection is broken: then PostgreSQL does so automatically. */
  async rollBack(): Promise<void> {
    this.#unwatch()
    if (!this.#isBroken) await this.#send('rollback', []).catch(() => undefined)
  }

  release(): void {
    this.#unwatch()
    this.#client.release(this.#isBroken)
  }

  async #send(sql: string, parameters: readonly unknown[]): Promise<Partial<pg.QueryResult>> {
    try {
      const isInsert = sql.startsWith('insert')
      return await this.#client.query({ text: sql, values: isInsert ? [...parameters] : parameters.map(comparable) })
    } catch (error) {
      this.#isBroken ||= isBroken(error)
      const fault = asPostgresFault(error)
      if (fault instanceof DatabaseBusyError) this.#observer?.gaveUp()
      throw fault
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface asks for a generator, this driver has no streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not supported; read in pages')
  }
}
