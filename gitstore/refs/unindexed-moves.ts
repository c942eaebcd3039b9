/**
 * Transactions of this process whose moves the index does not have yet. Their folders stay until then, without locks: of a
 * process that dies in between, they name the repositories that are to be looked at.
 */
import { readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../errors.ts'
import type { Repo } from '../repo.ts'

/** By repository: the folders of transactions that have moved one of its refs. */
const unindexed = new Map<string, Set<string>>()
/** By folder: how many repositories are still to be indexed. */
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

/** The transactions that a look at the refs from now on takes in; for `markIndexed`. */
export function listUnindexed({ dir }: Repo): readonly string[] {
  return [...(unindexed.get(dir) ?? [])]
}

/** The index has what these transactions have moved in the repository. */
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

/** Removes the folder of a transaction, which has no meaning without locks. Retries folders that remain after the next one. */
export function removeFolder(folder: string): void {
  unremoved.add(folder)
  for (const each of unremoved) {
    try {
      for (const name of readdirSync(each)) unlinkSync(join(each, name))
      rmdirSync(each)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') return
    }
    unremoved.delete(each)
  }
}
