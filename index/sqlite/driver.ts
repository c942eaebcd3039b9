/**
 * Kysely's driver for one SQLite connection. Caches prepared statements, and waits for other processes without blocking
 * the event loop.
 */

import type Sqlite from 'better-sqlite3'
import {
  type BinaryOperationNode,
  ColumnNode,
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type LimitNode,
  type QueryResult,
  ReferenceNode,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  ValueNode,
} from 'kysely'
import { createCache } from '../../gitstore/caching/caches.ts'
import { type ConnectionMode, type DatabaseObserver, retryWhileBusy } from './connection.ts'
import { asDatabaseError, DatabaseBusyError, DatabaseError, isBusy } from './database-fault.ts'

export interface DriverEvents {
  /** Called for each statement that finds the file damaged. The statement also throws. */
  readonly onDamage?: (() => void) | undefined
  readonly observer?: DatabaseObserver | undefined
}

/** Kysely's dialect for one connection. Only one transaction may run at a time. */
export function sqliteDialect(handle: Sqlite.Database, role: ConnectionMode): Dialect {
  return dialectOf(new Connection(handle, role))
}

export function dialectOf(connection: Connection): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => driverOf(connection),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new QueryCompiler(),
  }
}

/** Columns with few values, which the conditions of partial indexes compare. */
const comparedByIndexes: ReadonlySet<string> = new Set(['edge_type', 'is_root', 'kind', 'state', 'status'])

/**
 * Writes limits into statements, and values that decide whether a partial index is usable. SQLite recompiles a statement
 * that binds one of these at each call, 15 to 60 µs. Omits `for update`, which matters only on an engine with several
 * concurrent writers.
 */
class QueryCompiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier !== 'ForUpdate') super.visitSelectModifier(node)
  }

  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    const { leftOperand: left, rightOperand: right } = node
    const isWritten = ReferenceNode.is(left) && ColumnNode.is(left.column) && ValueNode.is(right)
    if (isWritten && comparedByIndexes.has(left.column.column.name))
      super.visitBinaryOperation({ ...node, rightOperand: ValueNode.createImmediate(right.value) })
    else super.visitBinaryOperation(node)
  }

  protected override visitLimit(node: LimitNode): void {
    const { limit } = node
    if (ValueNode.is(limit) && Number.isSafeInteger(limit.value)) this.append(`limit ${limit.value}`)
    else super.visitLimit(node)
  }
}

/** Drives one connection. A transaction begins with `immediate`, so that it never fails half-way for want of the lock. */
function driverOf(connection: Connection): Driver {
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: () => connection.begin(),
    commitTransaction: async () => connection.commit(),
    rollbackTransaction: async () => connection.rollback(),
    releaseConnection: async () => {},
    destroy: async () => connection.close(),
  }
}

/** The result of a statement. */
interface Result {
  readonly rows: unknown[]
  readonly numAffectedRows?: bigint
}

export class Connection implements DatabaseConnection {
  readonly #handle: Sqlite.Database
  readonly #role: ConnectionMode
  readonly #events: DriverEvents
  readonly #statements = createCache<Sqlite.Statement>('statements')
  /** Statements with constant text. */
  readonly #constant = new Map<string, Sqlite.Statement>()
  #foreign = false

  constructor(handle: Sqlite.Database, role: ConnectionMode, events: DriverEvents = {}) {
    this.#handle = handle
    this.#role = role
    this.#events = events
  }

  /** Waits for the lock of the database. @throws DatabaseError busy, storage_* */
  async begin(): Promise<void> {
    if (this.#role === 'read') throw new Error('The read connection has no transactions; read in one statement')
    if (this.now('begin immediate', []) === undefined) await this.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  commit(): void {
    if (this.now('commit', []) === undefined) throw new DatabaseBusyError()
  }

  rollback(): void {
    this.#foreign = false
    // After some faults (disk full) SQLite has already rolled back.
    if (this.#handle.inTransaction) this.#handle.exec('rollback')
  }

  close(): void {
    this.#handle.close()
  }

  /**
   * Awaits the work of a transaction, and detects foreign awaits. Kysely resolves in the microtask queue, so a turn of
   * the event loop means another await.
   */
  async watched<R>(work: Promise<R>): Promise<R> {
    const watcher = setImmediate(() => {
      this.#foreign = true
    })
    return await work.finally(() => clearImmediate(watcher))
  }

  /**
   * Runs a statement with constant text in this turn of the event loop. Returns undefined if another process locks the
   * database.
   *
   * @throws DatabaseError
   */
  now(text: string, values: readonly unknown[]): Result | undefined {
    try {
      let statement = this.#constant.get(text)
      if (statement === undefined) {
        statement = this.#handle.prepare(text)
        this.#constant.set(text, statement)
      }
      return this.#run(statement, values)
    } catch (error) {
      if (isBusy(error)) return undefined
      throw this.#reported(asDatabaseError(error, this.#handle.name))
    }
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { observer } = this.#events
    const waited = this.#role === 'read' ? (seconds: number) => observer?.waited('read', seconds) : undefined
    // Kysely types the rows of the query that it compiled.
    const execute = () => this.#run(this.#prepare(sql), parameters) as QueryResult<R>
    return retryWhileBusy(this.#handle.name, execute, waited).catch((error: unknown) => {
      throw this.#reported(error)
    })
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface asks for a generator, this driver has no streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not supported, because an open cursor would block the only connection')
  }

  #run(statement: Sqlite.Statement, parameters: readonly unknown[]): Result {
    if (this.#foreign) throw new Error('A transaction may await only its own statements')
    const values = parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value))
    if (statement.reader) return { rows: statement.all(...values) }
    return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) }
  }

  #reported(error: unknown): unknown {
    const { onDamage, observer } = this.#events
    if (error instanceof DatabaseError && error.code === 'damaged') onDamage?.()
    if (error instanceof DatabaseBusyError) observer?.gaveUp()
    return error
  }

  #prepare(sql: string): Sqlite.Statement {
    const kept = this.#statements.get(sql)
    if (kept !== undefined) return kept
    const statement = this.#handle.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}
