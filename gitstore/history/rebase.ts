/** Rebases commits onto another head without a work tree. Moves no ref. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError } from '../errors.ts'
import { type Person, readCommit, readMessage } from '../objects/commits.ts'
import { newObjectBatch, type ObjectBatch } from '../objects/object-batch.ts'
import { applyChanges, type PathChange } from '../objects/tree-changes.ts'
import { emptyTree, findEntry } from '../objects/trees.ts'
import type { Oid, Repo } from '../repo.ts'
import { maxMergedEntries, mergeInto } from './merge-three.ts'
import { scratchObjectsOf } from './scratch-objects.ts'
import type { Budget, Trees } from './tree-merge.ts'

export interface Rebasing {
  /** The commits that the source has and `onto` lacks, oldest first. */
  readonly commits: readonly Oid[]
  readonly onto: Oid
  readonly committer: Person
  /** Returns the message of a rebased commit. Default: the same. */
  readonly reword?: (message: string) => string
  /**
   * The contents of paths in the result, which somebody decided. Null: no file. A path has its content from the first
   * commit on that changes it, so it cannot conflict.
   */
  readonly decided?: ReadonlyMap<string, Uint8Array | null>
  /** Ends the rebase between two commits, and a running Git process at once. */
  readonly signal?: AbortSignal
}

/** Bytes of new trees and commits that are held in memory before they are saved. */
const maxUnsavedBytes = 16 * 1024 * 1024

/**
 * Rebases `commits` onto `onto`, each with a three-way merge of trees. Like `git rebase`, it skips merge commits and
 * keeps author and message. It drops commits that have become empty, and keeps commits that already were. It also keeps
 * those that change a decided path, so that their authors stay, unless all commits together change nothing. Saves the new
 * objects and returns the last commit, or `onto` if none is left. Every tree must be on disk. A commit takes about 25
 * ms if it changes a path that the other side has also changed, and 1 ms otherwise.
 *
 * @throws GitError merge_conflict (facts.paths: sorted; facts.commit: the commit that conflicts), limit_exceeded (trees
 *   too large), native_failed, and the errors of ObjectBatch.save
 * @throws GitError path_conflict (facts.path: no commit changes it, or a file is in the place of a directory)
 * @throws the signal's reason
 */
export async function rebase(
  repo: Repo,
  { commits, onto, committer, reword, decided, signal }: Rebasing,
): Promise<Oid> {
  let batch = newObjectBatch(repo)
  const scratch = scratchObjectsOf(repo)
  const budget: Budget = { entries: maxMergedEntries }
  const decisions = await readDecisions(batch, decided)
  try {
    let head = onto
    const first = (await readCommit(repo, onto)).tree
    let ours = first
    for (const oid of commits) {
      signal?.throwIfAborted()
      await nextTurn()
      const commit = await readCommit(repo, oid)
      const [parent, second] = commit.parents
      if (second !== undefined) continue
      const base = parent === undefined ? emptyTree : (await readCommit(repo, parent)).tree
      const { trees, isDecided } = await decisions.applyTo(batch, { base, ours, theirs: commit.tree })
      const merged = await mergeInto(batch, scratch, trees, budget, signal ? { signal } : {})
      if (!('tree' in merged))
        throw new GitError('merge_conflict', 'The changes conflict', { paths: merged.conflicts, commit: oid })
      const { tree } = merged
      if (tree === ours && base !== commit.tree && !isDecided) continue
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
    decisions.requireAllUsed()
    if (ours === first && decided) return onto
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

interface Decisions {
  /** Puts the decided contents into both sides. `isDecided`: the commit changes one of their paths. */
  applyTo(batch: ObjectBatch, trees: Trees): Promise<{ readonly trees: Trees; readonly isDecided: boolean }>
  /** @throws GitError path_conflict */
  requireAllUsed(): void
}

/** The batch receives the contents. */
async function readDecisions(batch: ObjectBatch, decided: Rebasing['decided'] = new Map()): Promise<Decisions> {
  const blobs = new Map<string, Oid | null>()
  for (const [path, bytes] of decided) blobs.set(path, bytes === null ? null : await batch.blob(bytes))
  const used = new Map<string, PathChange>()
  return {
    applyTo: async (into, { base, ours, theirs }) => {
      let isDecided = false
      for (const [path, blob] of blobs) {
        const [before, after] = [await findEntry(into.repo, base, path), await findEntry(into.repo, theirs, path)]
        if (before?.oid === after?.oid && before?.mode === after?.mode) continue
        isDecided = true
        used.set(path, { path, blob })
      }
      if (used.size === 0) return { trees: { base, ours, theirs }, isDecided }
      const put = (tree: Oid) => applyChanges(into, tree, [...used.values()])
      return { trees: { base, ours: await put(ours), theirs: await put(theirs) }, isDecided }
    },
    requireAllUsed: () => {
      const path = [...blobs.keys()].find((one) => !used.has(one))
      if (path !== undefined) throw new GitError('path_conflict', 'No commit changes this path', { path })
    },
  }
}

function sizeOf(batch: ObjectBatch): number {
  let bytes = 0
  for (const { content } of batch.repo.pending?.values() ?? []) bytes += content.length
  return bytes
}
