/** Opens SQLite connections, and retries statements while other processes lock the database. */

import { closeSync, openSync, statSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type Sqlite from 'better-sqlite3'
import { openSqlite } from './better-sqlite3.ts'
import { asDatabaseError, DatabaseBusyError, DatabaseError, isBusy } from './database-fault.ts'

/** The longest time that a statement or a transaction waits for other processes. */
export const busyTimeoutMs = 10_000

export interface SqliteOptions {
  /** FULL: an acknowledged write survives a power cut. NORMAL: it may be lost, but the file stays intact. */
  readonly synchronous: 'FULL' | 'NORMAL'
  /** Reads the whole file first: 0.2 s for 100 MB. */
  readonly check?: boolean
  readonly mode: ConnectionMode
}

/** Observes waits for a database. */
export interface DatabaseObserver {
  /** Receives the seconds of each wait. Write transactions always report one, reads only if they had to wait. */
  waited(role: ConnectionMode, seconds: number): void
  /** Called if a statement or a transaction gives up after `busyTimeoutMs`. */
  gaveUp(): void
}

/**
 * Opens `file` in WAL mode with foreign keys on. Creates it if it is missing, readable only by this user. A connection
 * of mode `read` cannot write.
 */
export async function openConnection(file: string, options: SqliteOptions): Promise<Sqlite.Database> {
  refuseOddFile(file)
  makePrivate(file)
  const handle = openHandle(file)
  try {
    await retryWhileBusy(handle.name, () => handle.pragma('journal_mode = wal'))
    handle.pragma(`synchronous = ${options.synchronous}`)
    handle.pragma('foreign_keys = on')
    if (options.check === true) await requireSound(handle)
    if (options.mode === 'read') handle.pragma('query_only = on')
    // Zeroes what it deletes. Copies that the balancing of pages leaves behind stay.
    else handle.pragma('secure_delete = on')
    return handle
  } catch (error) {
    handle.close()
    throw error
  }
}

/** Creates the file for this user only; SQLite gives its log the same mode. @throws DatabaseError: cannot create it */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw asDatabaseError(error, file)
  }
}

/** @throws DatabaseError storage_error, busy: too many files are open */
export function openHandle(file: string): Sqlite.Database {
  try {
    // timeout 0: SQLite's own waiting is synchronous and would stop the event loop.
    return openSqlite(file, { timeout: 0 })
  } catch (error) {
    throw asDatabaseError(error, file)
  }
}

/**
 * Rejects pipes and devices: SQLite would wait for a pipe, and read a device.
 *
 * @throws DatabaseError storage_error: `file` exists and is not a regular file
 */
export function refuseOddFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found && !found.isFile()) throw new DatabaseError('storage_error', `${file} is not a regular file`)
}

/** Checks the whole file. @throws DatabaseError damaged */
async function requireSound(handle: Sqlite.Database): Promise<void> {
  const found = await retryWhileBusy(handle.name, () => handle.pragma('quick_check(1)', { simple: true }))
  if (found !== 'ok') throw new DatabaseError('damaged', `The database is damaged: ${found}`)
}

/** Renames a damaged file, its log and its shared memory to `*.damaged`. */
export async function setAside(file: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) {
    await rename(`${file}${suffix}`, `${file}.damaged${suffix}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}

/** Returns the inode of `file`, or undefined if there is no such file. */
export function identityOf(file: string): bigint | undefined {
  return statSync(file, { throwIfNoEntry: false, bigint: true })?.ino
}

/**
 * Runs `work`, and repeats it after a random pause while another process locks the database.
 *
 * @param waited called with the seconds of waiting, if there was any
 * @throws DatabaseBusyError after `busyTimeoutMs`, DatabaseError if the storage fails
 */
export async function retryWhileBusy<R>(file: string, work: () => R, waited?: (seconds: number) => void): Promise<R> {
  const began = performance.now()
  const deadline = began + busyTimeoutMs
  for (let pause = 2; ; pause = Math.min(pause * 2, 64)) {
    try {
      const result = work()
      if (pause > 2) waited?.((performance.now() - began) / 1000)
      return result
    } catch (error) {
      if (!isBusy(error)) throw asDatabaseError(error, file)
      if (performance.now() > deadline) throw new DatabaseBusyError({ cause: error })
    }
    await sleep(pause * (0.5 + Math.random()))
  }
}

export type ConnectionMode = 'read' | 'write'
