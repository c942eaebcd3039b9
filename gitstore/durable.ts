/** Files that survive a power cut: written, synced, and named only then. Storage faults come out as GitError. */

import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { asStorageFault, GitError } from './errors.ts'

/**
 * Creates `path`, writes `bytes`, syncs and closes it. The name itself is durable only after `syncDirectory`.
 * A file that could not be written whole is removed again.
 *
 * @throws GitError storage_full, storage_readonly, storage_error (also for any failed sync, with facts.sync = true);
 *   system errors such as EEXIST and ENOENT as they are
 */
export async function writeSynced(path: string, bytes: Uint8Array | string, mode = 0o644): Promise<void> {
  let handle: FileHandle
  try {
    handle = await open(path, 'wx', mode)
  } catch (error) {
    throw asStorageFault(error)
  }
  try {
    try {
      await handle.writeFile(bytes)
      await syncHandle(handle)
    } finally {
      await handle.close()
    }
  } catch (error) {
    await unlink(path).catch(() => undefined)
    throw asStorageFault(error)
  }
}

/** Makes the names in `dir` durable. @throws as writeSynced; ENOENT as it is */
export async function syncDirectory(dir: string): Promise<void> {
  let handle: FileHandle
  try {
    handle = await open(dir, 'r')
  } catch (error) {
    throw asStorageFault(error)
  }
  try {
    await syncHandle(handle)
  } finally {
    await handle.close()
  }
}

/**
 * Puts `bytes` at `path`, whether or not something was there: whoever reads sees the old file or the new one, whole.
 * The temporary name begins with a dot, which git skips in a refs directory. @throws as writeSynced
 */
export async function replaceFile(path: string, bytes: Uint8Array | string): Promise<void> {
  const dir = dirname(path)
  const temporary = join(dir, `.tmp-${basename(path).slice(0, 100)}-${randomBytes(8).toString('hex')}`)
  await writeSynced(temporary, bytes)
  try {
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw asStorageFault(error)
  }
  await syncDirectory(dir)
}

/**
 * A sync that failed is never tried again: the kernel may have dropped the dirty pages and would answer "done".
 * Source: reliability.md §2, "fsyncgate".
 */
export async function syncHandle(handle: FileHandle): Promise<void> {
  try {
    await handle.sync()
  } catch (error) {
    throw new GitError('storage_error', 'The file system could not sync', { sync: true }, { cause: error })
  }
}
