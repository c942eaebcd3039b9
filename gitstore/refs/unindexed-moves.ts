/**
 * Tracks transactions of this process whose moves the index does not have yet. Their folders stay until then, without
 * locks. If the process dies in between, they name the repositories to check.
 */
import { rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { codeOf } from '../errors.ts'
import { ignoreMissing, listNames } from '../fs-exists.ts'
import type { Repo } from '../repo.ts'
import { ownerPath } from './ref-lock.ts'

/** The folders of transactions that have moved a ref, by repository. */
const unindexed = new Map<string, Set<string>>()
/** How many repositories are still to be indexed, by folder. */
const left = new Map<string, number>()

/** Keeps the folder of a transaction until each of the repositories is indexed. */
export function keepIntentUntilIndexed(folder: string, repos: readonly Repo[]): void {
  const dirs = new Set(repos.map(({ dir }) => dir))
  for (const dir of dirs) {
    const folders = unindexed.get(dir)
    if (folders) folders.add(folder)
    else unindexed.set(dir, new Set([folder]))
  }
  left.set(folder, dirs.size)
}

/** Lists the transactions that reading the refs now includes, for `markIndexed`. */
export function listUnindexed({ dir }: Repo): readonly string[] {
  return [...(unindexed.get(dir) ?? [])]
}

/** Records that the index has the moves of these transactions in the repository. */
export function markIndexed({ dir }: Repo, folders: readonly string[]): void {
  const known = unindexed.get(dir)
  for (const folder of folders) {
    if (!known?.delete(folder)) continue
    const others = (left.get(folder) ?? 1) - 1
    if (others > 0) left.set(folder, others)
    else {
      left.delete(folder)
      removeFolder(folder)
    }
  }
  if (known?.size === 0) unindexed.delete(dir)
}

/** Limits the threads of the pool that removals take from syncs. */
const limit = pLimit(4)
const removing = new Set<Promise<void>>()
/** Folders that could not be removed. */
const unremoved = new Set<string>()
const retryMs = 1000
let retry: NodeJS.Timeout | undefined

/**
 * Begins to remove the folder of a transaction, which is meaningless without locks. A folder that remains is retried
 * each second, because maintenance mode waits until no folder is left.
 *
 * The thread pool does the work. On ext4 `rmdir` waits for the journal: 2.4 ms on average while 16 clients commit.
 */
export function removeFolder(folder: string): void {
  const removal = limit(() => removeNow(folder))
    .catch(() => {
      unremoved.add(folder)
      if (retry === undefined) retry = setTimeout(retryUnremoved, retryMs).unref()
    })
    .finally(() => removing.delete(removal))
  removing.add(removal)
}

/** Resolves when no removal runs. Folders that could not be removed remain. */
export async function endRemovals(): Promise<void> {
  while (removing.size > 0) await Promise.all(removing)
}

function retryUnremoved(): void {
  retry = undefined
  const folders = [...unremoved]
  unremoved.clear()
  folders.forEach(removeFolder)
}

/** Removes the folder of a transaction. After a single move it holds only its token, and is not listed. */
async function removeNow(folder: string): Promise<void> {
  await ignoreMissing(unlink(ownerPath(folder)))
  try {
    await ignoreMissing(rmdir(folder))
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error
    for (const name of await listNames(folder)) await ignoreMissing(unlink(join(folder, name)))
    await ignoreMissing(rmdir(folder))
  }
}
