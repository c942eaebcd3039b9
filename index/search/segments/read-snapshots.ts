/** A connection of the search thread to `index.sqlite`, which may be made again beside it. */
import { open } from 'node:fs/promises'
import type Sqlite from 'better-sqlite3'
import { openSqlite } from '../../sqlite/better-sqlite3.ts'
import { busyTimeoutMs, identityOf } from '../../sqlite/connection.ts'
import { asDatabaseError } from '../../sqlite/database-fault.ts'
import { openRows, type SearchRows } from './rows.ts'

export interface Snapshots {
  /** All that `read` asks is of one moment. Synchronous. @throws DatabaseError; what `read` throws */
  read<T>(read: (rows: SearchRows) => T): T
  /**
   * Makes durable what has been read so far: commits of `index.sqlite` are not synced, and a power cut could take them back, after
   * which versions are counted again. The log is the only file to sync: a checkpoint syncs the others. @throws system errors
   */
  sync(): Promise<void>
}

interface Connection {
  readonly db: Sqlite.Database
  readonly rows: SearchRows
  /** Of the file that is open. */
  readonly identity: bigint | undefined
}

export function openSnapshots(file: string): Snapshots {
  let connection: Connection | undefined
  const connect = (): Connection => {
    const identity = identityOf(file)
    if (connection && connection.identity === identity) return connection
    connection?.db.close()
    connection = undefined
    const db = openSqlite(file, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs })
    try {
      connection = { db, rows: openRows(db), identity }
      return connection
    } catch (error) {
      db.close()
      throw error
    }
  }
  return {
    read: (read) => {
      try {
        const { rows } = connect()
        return rows.inSnapshot(() => read(rows))
      } catch (error) {
        throw asDatabaseError(error, file)
      }
    },
    sync: async () => {
      // No lock lies on the log: closing a descriptor of it drops none.
      const log = await open(`${file}-wal`).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      })
      await log?.sync().finally(() => log.close())
    },
  }
}
