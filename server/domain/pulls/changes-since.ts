/** The changes of a pull request since a head that somebody reviewed. */
import { isReachable } from '../../../gitstore/history/history.ts'
import { findCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { type CommitDiff, readTreeDiff } from '../branches/commit-views.ts'
import { createLargeRead, readBounded } from '../branches/large-reads.ts'
import { findTree, resolveCommit } from '../branches/revisions.ts'
import { type DiffQuery, type TextDiff, textDiffOf } from '../branches/text-diffs.ts'
import { type Change, mergeApproved, mergeBaseOf } from '../consent/same-change.ts'
import { ledgerRef } from '../layout.ts'
import type { RequestCtx } from '../services.ts'
import type { Path, PullAt, Query } from '../targets.ts'
import { headsOf } from './pull-state.ts'
import { findPullRow } from './pulls.ts'

export interface SinceQuery extends DiffQuery {
  /** The head that was reviewed. */
  readonly commit: Oid
  /** The base of that review. Default: the only merge base of the commit and the target's head. */
  readonly base?: Oid
  readonly text?: 'true' | 'false'
}

interface Differences {
  /** `merge`: the reviewed change, merged onto the current base, is compared. `heads`: the reviewed head is. */
  readonly basis: 'merge' | 'heads'
  readonly changes: CommitDiff
  /** Absent without `text`. */
  readonly text?: TextDiff
}

/**
 * Returns the changes of a pull request since a reviewed head.
 *
 * @throws AppError pull_request_not_found, commit_not_found, and the errors of changesSince
 * @throws ValidationError the base is not an ancestor of the commit
 */
export async function getPullChangesSince(ctx: RequestCtx<Person>, { path, query }: Path<PullAt> & Query<SinceQuery>) {
  const access = await authorizeNode(ctx, path, 'reader')
  const { history } = access
  const { target_commit, source_commit } = headsOf(access, await findPullRow(ctx, path))
  const head = await requireReviewed(ctx, access, query.commit)
  if (query.base !== undefined && !(await history.contains(head, query.base)))
    throw invalid(['query', 'base'], 'The base must be an ancestor of the commit', query.base)
  const approved = { base: query.base ?? (await mergeBaseOf(history, target_commit, head)), head }
  const present = { base: await mergeBaseOf(history, target_commit, source_commit), head: source_commit }
  const found = await changesSince(ctx, access, { approved, present, query })
  if (!found) throw commitNotFound(source_commit)
  return { node_id: path.node_id, commit: head, base: approved.base, source_commit, merge_base: present.base, ...found }
}

interface Comparing {
  readonly approved: Change
  readonly present: Change
  readonly query: Pick<SinceQuery, 'text' | 'path'>
}

/**
 * Compares the current head with the approved change. That change is first merged onto the current base, so that the
 * target's own changes do not appear. If it cannot be merged, the two heads are compared. Returns undefined if one of
 * them is missing.
 *
 * @throws AppError too_large, busy; ValidationError the path is invalid
 * @throws the signal's reason, and the errors of mergeApproved
 */
async function changesSince(
  ctx: RequestCtx,
  { node, repo }: Pick<NodeAccess, 'node' | 'repo'>,
  { approved, present, query }: Comparing,
): Promise<Differences | undefined> {
  const [before, to] = [await findTree(repo, approved.head), await findTree(repo, present.head)]
  if (before === null || to === null) return undefined
  const merged = await mergeApproved(repo, approved, present, ctx.request.signal)
  const isMerged = merged.outcome === 'merged'
  const from = isMerged ? merged.tree : before
  const reader: Repo = isMerged ? merged.repo : repo
  const pair = { base: approved.head, target: present.head }
  const trees = { nodeId: node.id, ...pair, from, to }
  const basis = isMerged ? ('merge' as const) : ('heads' as const)
  const changes = await readTreeDiff(reader, trees, createLargeRead(ctx))
  if (query.text !== 'true') return { basis, changes }
  const key = `since ${node.id} ${approved.head} ${present.head} ${from}`
  const compared = { key, nodeId: node.id, repo: reader, pair, trees: async () => ({ from, to }) }
  return { basis, changes, text: (await textDiffOf(ctx, compared, query)).body }
}

/**
 * Resolves a head that was reviewed. After a forced push no branch may contain it, and the ledger keeps it.
 *
 * @throws AppError commit_not_found, too_large, busy; the signal's reason
 */
async function requireReviewed(ctx: RequestCtx, access: NodeAccess, commit: Oid): Promise<Oid> {
  const visible = await resolveCommit(access, commit)
  if (visible !== undefined) return visible
  const { repo } = access
  const ledger = readRef(repo, ledgerRef)
  if (ledger === null || !(await findCommit(repo, commit))) throw commitNotFound(commit)
  const isKept = await readBounded(ctx, tooLong, (bounds) => isReachable(repo, ledger, commit, bounds))
  if (!isKept) throw commitNotFound(commit)
  return commit
}

const tooLong =
  'Searching the reviews for this commit takes longer than 10 seconds; try again after the next maintenance of the node'

function commitNotFound(commit: Oid): AppError {
  return new AppError('commit_not_found', `There is no commit ${commit}`)
}
