/** What the source of a pull request changed since the merge base: entities, hunks, a patch. */
import type { Deps } from '../../base/deps.ts'
import { nodeFor } from '../access.ts'
import type { Asker, Person } from '../actor.ts'
import type { PullAt } from '../at.ts'
import { readDiff } from '../branches/commit-views.ts'
import { largeReadBy } from '../branches/large-reads.ts'
import { type CommitPair, type DiffQuery, patchOf, textDiff } from '../branches/text-diffs.ts'
import { toPull } from './pull-views.ts'
import { rowFor } from './pulls.ts'

/** @throws Refusal as pairOf, too_large, busy; the signal's reason */
export async function readPullChanges(deps: Deps, asker: Asker<Person>, at: PullAt) {
  const { access, pair } = await pairOf(deps, asker.actor, at)
  return readDiff(access.repo, at.nodeId, pair.base, pair.target, largeReadBy(asker))
}

/** @throws as textDiff */
export async function readPullDiff(deps: Deps, asker: Asker<Person>, at: PullAt, query: DiffQuery) {
  const { access, pair } = await pairOf(deps, asker.actor, at)
  return textDiff(deps, asker, access, pair, query)
}

/** @throws as patchOf */
export async function readPullPatch(deps: Deps, asker: Asker<Person>, at: PullAt, query: DiffQuery): Promise<Buffer> {
  const { access, pair } = await pairOf(deps, asker.actor, at)
  return patchOf(deps, asker, access, pair, query)
}

/** Where source and target parted, and the source. */
export async function pairOf(deps: Deps, actor: Person, at: PullAt) {
  const access = await nodeFor(deps, actor, at, 'reader')
  const pull = await toPull(deps, access, await rowFor(deps, at))
  const { target_commit, source_commit } = pull
  const fork = await access.history.mergeBase(target_commit, source_commit)
  const pair: CommitPair = { base: fork ?? null, target: source_commit }
  return { access, pair, pull }
}
