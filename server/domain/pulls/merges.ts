/** Merges a pull request by fast-forwarding the target to the source's head. */
import { type Decision, type RefName, updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import { AppError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import { authorizeNode, type NodeAccess, recheckAccess, requireRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { addsParents, headMovedError, withGraphLockIf } from '../branches/branch-commits.ts'
import { readTree } from '../branches/revisions.ts'
import { judgeMerge, type MergeHeads, type PullJudgement } from '../consent/consent.ts'
import { type HeldRule, mergeRoleOf } from '../consent/judge.ts'
import { type Heads, rulesOfMove } from '../consent/places.ts'
import { requireOverridable } from '../consent/rule-checks.ts'
import { toRefusal } from '../consent/wording.ts'
import { withIntent } from '../event-log/note-intents.ts'
import { reloadNode } from '../indexing/freshness.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { branchRef, ledgerRef, main } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { type Overridden, type PullRecord, readPull } from '../ledger/ledger.ts'
import { reconcileMoves, writeEvents } from '../ledger/moved-branches.ts'
import { fromRow, openPullsAt, toRow } from '../ledger/pull-ledger.ts'
import type { Reconciled } from '../ledger/reconcile.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, Path, PullAt } from '../targets.ts'
import { type PullRequest, requireMergeable, stateOf } from './pull-state.ts'
import { findPullRow, inChangeSetError, pullAfter } from './pulls.ts'

export interface MergeInput {
  readonly expected_source_commit?: string
  readonly expected_target_branch?: string
  /** Merges in spite of rules that hold the pull request up. */
  readonly override?: { readonly reason: string }
}

/**
 * Moves the target to the source's head and writes the ledger in one transaction. A repeated merge of the same head
 * succeeds.
 *
 * @throws AppError with its merge_reason as code, head_moved, forbidden, token_scope
 */
export async function mergePull(
  ctx: Ctx<Person>,
  { path, body }: Path<PullAt> & Body<MergeInput>,
): Promise<PullRequest> {
  let access = await authorizeNode(ctx, path, 'editor')
  if (body.override) requireOverridable(ctx.actor, access, body.override.reason, ['body', 'override', 'reason'])
  let graph: Graph = 'unlocked'
  for (let tries = 0; tries < maxTries; tries++, access = await reloadNode(ctx, access, 'editor')) {
    const row = await findPullRow(ctx, path)
    const heads = headsOf(access, row)
    const rules = await rulesOfMove(ctx, access, access.org, row.target_branch, heads)
    requireRole(access, mergeRoleOf(rules))
    const ahead = await judgeAhead(ctx, access, row, rules, heads)
    const merge = () => attempt(ctx, access, row, { ...body, graph, ahead })
    const outcome = await withGraphLockIf(ctx, access, graph === 'locked', merge)
    await tryIndexNode(ctx, path.org_id, path.node_id)
    if (outcome === 'merged') return pullAfter(ctx, access, path)
    if (outcome === 'graph must be locked') graph = 'locked'
  }
  throw new AppError('busy', 'The branches keep moving; try again in a moment')
}

/** The most attempts of a merge. Another one follows if a branch moves, or adds a parent edge. */
const maxTries = 10

/** The state of the organisation's graph lock while a merge is attempted. */
type Graph = 'unlocked' | 'locked'

type Outcome = 'merged' | 'graph must be locked' | 'heads have moved'

interface Attempt extends MergeInput {
  readonly graph: Graph
  /** The heads that were judged before the locks. Undefined: there was nothing to judge. */
  readonly ahead: MergeHeads | undefined
}

/** Compares the commits that the judgement under the locks needs. Returns the heads that it has compared. */
async function judgeAhead(
  deps: Services,
  access: NodeAccess,
  row: PullRow,
  rules: readonly HeldRule[],
  { from, to }: Heads,
): Promise<MergeHeads | undefined> {
  if (rules.length === 0 || row.status !== 'open' || !to || !from) return undefined
  await judgeMerge(deps, access, fromRow(row), rules, { ledger: access.node.ledger, from, to })
  return { from, to }
}

function headsOf({ repo }: NodeAccess, row: Pick<PullRow, 'source_branch' | 'target_branch'>): Heads {
  return { to: readRef(repo, branchRef(row.source_branch)), from: readRef(repo, branchRef(row.target_branch)) }
}

/** Merges every pull request whose head the new head contains. A merge that adds a parent edge needs the graph lock. */
async function attempt(
  ctx: Ctx<Person>,
  access: NodeAccess,
  row: PullRow,
  { graph, ahead, ...input }: Attempt,
): Promise<Outcome> {
  const { repo, org, node } = access
  const ledger: RefName = { repo, ref: ledgerRef }
  const target: RefName = { repo, ref: branchRef(row.target_branch) }
  return updateRefs(ctx.store, [ledger, target], async (current): Promise<Decision<Outcome>> => {
    const before = current(ledger)
    if (!before) throw new AppError('pull_request_not_found', 'Pull request not found')
    const record = await readPull(repo, before, row.number)
    if (record.target_branch !== row.target_branch)
      throw new AppError(
        'head_moved',
        `The target of the pull request is now ${excerpt(record.target_branch)}; nothing was changed`,
      )
    if (record.status === 'merged') return repeated(record, input)
    if (record.change_set !== undefined) throw inChangeSetError('merge the change set instead')
    const rights = await recheckAccess(ctx, org.id, 'editor')
    const heads = headsOf(access, record)
    const rules = await rulesOfMove(ctx, access, rights.org, row.target_branch, heads)
    requireRole(rights, input.override ? 'owner' : mergeRoleOf(rules))
    const { from, to } = await mergeable(ctx, access, record, input)
    if (to !== heads.to) return { moves: [], value: 'heads have moved' }
    const isCompared = rules.length === 0 || (ahead?.from === from && ahead.to === to)
    if (!isCompared) return { moves: [], value: 'heads have moved' }
    const judgement = await judgeMerge(ctx, access, record, rules, { ledger: before, from, to })
    const overridden = requireConsent(ctx, judgement, input)
    if (
      target.ref === main &&
      graph === 'unlocked' &&
      (await addsParents(repo, await readTree(repo, from), await readTree(repo, to)))
    ) {
      return { moves: [], value: 'graph must be locked' }
    }
    const situation = {
      open: await openPullsAt(ctx.index.read, { repo, nodeId: node.id }, before),
      moves: new Map([[row.target_branch, { before: from, after: to }]]),
      // The source is not locked. It may have moved since its head was judged.
      headOf: (branch: string) => (branch === record.source_branch ? to : readRef(repo, branchRef(branch))),
    }
    const { events } = await reconcileMoves(access, situation, changedBy(ctx, ctx.actor))
    const written = events.map((event) =>
      event.record.number === row.number ? withOverride(event, overridden) : event,
    )
    const moves = [
      { ...target, to },
      { ...ledger, to: await writeEvents(access, before, written, ctx.actor.id) },
    ]
    return withIntent(ctx, ctx.actor, { moves, value: 'merged' })
  })
}

/**
 * Requires the consent that the rules demand. Returns the override, if the rules hold the pull request up and the owner
 * overrides them.
 *
 * @throws AppError the first reason as code
 */
function requireConsent(ctx: Ctx<Person>, judgement: PullJudgement, { override }: MergeInput): Overridden | undefined {
  const [first] = judgement.reasons
  if (first === undefined) return undefined
  if (override && judgement.mayOverride) {
    const reason = override.reason.trim()
    return {
      by: { id: ctx.actor.id, name: ctx.actor.name },
      at: ctx.now().toISOString(),
      reason,
      reasons: judgement.reasons,
    }
  }
  const { detail } = toRefusal(first, judgement)
  const note = override ? '. A rule lets nobody override it' : ''
  throw new AppError(first, `${detail}${note}`, { merge_reasons: judgement.reasons })
}

function withOverride({ kind, record }: Reconciled, overridden: Overridden | undefined): Reconciled {
  return { kind, record: overridden ? { ...record, overridden } : record }
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
  deps: Services,
  access: NodeAccess,
  record: PullRecord,
  input: MergeInput,
): Promise<{ from: Oid; to: Oid }> {
  const state = await stateOf(deps, access, toRow({ org_id: access.org.id, node_id: access.node.id }, record))
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
