/**
 * Tracks transactions of this process whose moves the index does not have yet. Their folders stay until then, without
 * locks. If the process dies in between, they name the repositories to check.
 */
import { readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../errors.ts'
import type { Repo } from '../repo.ts'

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

const unremoved = new Set<string>()
const retryMs = 1000
let retry: NodeJS.Timeout | undefined

/**
 * Removes the folder of a transaction, which is meaningless without locks. A folder that remains is retried each second
 * and with the next one, because maintenance mode waits until no folder is left.
 */
export function removeFolder(folder: string): void {
  unremoved.add(folder)
  removeUnremoved()
}

function removeUnremoved(): void {
  clearTimeout(retry)
  for (const each of unremoved) {
    try {
      for (const name of readdirSync(each)) unlinkSync(join(each, name))
      rmdirSync(each)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') {
        retry = setTimeout(removeUnremoved, retryMs).unref()
        return
      }
    }
    unremoved.delete(each)
  }
}
