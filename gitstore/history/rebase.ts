/** Rebases commits onto another head without a work tree. Moves no ref. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError } from '../errors.ts'
import { type Person, readCommit, readMessage } from '../objects/commits.ts'
import { newObjectBatch, type ObjectBatch } from '../objects/object-batch.ts'
import { emptyTree } from '../objects/trees.ts'
import type { Oid, Repo } from '../repo.ts'
import { maxMergedEntries, mergeInto } from './merge-three.ts'
import { scratchObjectsOf } from './scratch-objects.ts'
import type { Budget } from './tree-merge.ts'

export interface Rebasing {
  /** The commits that the source has and `onto` lacks, oldest first. */
  readonly commits: readonly Oid[]
  readonly onto: Oid
  readonly committer: Person
  /** Returns the message of a rebased commit. Default: the same. */
  readonly reword?: (message: string) => string
  /** Ends the rebase between two commits, and a running Git process at once. */
  readonly signal?: AbortSignal
}

/** Bytes of new trees and commits that are held in memory before they are saved. */
const maxUnsavedBytes = 16 * 1024 * 1024

/**
 * Rebases `commits` onto `onto`, each with a three-way merge of trees. Like `git rebase`, it skips merge commits and
 * keeps author and message. It drops commits that have become empty, and keeps commits that already were. Saves the new
 * objects and returns the last commit, or `onto` if none is left. Every tree must be on disk. A commit takes about 25
 * ms if it changes a path that the other side has also changed, and 1 ms otherwise.
 *
 * @throws GitError merge_conflict (facts.paths: sorted; facts.commit: the commit that conflicts), limit_exceeded (trees
 *   too large), native_failed, and the errors of ObjectBatch.save
 * @throws the signal's reason
 */
export async function rebase(repo: Repo, { commits, onto, committer, reword, signal }: Rebasing): Promise<Oid> {
  let batch = newObjectBatch(repo)
  const scratch = scratchObjectsOf(repo)
  const budget: Budget = { entries: maxMergedEntries }
  try {
    let head = onto
    let ours = (await readCommit(repo, onto)).tree
    for (const oid of commits) {
      signal?.throwIfAborted()
      await nextTurn()
      const commit = await readCommit(repo, oid)
      const [parent, second] = commit.parents
      if (second !== undefined) continue
      const base = parent === undefined ? emptyTree : (await readCommit(repo, parent)).tree
      const merged = await mergeInto(
        batch,
        scratch,
        { base, ours, theirs: commit.tree },
        budget,
        signal ? { signal } : {},
      )
      if (!('tree' in merged))
        throw new GitError('merge_conflict', 'The changes conflict', { paths: merged.conflicts, commit: oid })
      const { tree } = merged
      if (tree === ours && base !== commit.tree) continue
      const message = await readMessage(repo, oid)
      head = await batch.commit({
        tree,
        parents: [head],
        author: commit.author,
        committer,
        message: reword?.(message) ?? message,
      })
      ours = tree
      if (sizeOf(batch) <= maxUnsavedBytes) continue
      await batch.save()
      batch = newObjectBatch(repo)
    }
    await batch.save()
    return head
  } catch (error) {
    // A Git process that the signal ended fails with another error.
    signal?.throwIfAborted()
    throw error
  } finally {
    await scratch.remove()
  }
}

function sizeOf(batch: ObjectBatch): number {
  let bytes = 0
  for (const { content } of batch.repo.pending?.values() ?? []) bytes += content.length
  return bytes
}
