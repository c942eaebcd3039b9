/** A database as one file of one moment, whatever is written to it meanwhile. */
import Sqlite from 'better-sqlite3'
import { refuseOddFile } from './connection.ts'
import { asDatabaseFault, DatabaseFault } from './database-fault.ts'

/** Milliseconds that SQLite waits for others; WAL lets readers through. */
const busyTimeoutMs = 10_000

/**
 * Writes what `file` holds at this moment to `to`, which must be missing or empty: a database without a log beside it, not
 * yet synced. Synchronous, about a second for 100 MB.
 *
 * @throws Error where `file` is missing or damaged, or `to` cannot be written
 */
export function copyDatabase(file: string, to: string): void {
  const db = new Sqlite(file, { fileMustExist: true, timeout: busyTimeoutMs })
  try {
    db.prepare('vacuum into ?').run(to)
  } finally {
    db.close()
  }
}

/**
 * A connection to a database that is there, with which nothing can be changed. Not SQLite's read-only mode, whose last
 * connection leaves an empty log and its index beside the file.
 */
export function openToRead(file: string): Sqlite.Database {
  const db = new Sqlite(file, { fileMustExist: true, timeout: busyTimeoutMs })
  try {
    db.pragma('query_only = on')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * SQLite's own sentence of what is wrong with the database in `file`; undefined where nothing is. Reads every page.
 *
 * @throws DatabaseFault busy, storage_*: a file that cannot be read is not damaged for that
 */
export function findDatabaseDamage(file: string): string | undefined {
  try {
    refuseOddFile(file)
    const db = openToRead(file)
    try {
      const found = db.pragma('integrity_check(3)') as { integrity_check: string }[] // SQLite's one column
      const said = found.map((row) => row.integrity_check).join('; ')
      if (said !== 'ok') return said
      const [loose] = db.pragma('foreign_key_check') as { table: string; parent: string }[] // SQLite's columns
      return loose && `a row of ${loose.table} names one of ${loose.parent} that is not there`
    } finally {
      db.close()
    }
  } catch (error) {
    const fault = asDatabaseFault(error, file)
    // SQLite has no name for the fault: the file's schema makes no sense to it.
    const isDamage = fault instanceof DatabaseFault ? fault.code === 'damaged' : fault instanceof Sqlite.SqliteError
    if (isDamage && error instanceof Error) return error.message
    throw fault
  }
}
