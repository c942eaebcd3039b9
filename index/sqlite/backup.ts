/** Copies a snapshot of a database in use into one file, and checks such files. */
import type Sqlite from 'better-sqlite3'
import { isSqliteError, openSqlite } from './better-sqlite3.ts'
import { busyTimeoutMs, refuseOddFile } from './connection.ts'
import { asDatabaseError, DatabaseError } from './database-fault.ts'

/**
 * Copies the current content of `file` to `to`, which must be missing or empty. The copy has no separate log file and
 * is not synced. Blocks the event loop, about a second for 100 MB.
 *
 * @throws Error if `file` is missing or damaged, or `to` cannot be written
 */
export function copyDatabase(file: string, to: string): void {
  const db = openSqlite(file, { fileMustExist: true, timeout: busyTimeoutMs })
  try {
    db.prepare('vacuum into ?').run(to)
  } finally {
    db.close()
  }
}

/**
 * Opens an existing database for reading. Does not use SQLite's read-only mode, in which the last connection leaves an
 * empty log and its index next to the file.
 */
export function openToRead(file: string): Sqlite.Database {
  const db = openSqlite(file, { fileMustExist: true, timeout: busyTimeoutMs })
  try {
    db.pragma('query_only = on')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Returns SQLite's message about damage in `file`, or undefined if it is intact. Reads every page.
 *
 * @throws DatabaseError busy, storage_*: the file cannot be read, which does not mean that it is damaged
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
      return loose && `a row of ${loose.table} refers to a missing row of ${loose.parent}`
    } finally {
      db.close()
    }
  } catch (error) {
    const fault = asDatabaseError(error, file)
    // SQLite has no code for a schema that it cannot parse.
    const isDamage = fault instanceof DatabaseError ? fault.code === 'damaged' : isSqliteError(fault)
    if (isDamage && error instanceof Error) return error.message
    throw fault
  }
}
