/**
 * Exclusive file locks between processes. The operating system releases a lock when its holder dies. Process ids prove
 * nothing, because they are reused.
 */

import { randomUUID } from 'node:crypto'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type Sqlite from 'better-sqlite3'
import { isSqliteError, openSqlite } from './better-sqlite3.ts'
import { openHandle } from './connection.ts'
import { asDatabaseError, DatabaseError, isBusy, toOpenError } from './database-fault.ts'

export interface LiveProcess {
  readonly id: string
  /** The process's own folder for its records, `runDir/id`. */
  readonly dir: string
  /** Releases the lock and keeps the folder, which another process may then take over. */
  close(): void
}

// These references prevent garbage collection of the handles, which would release their locks.
const held = new Set<Sqlite.Database>()

/** Attempts to create the folder. Another process may remove one that is not locked yet. */
const maxAttempts = 100

/**
 * Creates `runDir/<id>/` with the locked file `alive` in it. The folder gets its name once the lock is held. No other
 * code may open the file, because closing any descriptor of it drops POSIX locks.
 *
 * @throws system errors; DatabaseError busy: too many files are open, storage_error
 */
export async function registerProcess(runDir: string): Promise<LiveProcess> {
  mkdirSync(runDir, { recursive: true })
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const id = randomUUID()
    const starting = join(runDir, `tmp-${id}`)
    mkdirSync(starting)
    const lock = lockFile(starting)
    const dir = join(runDir, id)
    // Before the lock was held, another process may have removed the folder as that of a dead process.
    if (lock === undefined || !renamed(starting, dir)) {
      lock?.release()
      rmSync(starting, { recursive: true, force: true })
      continue
    }
    return { id, dir, close: lock.release }
  }
  throw new Error(`Cannot create a folder for this process in ${runDir}`)
}

/**
 * Returns the path of the locked file in a process's folder. Other code may test that it exists but must not open it.
 */
export function lockFileIn(processDir: string): string {
  return join(processDir, 'alive')
}

/**
 * Takes the lock of a dead process. Only one process can hold it, and finishes or undoes the dead one's work. Returns
 * undefined if the process is alive or its folder is gone. Never creates the folder.
 *
 * @throws DatabaseError busy: too many files are open, storage_error; the process may then be alive or dead
 */
export function claimDeadProcess(runDir: string, id: string): { release(): void } | undefined {
  return lockFile(join(runDir, id))
}

function lockFile(dir: string): { release(): void } | undefined {
  let handle: Sqlite.Database
  try {
    handle = openSqlite(lockFileIn(dir), { timeout: 0 })
  } catch (error) {
    if (isNoFolder(toOpenError(`${dir}/`))) return undefined
    throw asDatabaseError(error, lockFileIn(dir))
  }
  try {
    handle.exec('begin exclusive')
  } catch (error) {
    handle.close()
    const code = isSqliteError(error) ? error.code : ''
    const opening = toOpenError(`${dir}/`)
    // The lock is held, or the folder is being removed, its files first.
    if (code.startsWith('SQLITE_BUSY') || isNoFolder(opening)) return undefined
    if (/^SQLITE_(CANTOPEN|IOERR)/.test(code) && opening === undefined) return undefined
    throw asDatabaseError(error, lockFileIn(dir))
  }
  held.add(handle)
  return {
    release: () => {
      held.delete(handle)
      handle.close()
    },
  }
}

function isNoFolder(fault: NodeJS.ErrnoException | undefined): boolean {
  return fault?.code === 'ENOENT' || fault?.code === 'ENOTDIR'
}

function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

/**
 * Runs `work` while holding the lock on `file`, exclusive among all processes and calls. The file stays empty.
 *
 * @param timeoutMs the longest wait for the lock; default: no limit
 * @returns undefined if `signal` was aborted before the lock was free
 * @throws DatabaseError busy: the lock was not free in time, or too many files are open
 */
export async function withFileLock<T>(
  file: string,
  signal: AbortSignal,
  work: () => Promise<T>,
  timeoutMs = Number.POSITIVE_INFINITY,
): Promise<T | undefined> {
  const handle = openHandle(file)
  const since = performance.now()
  try {
    while (!locks(handle)) {
      if (signal.aborted) return undefined
      if (performance.now() - since > timeoutMs)
        throw new DatabaseError('busy', `Another process has held ${file} for ${timeoutMs / 1000} seconds`)
      await sleep(10 + Math.random() * 20)
    }
    return await work()
  } finally {
    handle.close()
  }
}

function locks(handle: Sqlite.Database): boolean {
  try {
    handle.exec('begin exclusive')
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw asDatabaseError(error, handle.name)
  }
}
