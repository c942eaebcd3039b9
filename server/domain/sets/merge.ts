/**
 * Merges a set: all of its pages or none. Everything is judged and built without locks. Under the locks, only the refs
 * that the judgement read are compared, and the caller and the rules are checked again.
 */
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { type RefName, updateRefs, withRefLock } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { noOid, type Oid } from '../../../gitstore/repo.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg, type OrgAccess, recheckAccess, requireRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { headMovedError, withGraphLockOn } from '../branches/branch-commits.ts'
import { requireOverridable } from '../consent/rule-checks.ts'
import { toRefusal } from '../consent/wording.ts'
import { withIntent } from '../event-log/note-intents.ts'
import { nodeFile } from '../format/paths.ts'
import { branchRef, ledgerRef, main, orgRepo } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import {
  addEvents,
  type NodeRecord,
  type Overridden,
  type PullAct,
  readNodeRecord,
  readPull,
} from '../ledger/ledger.ts'
import { reconcileMoves, toActs } from '../ledger/moved-branches.ts'
import { endPull, openPullsAt, withHeads } from '../ledger/pull-ledger.ts'
import type { ChangedBy } from '../ledger/reconcile.ts'
import { readSet, type SetItem, type SetRecord, setEvents, setsOf } from '../ledger/set-ledger.ts'
import type { MergeInput } from '../pulls/merges.ts'
import type { Ctx } from '../services.ts'
import type { Body, Path, SetAt } from '../targets.ts'
import { toMergeProblem } from '../types/content-problems.ts'
import { discardMerged } from './discard.ts'
import { refuseManyEdges } from './items.ts'
import { findShown } from './open.ts'
import { tryIndexSets } from './set-changes.ts'
import { graphProblemsOf, judgeSet, type OpenItem, rulesOf, type SetState } from './state.ts'
import { type ChangeSet, findSet, settleSets } from './views.ts'

interface SetMerge extends Pick<MergeInput, 'override'> {
  /** The version that the caller has read. */
  readonly expected_version?: string
}

/** The most attempts. Another one follows when a ref has moved since it was judged. */
const maxTries = 10

/**
 * Merges a set. A repeated merge succeeds.
 *
 * @throws AppError its first reason as code, head_moved, forbidden, token_scope, busy
 */
export async function mergeChangeSet(
  ctx: Ctx<Person>,
  { path, body }: Path<SetAt> & Body<SetMerge>,
): Promise<{ change_set: ChangeSet }> {
  for (let tries = 0; tries < maxTries; tries++) {
    const access = await authorizeOrg(ctx, path, 'editor')
    if (body.override) requireOverridable(ctx.actor, access, body.override.reason, ['body', 'override', 'reason'])
    const sets = setsOf(ctx, path.org_id)
    const from = readRef(sets.repo, sets.ref)
    await settleSets(ctx, path.org_id)
    const row = await findSet(ctx, path)
    if (row.status === 'merged') return { change_set: await findShown(ctx, access, row) }
    const ticket = await tryMerge(ctx, access, row, { ...body, sets, from }).catch(async (error: unknown) => {
      // A running merge moves page by page, and the judgement reads pages without locks.
      const isJudged = await withRefLock(ctx.store, sets, '', async () => readRef(sets.repo, sets.ref) === from)
      if (isJudged) throw error
    })
    if (!ticket) continue
    await discardMerged(
      ctx,
      path.org_id,
      ticket.items.filter(({ item }) => item.act === 'delete').map(({ item }) => item.access),
    )
    return { change_set: await findShown(ctx, access, row) }
  }
  throw new AppError('busy', 'The branches keep moving; try again in a moment')
}

/** The judged state, and the commits that the merge writes. */
interface Ticket {
  readonly number: number
  readonly state: SetState
  readonly items: readonly TicketItem[]
  /** The ledger of sets, with the judged commit and the one that records the merge. */
  readonly sets: RefName & { readonly from: Oid; readonly to: Oid }
  /** The commit of org.git's main, which decides rules, members and types. */
  readonly org: Oid | null
  readonly need: 'owner' | SetState['mergeRole']
}

interface TicketItem {
  readonly item: OpenItem
  /** The judged commit of the page's ledger, and the one that records the merge. */
  readonly ledger: { readonly from: Oid; readonly to: Oid }
}

interface Attempt extends SetMerge {
  readonly sets: RefName
  /** The ledger of sets, not newer than the row of the set. */
  readonly from: Oid | null
}

/** Undefined: something has changed since it was judged. @throws errors of prepare and attempt */
async function tryMerge(
  ctx: Ctx<Person>,
  access: OrgAccess,
  row: PullRow,
  input: Attempt,
): Promise<Ticket | undefined> {
  const ticket = await prepare(ctx, access, row, input)
  return (await attempt(ctx, access, ticket)) ? ticket : undefined
}

/** Judges the set, and writes the objects of the merge. @throws AppError its first reason as code, head_moved */
async function prepare(ctx: Ctx<Person>, access: OrgAccess, row: PullRow, input: Attempt): Promise<Ticket> {
  const { sets: name, from } = input
  const org = readRef(orgRepo(ctx.store, access.org.id), main)
  if (from === null) throw new AppError('change_set_not_found', 'Change set not found')
  const record = await readSet(name.repo, from, row.number)
  const state = await judgeSet(ctx, access, row)
  requireRole(access, state.mergeRole)
  if (input.expected_version !== undefined && input.expected_version !== state.version)
    throw headMovedError('A page of the change set has changed since you read it; nothing was merged', null)
  const overridden = requireReady(ctx, state, input)
  refuseManyEdges(state.open.map(({ move }) => move))
  const event = changedBy(ctx, ctx.actor)
  const items: TicketItem[] = []
  for (const item of state.open) items.push(await prepareItem(ctx, item, record.id, event, overridden))
  const draft = newObjectBatch(name.repo)
  const to = await setEvents(draft, from, {
    event: 'merge',
    record: mergedRecord(record, state.open, event, overridden),
    userId: ctx.actor.id,
  })
  await draft.save()
  const need = overridden ? 'owner' : state.mergeRole
  return { number: row.number, state, items, sets: { ...name, from, to }, org, need }
}

function mergedRecord(
  before: SetRecord,
  open: readonly OpenItem[],
  event: ChangedBy,
  overridden: Overridden | undefined,
): SetRecord {
  const items = before.items.map((one): SetItem => {
    const { act, from: base, head } = open.find(({ row }) => row.node_id === one.node_id) ?? {}
    return act === undefined || head === undefined ? one : { ...one, act, base: base ?? null, head }
  })
  return { ...before, ...event, status: 'merged', ended: event, items, ...(overridden && { overridden }) }
}

/**
 * Requires that nothing holds the set up. Returns the override, if only rules do and the owner overrides them.
 *
 * @throws AppError the first reason as code
 */
function requireReady(ctx: Ctx<Person>, state: SetState, { override }: SetMerge): Overridden | undefined {
  const [first] = state.reasons
  if (first === undefined) return undefined
  if (override && state.isOverridable)
    return {
      by: { id: ctx.actor.id, name: ctx.actor.name },
      at: ctx.now().toISOString(),
      reason: override.reason.trim(),
      reasons: state.reasons,
    }
  const held = state.open.filter(({ reasons }) => reasons.length > 0)
  throw new AppError(first, detailOf(first, state), {
    merge_reasons: state.reasons,
    items: held.map(({ row: { node_id }, pull, title, reasons, state: { problems } }) => ({
      ...{ node_id, number: pull.number, title, reasons },
      problems: problems.map(toMergeProblem),
    })),
  })
}

/** The sentence about the first reason, with the first page that it holds up. */
function detailOf(reason: SetState['reasons'][number], { open, ended }: SetState): string {
  const item = open.find(({ reasons }) => reasons.includes(reason))
  const title = `“${item?.title ?? ''}”`
  const consent = item?.judgement.reasons.find((one) => one === reason)
  if (item && consent) return `${title}: ${toRefusal(consent, item.judgement).detail}`
  const gone = ended.filter(({ reasons }) => reasons.includes('item_gone')).length
  const [problem] = item?.state.problems ?? []
  const sentences: Partial<Record<SetState['reasons'][number], string>> = {
    closed: 'The change set is closed; reopen it first',
    empty: 'No page of the change set is left to merge',
    draft: 'The change set is a draft; mark it as ready first',
    item_gone: `Pages of the change set were deleted (${gone}); remove them from it first`,
    source_branch_missing: 'The branch of a page was deleted; remove the page from the change set first',
    no_commits_ahead: `${title} has every commit of its proposal already; remove it from the change set first`,
    diverged: `${title} has changed since it was proposed; update its branch first`,
    invalid_content: `${title} is not valid: ${problem?.path ?? ''}: ${problem?.reason ?? ''}`,
  }
  return sentences[reason] ?? 'The change set cannot be merged'
}

/** Builds the ledger of a page after the merge. */
async function prepareItem(
  ctx: Ctx<Person>,
  item: OpenItem,
  setId: string,
  event: ChangedBy,
  overridden: Overridden | undefined,
): Promise<TicketItem> {
  const { access, act } = item
  const { repo } = access
  const from = access.node.ledger
  const acts = await eventsOf(ctx, item, from, event)
  const isHeld = item.judgement.reasons.length > 0
  const own = acts.map((one): PullAct => {
    const isItem = one.record.number === item.pull.number
    return isItem && isHeld && overridden ? { ...one, record: { ...one.record, overridden } } : one
  })
  const node = act === 'change' ? undefined : nodeAfter(await readNodeRecord(repo, from), item, setId, event.at)
  const draft = newObjectBatch(repo)
  const to = await addEvents(draft, from, own, ({ record }) =>
    node && record.number === item.pull.number ? [{ path: nodeFile, value: node }] : [],
  )
  await draft.save()
  return { item, ledger: { from, to } }
}

/** The events of the page's ledger. Other pull requests whose heads main reaches then merge too, as in any merge. */
async function eventsOf(
  ctx: Ctx<Person>,
  { access, act, pull, from, head }: OpenItem,
  ledger: Oid,
  event: ChangedBy,
): Promise<readonly PullAct[]> {
  const { repo, history, node } = access
  const userId = ctx.actor.id
  if (act === 'create' || from === null) {
    const before = await readPull(repo, ledger, pull.number)
    const record = endPull(await withHeads(history, before, head, noOid), 'merged', event)
    return [{ event: 'merge', record, userId }]
  }
  const situation = {
    open: await openPullsAt(ctx.index.read, { repo, nodeId: node.id }, ledger),
    moves: new Map([['main', { before: from, after: head }]]),
    headOf: (branch: string) => (branch === pull.source_branch ? head : readRef(repo, branchRef(branch))),
  }
  const { events } = await reconcileMoves(access, situation, event)
  return toActs(access, ledger, events, userId)
}

/** The page's record in its ledger. A new page has no state any more, and a deleted one gets it. */
export function nodeAfter(
  record: NodeRecord,
  { act, title }: Pick<OpenItem, 'act' | 'title'>,
  setId: string,
  at: string,
): NodeRecord {
  const { state: _, proposed_in: __, ...known } = record
  if (act === 'delete') return { ...known, state: 'deleted', proposed_in: setId }
  return { ...known, title, ...(act === 'create' && { created_at: at }) }
}

/** Moves all refs of the ticket, if nothing that it judged has changed since. Returns false if something has. */
async function attempt(ctx: Ctx<Person>, access: OrgAccess, ticket: Ticket): Promise<boolean> {
  const orgId = access.org.id
  const ids = ticket.items.map(({ item }) => item.row.node_id)
  return withGraphLockOn(ctx, orgId, ids, async () => {
    if (!(await holdsInGraph(ctx, access, ticket))) return false
    const isMoved = await move(ctx, orgId, ticket)
    if (isMoved) await tryIndexSets(ctx, orgId)
    return isMoved
  })
}

/** True if the graph and its rules are as they were judged. The caller holds the graph's lock. */
async function holdsInGraph(ctx: Ctx<Person>, access: OrgAccess, { state }: Ticket): Promise<boolean> {
  if ((await graphProblemsOf(ctx, access, state.open)).size > 0) return false
  const rules = await rulesOf(ctx, access, state.open)
  return state.open.every(({ row, rules: judged }) => {
    const now = rules.get(row.node_id) ?? []
    return now.length === judged.length && now.every(({ at }, position) => at === judged[position]?.at)
  })
}

/** Main by main, then the ledgers of pages, and that of sets last. The first one decides about recovery. */
async function move(ctx: Ctx<Person>, orgId: string, { items, sets, org, need }: Ticket): Promise<boolean> {
  const refOf = ({ item }: TicketItem, ref: string): RefName => ({ repo: item.access.repo, ref })
  const names = items.flatMap((one) => [refOf(one, main), refOf(one, ledgerRef)])
  return updateRefs(ctx.store, [...names, sets], async (current) => {
    await recheckAccess(ctx, orgId, need)
    const isSame =
      current(sets) === sets.from &&
      readRef(orgRepo(ctx.store, orgId), main) === org &&
      items.every(
        (one) =>
          current(refOf(one, main)) === one.item.from &&
          current(refOf(one, ledgerRef)) === one.ledger.from &&
          readRef(one.item.access.repo, branchRef(one.item.pull.source_branch)) === one.item.head,
      )
    if (!isSame) return { moves: [], value: false }
    const moves = [
      ...items.map((one) => ({ ...refOf(one, main), to: one.item.head })),
      ...items.map((one) => ({ ...refOf(one, ledgerRef), to: one.ledger.to })),
      { repo: sets.repo, ref: sets.ref, to: sets.to },
    ]
    return withIntent(ctx, ctx.actor, { moves, value: true })
  })
}
