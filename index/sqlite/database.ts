/** A database with one connection for reads and one for writes; one transaction writes at a time. */

import { basename } from 'node:path'
import { Kysely, type Migration, type Transaction } from 'kysely'
import { openConnection } from './connection.ts'
import { type DriverEvents, sqliteDialect } from './driver.ts'
import { migrate } from './migrate.ts'

export { DatabaseError, isDatabaseStorageError, isDuplicate } from './database-fault.ts'

export interface Database<S> {
  /** Reads committed data; each query is a snapshot of its own. Cannot write. */
  readonly read: Kysely<S>
  /**
   * Runs `work` in one transaction, exclusive among all processes, and commits it; rolls back if `work` throws.
   * `work` may await only the transaction's own statements, not even those of `read`.
   *
   * @throws DatabaseError: busy after 10 s of waiting for the lock, storage_* where the storage fails
   */
  write<R>(work: (trx: Transaction<S>) => Promise<R>): Promise<R>
  /** Waits for the running transaction. */
  close(): Promise<void>
}

export interface DatabaseOptions extends DriverEvents {
  /** FULL where the rows are the truth, NORMAL where they can be made again. */
  readonly synchronous: 'FULL' | 'NORMAL'
  /** Reads the whole file first, about 0.2 s for 100 MB, so that damage is found at the start. */
  readonly check?: boolean
}

/**
 * Opens the database in `file`, creates it if it is missing, and applies every migration.
 *
 * @throws DatabaseError, too_new where the file was made by a newer version
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
        // Kysely destroys only a driver that it has used.
        writing.close()
        reading.close()
      },
    }
  } catch (error) {
    writing.close()
    throw error
  }
}
