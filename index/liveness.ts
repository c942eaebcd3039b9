/** Processes prove that they live by a lock that the operating system lets go of when they die, never by their number. */

import { randomUUID } from 'node:crypto'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'

export interface LiveProcess {
  readonly id: string
  /** `runDir/id`: the process's own folder, for its records. */
  readonly dir: string
  /** Lets go of the lock and leaves the folder: whoever meets it may take it over. */
  close(): void
}

// A collected handle would close its file and so end the proof.
const held = new Set<Sqlite.Database>()

/**
 * Makes `runDir/<id>/` with the locked file `alive` in it, visible only once it is locked. The file must never be opened
 * by other means: closing any descriptor of it drops POSIX locks.
 */
export async function registerProcess(runDir: string): Promise<LiveProcess> {
  mkdirSync(runDir, { recursive: true })
  for (;;) {
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
}

/**
 * The lock of a dead process, so that its work can be finished or undone by one alone; undefined if the process lives or
 * its folder is gone. Nothing is made where the folder is missing.
 */
export function takeOver(runDir: string, id: string): { release(): void } | undefined {
  return lockFile(join(runDir, id))
}

function lockFile(dir: string): { release(): void } | undefined {
  let handle: Sqlite.Database
  try {
    handle = new Sqlite(join(dir, 'alive'), { timeout: 0 })
  } catch (error) {
    if (isMissingFolder(error)) return undefined
    throw error
  }
  try {
    handle.exec('begin exclusive')
  } catch (error) {
    handle.close()
    if (error instanceof Sqlite.SqliteError && /^SQLITE_(BUSY|CANTOPEN|IOERR)/.test(error.code)) return undefined
    throw error
  }
  held.add(handle)
  return {
    release: () => {
      held.delete(handle)
      handle.close()
    },
  }
}

function isMissingFolder(error: unknown): boolean {
  if (error instanceof Sqlite.SqliteError) return error.code.startsWith('SQLITE_CANTOPEN')
  return error instanceof TypeError && error.message.includes('directory does not exist')
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
