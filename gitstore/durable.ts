/**
 * Files that survive a power cut: written, synced, and named only then. Storage faults come out as GitError.
 *
 * What waits for the disk, syncs and large writes, goes through the thread pool. Names and small writes are made at once:
 * 20 µs each instead of 200, and a commit takes half the processor time (2,000 instead of 1,000 a second, four objects each).
 */

import { closeSync, fsync, openSync, renameSync, unlinkSync, writeFile, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { asStorageFault, codeOf, GitError } from './errors.ts'
import { temporaryFile } from './temporary-names.ts'

/** Bytes that are written without leaving the event loop. */
const smallWrite = 65_536

/**
 * Creates `path`, writes `bytes`, syncs and closes it. The name itself is durable only after `syncDirectory`; it is there
 * when this returns its promise. A file that could not be written whole is removed again.
 *
 * @throws GitError storage_full, storage_readonly, storage_error (also for any failed sync, with facts.sync = true);
 *   system errors such as EEXIST and ENOENT as they are
 */
export async function writeSynced(path: string, bytes: Uint8Array | string, mode = 0o644): Promise<void> {
  const file = await writeOpen(path, bytes, mode)
  try {
    await syncFile(file).finally(() => closeSync(file))
  } catch (error) {
    discard(path)
    throw error
  }
}

/** As writeSynced, but leaves the file open to be synced and closed: many are synced sooner if all are written first. */
export async function writeOpen(path: string, bytes: Uint8Array | string, mode: number): Promise<number> {
  const file = openFile(path, 'wx', mode)
  try {
    if (bytes.length <= smallWrite) writeFileSync(file, bytes)
    else await writeLarge(file, bytes)
    return file
  } catch (error) {
    closeSync(file)
    discard(path)
    throw asStorageFault(error)
  }
}

/**
 * Makes `dir`, and the folders above it that are missing, with durable names. Node's own recursive mkdir tells EIO and EROFS
 * as ENOENT, and never ends below /proc, where nothing can be made. @throws as writeSynced; ENOENT as it is
 */
export async function makeFolder(dir: string, mode = 0o777): Promise<void> {
  const make = () =>
    mkdir(dir, { mode }).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) === 'EEXIST') return false
        throw asStorageFault(error)
      },
    )
  const made = await make().catch(async (error: unknown) => {
    if (codeOf(error) !== 'ENOENT' || dirname(dir) === dir) throw error
    await makeFolder(dirname(dir), mode)
    return make()
  })
  if (made) await syncDirectory(dirname(dir))
}

/** Makes the names in `dir` durable. @throws as writeSynced; ENOENT as it is */
export function syncDirectory(dir: string): Promise<void> {
  return syncPath(dir)
}

/** Makes durable what was written to the file at `path`. @throws as syncDirectory */
export async function syncPath(path: string): Promise<void> {
  const file = openFile(path, 'r')
  try {
    await syncFile(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Puts `bytes` at `path`, whether or not something was there: whoever reads sees the old file or the new one, whole.
 * The temporary name begins with a dot, which git skips in a refs directory. @throws as writeSynced
 */
export async function replaceFile(path: string, bytes: Uint8Array | string): Promise<void> {
  const dir = dirname(path)
  const temporary = join(dir, temporaryFile(basename(path)))
  await writeSynced(temporary, bytes)
  nameFile(temporary, path)
  await syncDirectory(dir)
}

/** Gives a synced file its name; where that fails the file goes. @throws as writeSynced; ENOENT, EISDIR as they are */
export function nameFile(temporary: string, path: string): void {
  try {
    renameSync(temporary, path)
  } catch (error) {
    discard(temporary)
    throw asStorageFault(error)
  }
}

/**
 * A sync that failed is never tried again: the kernel may have dropped the dirty pages and would answer "done".
 * The kernel reports each failed write-back once ("fsyncgate" of PostgreSQL, 2018).
 */
export function syncFile(file: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fsync(file, (error) => {
      if (error)
        reject(new GitError('storage_error', 'The file system could not sync', { sync: true }, { cause: error }))
      else resolve()
    })
  })
}

const waiting: (() => void)[] = []

/**
 * Waits for a turn of the event loop of one's own. Whoever makes several names in a row (about 1 ms for a commit) asks
 * first: 16 commits whose syncs end together would else keep everybody else waiting for 50 ms.
 */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(giveTurn)
  })
}

function giveTurn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(giveTurn)
}

/** All of them, to the end, even if one fails: nothing goes on behind the back of whoever cleans up. @throws the first failure */
export async function allDone(work: readonly (Promise<unknown> | undefined)[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work)) if (outcome.status === 'rejected') throw outcome.reason
}

function openFile(path: string, flags: 'r' | 'wx', mode?: number): number {
  try {
    return openSync(path, flags, mode)
  } catch (error) {
    throw asStorageFault(error)
  }
}

function writeLarge(file: number, bytes: Uint8Array | string): Promise<void> {
  return new Promise((resolve, reject) => {
    writeFile(file, bytes, (error) => (error ? reject(error) : resolve()))
  })
}

/** Removes a file that never got its name. */
export function discard(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // What is left under a temporary name is garbage, which the sweep takes.
  }
}
