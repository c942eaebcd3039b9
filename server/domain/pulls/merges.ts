/** Merges a pull request by fast-forwarding the target to the source's head. */
import { type Decision, type RefName, updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import type { Role } from '../../../index/derived/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeNode, type NodeAccess, recheckAccess, reloadNode, requireRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { addsParents, headMovedError, withGraphLockIf } from '../branches/branch-commits.ts'
import { readTree } from '../branches/revisions.ts'
import { excerpt } from '../format/excerpt.ts'
import { authorOf } from '../format/signatures.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { branchRef, ledgerRef, main } from '../layout.ts'
import { type PullRecord, readPull } from '../ledger/ledger.ts'
import { reconcileMoves, writeEvents } from '../ledger/moved-branches.ts'
import { openPullsAt, toRow } from '../ledger/pull-ledger.ts'
import type { PullAt } from '../targets.ts'
import { type PullRequest, requireMergeable, stateOf } from './pull-state.ts'
import { findPullRow, pullAfter } from './pulls.ts'

export interface MergeInput {
  readonly expected_source_commit?: string
  readonly expected_target_branch?: string
}

/**
 * Moves the target to the source's head and writes the ledger in one transaction. A repeated merge of the same head
 * succeeds.
 *
 * @throws AppError with its merge_reason as code, head_moved, forbidden
 */
export async function mergePull(deps: Deps, actor: Person, at: PullAt, input: MergeInput): Promise<PullRequest> {
  let access = await authorizeNode(deps, actor, at, 'editor')
  for (let graph: Graph = 'unlocked'; ; graph = 'locked', access = await reloadNode(deps, access, 'editor')) {
    const row = await findPullRow(deps, at)
    requireRole(access, roleToMerge(access, row))
    const merge = () => attempt(deps, actor, access, row, input, graph)
    const outcome = await withGraphLockIf(deps, access, graph === 'locked', merge)
    await tryIndexNode(deps, at.orgId, at.nodeId)
    if (outcome === 'merged') return pullAfter(deps, access, at)
  }
}

/** The state of the organisation's graph lock while a merge is attempted. */
type Graph = 'unlocked' | 'locked'

type Outcome = 'merged' | 'graph must be locked'

function roleToMerge({ org }: NodeAccess, { target_branch }: PullRow): Role {
  return org.require_pull_requests && target_branch === 'main' ? 'maintainer' : 'editor'
}

/** Merges every pull request whose head the new head contains. A merge that adds a parent edge needs the graph lock. */
async function attempt(
  deps: Deps,
  actor: Person,
  access: NodeAccess,
  row: PullRow,
  input: MergeInput,
  graph: Graph,
): Promise<Outcome> {
  const { repo, org, node } = access
  const ledger: RefName = { repo, ref: ledgerRef }
  const target: RefName = { repo, ref: branchRef(row.target_branch) }
  return updateRefs(deps.store, [ledger, target], async (current): Promise<Decision<Outcome>> => {
    const before = current(ledger)
    if (!before) throw new AppError('pull_request_not_found', 'Pull request not found')
    const record = await readPull(repo, before, row.number)
    if (record.target_branch !== row.target_branch)
      throw new AppError(
        'head_moved',
        `The target of the pull request is now ${excerpt(record.target_branch)}; nothing was changed`,
      )
    if (record.status === 'merged') return repeated(record, input)
    await recheckAccess(deps, actor, org.id, roleToMerge(access, row))
    const { from, to } = await mergeable(deps, access, record, input)
    if (
      target.ref === main &&
      graph === 'unlocked' &&
      (await addsParents(repo, await readTree(repo, from), await readTree(repo, to)))
    ) {
      return { moves: [], value: 'graph must be locked' }
    }
    const situation = {
      open: await openPullsAt(deps.index.read, { repo, nodeId: node.id }, before),
      moves: new Map([[row.target_branch, { before: from, after: to }]]),
      headOf: (branch: string) => readRef(repo, branchRef(branch)),
    }
    const { events } = await reconcileMoves(access, situation, authorOf(actor), deps.now().toISOString())
    return {
      moves: [
        { ...target, to },
        { ...ledger, to: await writeEvents(access, before, events, actor.id) },
      ],
      value: 'merged',
    }
  })
}

function repeated(record: PullRecord, input: MergeInput): Decision<Outcome> {
  const { expected_source_commit: expected } = input
  if (expected !== undefined && expected !== record.source_commit) {
    throw new AppError('already_merged', 'The pull request was merged at another head', {
      current_head: record.source_commit,
    })
  }
  return { moves: [], value: 'merged' }
}

async function mergeable(
  deps: Deps,
  access: NodeAccess,
  record: PullRecord,
  input: MergeInput,
): Promise<{ from: Oid; to: Oid }> {
  const state = await stateOf(deps, access, toRow({ orgId: access.org.id, nodeId: access.node.id }, record))
  if (input.expected_target_branch !== undefined && input.expected_target_branch !== record.target_branch) {
    throw new AppError(
      'head_moved',
      `The target of the pull request is now ${excerpt(record.target_branch)}; nothing was changed`,
    )
  }
  if (state.source && input.expected_source_commit !== undefined && input.expected_source_commit !== state.source) {
    const detail = `The source branch has moved since you read it (now at ${state.source}); nothing was changed`
    throw headMovedError(detail, state.source)
  }
  return requireMergeable(state)
}
