/** Walks the commits of a ledger, or of org.git, that are not recorded yet. */
import { readCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import { parseSeal } from './ledger-events.ts'

export interface NewCommits {
  /** Oldest first. */
  readonly commits: readonly Oid[]
  /** True if the history no longer contains the recorded commit. Then `commits` is the whole history. */
  readonly isReset: boolean
  /** The numbers of pull requests that these commits erase, by commit. */
  readonly erased: ReadonlyMap<Oid, number>
}

/** Yields to the event loop as often as a tree of this many entries would. */
const costOfCommit = 20

/**
 * Lists the commits from `from` (null: from the root) to `to`, along first parents. An erasure replaces the history; its
 * last commit says which one, so that the walk ends there.
 */
export async function listNewCommits(repo: Repo, from: Oid | null, to: Oid): Promise<NewCommits> {
  const commits: Oid[] = []
  const erased = new Map<Oid, number>()
  const pace = createYielder()
  for (let oid: Oid | undefined = to; oid !== undefined && oid !== from; ) {
    const { parents, message } = await readCommit(repo, oid)
    commits.push(oid)
    const seal = parseSeal(message)
    if (seal?.pull !== undefined) erased.set(oid, seal.pull)
    if (from !== null && seal?.from === from) return { commits: commits.reverse(), isReset: false, erased }
    oid = parents[0]
    if (oid === undefined) return { commits: commits.reverse(), isReset: from !== null, erased }
    if (pace.shouldYield(costOfCommit)) await pace.yieldToEventLoop()
  }
  return { commits: commits.reverse(), isReset: false, erased }
}
