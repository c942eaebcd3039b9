/**
 * Tracks repositories that are read-only because a sync has failed. They become writable when everything in them has
 * been read and synced again.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { syncDirectory, syncPath } from '../durable.ts'
import { asStorageError, codeOf, GitError } from '../errors.ts'
import { listNames } from '../fs-exists.ts'
import { findDamage } from '../objects/fsck.ts'
import type { Repo } from '../repo.ts'

const readOnly = new Set<string>()

/** Returns true if the repository was not read-only before. */
export function markReadOnly({ dir }: Repo): boolean {
  if (readOnly.has(dir)) return false
  readOnly.add(dir)
  return true
}

/** The number of repositories that this process treats as read-only. */
export function countReadOnly(): number {
  return readOnly.size
}

/** @throws GitError storage_error */
export function refuseReadOnly({ dir }: Repo): void {
  if (readOnly.has(dir))
    throw new GitError('storage_error', 'A sync failed in this repository; it is read-only until it has been checked')
}

/**
 * Reads every object and syncs every file and folder, then makes the repository writable again. Returns false if Git
 * finds a fault. A missing repository counts as checked.
 *
 * @throws GitError storage_error if it still cannot be synced, native_failed
 */
export async function checkReadOnly(repo: Repo): Promise<boolean> {
  if ((await findDamage(repo)) && (await listNames(repo.dir)).length > 0) return false
  await syncFolder(repo.dir, pLimit(16))
  readOnly.delete(repo.dir)
  return true
}

async function syncFolder(dir: string, limit: ReturnType<typeof pLimit>): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(unlessGone)
  if (entries === undefined) return
  await Promise.all(
    entries.map((entry) => {
      const path = join(dir, entry.name)
      return entry.isDirectory() ? syncFolder(path, limit) : limit(() => syncPath(path).catch(unlessGone))
    }),
  )
  await limit(() => syncDirectory(dir).catch(unlessGone))
}

/** Ignores files that concurrent work has removed: locks, temporary files, folders of objects. */
function unlessGone(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw asStorageError(error)
}
