/** Reverts a range of commits as one, without a work tree. Moves no ref. */
import { type Person, readCommit } from '../objects/commits.ts'
import { newObjectBatch } from '../objects/object-batch.ts'
import type { Oid, Repo } from '../repo.ts'
import { rebase } from './rebase.ts'

export interface Reverting {
  /** The range to revert: the commit before it, and its last commit. */
  readonly before: Oid
  readonly last: Oid
  /** The head that the revert is for. */
  readonly onto: Oid
  /** Author and committer. */
  readonly person: Person
  readonly message: string
  /** Ends a running Git process. */
  readonly signal?: AbortSignal
}

/**
 * Reverts everything that `last` changed since `before`, as one commit on `onto`. Its tree is that of `git revert` for
 * one commit with the changes of the whole range. Saves the new objects and returns the commit. Returns undefined if
 * `onto` has nothing of the range, or the range changed nothing.
 *
 * @throws the errors of rebase
 */
export async function revert(repo: Repo, reverting: Reverting): Promise<Oid | undefined> {
  const { before, last, onto, person, message, signal } = reverting
  const [{ tree }, changed] = [await readCommit(repo, before), await readCommit(repo, last)]
  if (tree === changed.tree) return undefined
  // A revert is a rebase of the inverse commit. That one is only needed in memory.
  const draft = newObjectBatch(repo)
  const inverse = await draft.commit({ tree, parents: [last], author: person, committer: person, message })
  const head = await rebase(draft.repo, { commits: [inverse], onto, committer: person, ...(signal && { signal }) })
  return head === onto ? undefined : head
}
