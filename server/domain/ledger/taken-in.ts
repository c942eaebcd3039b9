/** Which commits the move of a branch brought in. */

import type { History } from '../../../gitstore/history/history.ts'
import { findCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'

/** Commits of a move that are listed, 1 µs each. For longer moves each head is asked about, 200 µs each. */
const listedCommits = 2_000

/**
 * Those of `heads` that `after` reaches and `before` does not. None if `before` was garbage-collected after a forced move:
 * then it is unknown what was new.
 */
export async function takenIn(
  { repo, history }: { readonly repo: Repo; readonly history: History },
  before: Oid,
  after: Oid,
  heads: ReadonlySet<Oid>,
): Promise<Set<Oid>> {
  if (heads.size === 0 || !(await findCommit(repo, before))) return new Set()
  const { ahead } = await history.divergence(before, after)
  if (ahead === 0) return new Set()
  if (ahead <= listedCommits) return new Set((await history.between(before, after)).filter((oid) => heads.has(oid)))
  const taken = new Set<Oid>()
  for (const head of heads)
    if ((await history.contains(after, head)) && !(await history.contains(before, head))) taken.add(head)
  return taken
}
