/** Compares two branches, tags or commits. */

import { noOid } from '../../../gitstore/repo.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import type { RequestCtx } from '../services.ts'
import type { NodeAt, Path, Query } from '../targets.ts'
import { readDiff } from './commit-views.ts'
import { createLargeRead } from './large-reads.ts'
import { requireCommit } from './revisions.ts'
import { type CommitPair, commitPair, type DiffQuery, patchOf, textDiff } from './text-diffs.ts'

export interface CompareQuery extends DiffQuery {
  readonly base: string
  readonly head: string
  readonly direct?: 'true' | 'false'
}

/**
 * Compares two revisions. Returns the merge base, the commits on each side, and the changes of `head` since the merge
 * base, or with `direct` since `base`. With `text` also their hunks.
 *
 * @throws the errors of textDiff
 */
export async function compare(
  ctx: RequestCtx,
  { path, query }: Path<NodeAt> & Query<CompareQuery & { readonly text?: 'true' | 'false' }>,
) {
  const access = await authorizeNode(ctx, path, 'public')
  const { base, head, fork, since } = await commitsOf(access, query)
  const { ahead, behind } = await access.history.divergence(base, head)
  const comparison = {
    node_id: path.node_id,
    base: query.base,
    head: query.head,
    base_commit: base,
    head_commit: head,
    merge_base: fork,
    commits_ahead: ahead,
    commits_behind: behind,
    changes: await readDiff(access.repo, path.node_id, since, head, createLargeRead(ctx)),
  }
  if (query.text !== 'true') return comparison
  return { ...comparison, text: (await textDiff(ctx, access, { base: since, target: head }, query)).body }
}

/**
 * Returns the changes of `head` as a patch. It begins at the merge base, with `direct` at `base`, or without `base` at the
 * first parent.
 *
 * @throws the errors of patchOf
 */
export async function comparePatch(
  ctx: RequestCtx,
  { path, query }: Path<NodeAt> & Query<Omit<CompareQuery, 'base'> & { readonly base?: string }>,
): Promise<Buffer> {
  const access = await authorizeNode(ctx, path, 'public')
  if (query.base === undefined)
    return patchOf(ctx, access, await commitPair(access, query.head, 'branch_not_found'), query)
  const { head, since } = await commitsOf(access, { ...query, base: query.base })
  const pair: CommitPair = { base: since, target: head }
  return patchOf(ctx, access, pair, query)
}

/**
 * Resolves both names. `since`: the commit that the changes begin at; null if everything is added. The base may be
 * `noOid`, the target of a pull request that creates the node.
 */
async function commitsOf(access: NodeAccess, names: CompareQuery) {
  const base = names.base === noOid ? noOid : await requireCommit(access, names.base)
  const head = await requireCommit(access, names.head)
  const fork = (await access.history.mergeBase(base, head)) ?? null
  return { base, head, fork, since: names.direct === 'true' && base !== noOid ? base : fork }
}
