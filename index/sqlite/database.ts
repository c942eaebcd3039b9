/** A database with one connection for reads and one for writes. One transaction writes at a time. */

import { basename } from 'node:path'
import { Kysely, type Migration, type Transaction } from 'kysely'
import { createSemaphore, type Semaphore, type Turn } from '../../gitstore/concurrency/semaphore.ts'
import { busyTimeoutMs, type DatabaseObserver, openConnection } from './connection.ts'
import { DatabaseBusyError } from './database-fault.ts'
import { Connection, type DriverEvents, dialectOf } from './driver.ts'
import { migrate } from './migrate.ts'
import { connect } from './statements.ts'

export { DatabaseError, isDatabaseStorageError, isDuplicate } from './database-fault.ts'

export interface Database<S> {
  /** Reads committed data. Each query is its own snapshot. Cannot write. */
  readonly read: Kysely<S>
  /**
   * Runs `work` in one transaction, exclusive among all processes, and commits it. Rolls back if `work` throws.
   * `work` may await only the transaction's own statements, not even those of `read`.
   *
   * @throws DatabaseError: busy after 10 s of waiting for the lock, storage_* if the storage fails
   */
  write<R>(work: (trx: Transaction<S>) => R | Promise<R>): Promise<R>
  /** Waits for the running transaction. A second call does nothing more. */
  close(): Promise<void>
}

export interface DatabaseOptions extends DriverEvents {
  /** FULL if the rows exist nowhere else, NORMAL if they can be rebuilt. */
  readonly synchronous: 'FULL' | 'NORMAL'
  /** Reads the whole file first, to find damage when the service starts. About 0.2 s for 100 MB. */
  readonly check?: boolean
}

/**
 * Opens the database in `file`, creates it if it is missing, and applies every migration.
 *
 * @throws DatabaseError; too_new if a newer version created the file
 */
export async function openDatabase<S>(
  file: string,
  migrations: Record<string, Migration>,
  options: DatabaseOptions,
): Promise<Database<S>> {
  const { synchronous, check = false } = options
  const writer = new Connection(await openConnection(file, { synchronous, check, mode: 'write' }), 'write', options)
  const turns = createSemaphore({
    running: 1,
    waiting: { timeoutMs: busyTimeoutMs, refusal: () => new DatabaseBusyError() },
  })
  const write = writeTo<S>(writer, turns, options.observer)
  let ended: Promise<unknown> | undefined
  try {
    await write((trx) => migrate(trx, migrations, basename(file)))
    const reader = new Connection(await openConnection(file, { synchronous, mode: 'read' }), 'read', options)
    return {
      read: connect(new Kysely<S>({ dialect: dialectOf(reader) }), reader),
      write,
      close: async () => {
        ended ??= turns.acquire({})
        await ended
        writer.close()
        reader.close()
      },
    }
  } catch (error) {
    writer.close()
    throw error
  }
}

/** Returns the function that runs transactions. One runs at a time. Work without a promise ends in the turn it begins. */
function writeTo<S>(
  connection: Connection,
  turns: Semaphore<Turn>,
  observer: DatabaseObserver | undefined,
): Database<S>['write'] {
  // Between `begin` and `commit` of its connection, this is a transaction.
  const trx = connect(new Kysely<S>({ dialect: dialectOf(connection) }), connection) as Transaction<S>
  return async (work) => {
    const asked = performance.now()
    const release = await turns.acquire({}).catch((error: unknown) => {
      observer?.gaveUp()
      throw error
    })
    try {
      await connection.begin()
      observer?.waited('write', (performance.now() - asked) / 1000)
      const working = work(trx)
      const result = working instanceof Promise ? await connection.watched(working) : working
      connection.commit()
      return result
    } catch (error) {
      connection.rollback()
      throw error
    } finally {
      release()
    }
  }
}
