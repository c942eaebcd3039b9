/** Processes prove that they live by a lock that the operating system lets go of when they die, never by their number. */

import { randomUUID } from 'node:crypto'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { asDatabaseFault, faultOfOpening } from './database-fault.ts'

export interface LiveProcess {
  readonly id: string
  /** `runDir/id`: the process's own folder, for its records. */
  readonly dir: string
  /** Lets go of the lock and leaves the folder: whoever meets it may take it over. */
  close(): void
}

// A collected handle would close its file and so end the proof.
const held = new Set<Sqlite.Database>()

/** Folders that are made before it is given up: each was taken for a dead process's by another that looked just then. */
const attempts = 100

/**
 * Makes `runDir/<id>/` with the locked file `alive` in it, visible only once it is locked. The file must never be opened
 * by other means: closing any descriptor of it drops POSIX locks.
 *
 * @throws system errors; DatabaseFault busy where too many files are open, storage_error
 */
export async function registerProcess(runDir: string): Promise<LiveProcess> {
  mkdirSync(runDir, { recursive: true })
  for (let attempt = 0; attempt < attempts; attempt++) {
    const id = randomUUID()
    const starting = join(runDir, `tmp-${id}`)
    mkdirSync(starting)
    const lock = lockFile(starting)
    const dir = join(runDir, id)
    // Between mkdir and lock another process may have taken the folder for a dead one's.
    if (lock === undefined || !renamed(starting, dir)) {
      lock?.release()
      rmSync(starting, { recursive: true, force: true })
      continue
    }
    return { id, dir, close: lock.release }
  }
  throw new Error(`No folder for this process could be made in ${runDir}`)
}

/**
 * The lock of a dead process, so that its work can be finished or undone by one alone; undefined if the process lives or
 * its folder is gone. Nothing is made where the folder is missing.
 *
 * @throws DatabaseFault busy where too many files are open, storage_error: then nothing is known of the process
 */
export function takeOver(runDir: string, id: string): { release(): void } | undefined {
  return lockFile(join(runDir, id))
}

function lockFile(dir: string): { release(): void } | undefined {
  let handle: Sqlite.Database
  try {
    handle = new Sqlite(join(dir, 'alive'), { timeout: 0 })
  } catch (error) {
    if (isNoFolder(faultOfOpening(`${dir}/`))) return undefined
    throw asDatabaseFault(error, join(dir, 'alive'))
  }
  try {
    handle.exec('begin exclusive')
  } catch (error) {
    handle.close()
    const code = error instanceof Sqlite.SqliteError ? error.code : ''
    const opening = faultOfOpening(`${dir}/`)
    // Held, or the folder is being removed: its files go before it does.
    if (code.startsWith('SQLITE_BUSY') || isNoFolder(opening)) return undefined
    if (/^SQLITE_(CANTOPEN|IOERR)/.test(code) && opening === undefined) return undefined
    throw asDatabaseFault(error, join(dir, 'alive'))
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
