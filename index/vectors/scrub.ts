/** Removes the bytes of deleted vectors from `vectors.sqlite` and its log. */
import { openSqlite } from '../sqlite/better-sqlite3.ts'
import { busyTimeoutMs } from '../sqlite/connection.ts'
import { asDatabaseError, DatabaseBusyError } from '../sqlite/database-fault.ts'

/**
 * Writes the file again from its rows, and empties the log. SQLite zeroes deleted rows, but not the copies that the
 * balancing of pages leaves behind. Blocks, about a second for 100 MB. Readers are not stopped, and writers wait.
 *
 * @throws DatabaseError; busy: another process reads or writes for ten seconds
 */
export function scrubVectors(file: string): void {
  try {
    const db = openSqlite(file, { fileMustExist: true, timeout: busyTimeoutMs })
    try {
      db.pragma('secure_delete = on')
      db.exec('vacuum')
      const [outcome] = db.pragma('wal_checkpoint(truncate)') as { busy: number }[] // SQLite's columns
      if (outcome?.busy !== 0) throw new DatabaseBusyError()
    } finally {
      db.close()
    }
  } catch (error) {
    throw asDatabaseError(error, file)
  }
}
