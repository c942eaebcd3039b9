/** The search thread's connection to `index.sqlite`. Reconnects if the file is replaced. */
import { open } from 'node:fs/promises'
import type Sqlite from 'better-sqlite3'
import { openSqlite } from '../../sqlite/better-sqlite3.ts'
import { busyTimeoutMs, identityOf } from '../../sqlite/connection.ts'
import { asDatabaseError } from '../../sqlite/database-fault.ts'
import { openRows, type SearchRows } from './rows.ts'

export interface Snapshots {
  /** Runs `read` on one snapshot, synchronously. @throws DatabaseError; errors of `read` */
  read<T>(read: (rows: SearchRows) => T): T
  /**
   * Makes the commits that were read so far durable. `index.sqlite` does not sync its commits, so a power cut could
   * undo them, and their version numbers would be reused. Only the log needs a sync, because checkpoints sync the other
   * files.
   *
   * @throws system errors
   */
  sync(): Promise<void>
}

interface Connection {
  readonly db: Sqlite.Database
  readonly rows: SearchRows
  /** The inode of the open file. */
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
      // The log has no locks, so closing a descriptor of it drops none.
      const log = await open(`${file}-wal`).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      })
      await log?.sync().finally(() => log.close())
    },
  }
}
