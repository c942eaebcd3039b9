/** Merges three trees in this process or with Git. Git must decide if both sides changed a path. */
import { newObjectBatch, type ObjectBatch } from '../objects/object-batch.ts'
import type { Oid, Repo } from '../repo.ts'
import { type GitBounds, type Merged, nativeMerge } from './native-merge.ts'
import { type ScratchObjects, scratchObjectsOf } from './scratch-objects.ts'
import { type Budget, mergeTrees, type Trees } from './tree-merge.ts'

/** Tree entries that one merge or rebase may read and write here. About 2 s of CPU time. */
export const maxMergedEntries = 1_000_000

/** Merges into the batch, which receives the new objects. @throws the errors of mergeTrees and nativeMerge */
export async function mergeInto(
  batch: ObjectBatch,
  scratch: ScratchObjects,
  trees: Trees,
  budget: Budget,
  bounds: GitBounds,
): Promise<Merged> {
  const tree = await mergeTrees(batch, trees, budget)
  return tree === undefined ? nativeMerge(batch, scratch, trees, bounds) : { tree }
}

/** A tree with a repository that reads it, or conflicts. Their paths are sorted by their bytes. */
export type ThreeWayMerge =
  | { readonly tree: Oid; readonly repo: Repo }
  | { readonly conflicts: readonly string[]; readonly repo?: never }

/**
 * Merges the changes from `base` to `theirs` into `ours`, as `git merge-tree` does. Nothing is saved in the repository:
 * the new objects are pending in the `repo` of the result. Takes about 25 ms if both sides changed a path, and 1 ms
 * otherwise.
 *
 * @throws GitError limit_exceeded (trees too large), native_failed (out of time with facts.timedOut), busy, storage_*,
 *   and the errors of readTree
 * @throws the signal's reason
 */
export async function mergeThreeTrees(repo: Repo, trees: Trees, bounds: GitBounds = {}): Promise<ThreeWayMerge> {
  bounds.signal?.throwIfAborted()
  const batch = newObjectBatch(repo)
  const scratch = scratchObjectsOf(repo)
  try {
    const merged = await mergeInto(batch, scratch, trees, { entries: maxMergedEntries }, bounds)
    return 'tree' in merged ? { tree: merged.tree, repo: batch.repo } : merged
  } catch (error) {
    // A Git process that the signal ended fails with another error.
    bounds.signal?.throwIfAborted()
    throw error
  } finally {
    await scratch.remove()
  }
}
