/** A database with one connection for reads and one for writes. One transaction writes at a time. */

import { basename } from 'node:path'
import { Kysely, type Migration, type Transaction } from 'kysely'
import { openConnection } from './connection.ts'
import { type DriverEvents, sqliteDialect } from './driver.ts'
import { migrate } from './migrate.ts'

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
  write<R>(work: (trx: Transaction<S>) => Promise<R>): Promise<R>
  /** Waits for the running transaction. */
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
  const writing = await openConnection(file, { synchronous, check, mode: 'write' })
  const writer = new Kysely<S>({ dialect: sqliteDialect(writing, 'write', options) })
  const write: Database<S>['write'] = (work) => writer.transaction().execute(work)
  try {
    await write((trx) => migrate(trx, migrations, basename(file)))
    const reading = await openConnection(file, { synchronous, mode: 'read' })
    const read = new Kysely<S>({ dialect: sqliteDialect(reading, 'read', options) })
    return {
      read,
      write,
      close: async () => {
        await writer.destroy()
        await read.destroy()
        // Kysely destroys a driver only if it has used it.
        writing.close()
        reading.close()
      },
    }
  } catch (error) {
    writing.close()
    throw error
  }
}
