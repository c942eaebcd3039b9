/**
 * The state of a set: whether it can merge, and what holds it up. It is exact, because the content and the consent of
 * each item are judged from refs, and the edges of all items together.
 */
import pLimit from 'p-limit'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { listSetItems, type SetItemRow } from '../../../index/derived/change-sets.ts'
import { findPull, type PullRow } from '../../../index/derived/pulls.ts'
import type { Role } from '../../../index/derived/schema.ts'
import { AppError } from '../../base/errors.ts'
import { includesRole, type NodeAccess, type OrgAccess } from '../access.ts'
import { findContentProblems, findLossProblems } from '../branches/content-rules.ts'
import { findTree } from '../branches/revisions.ts'
import { type Coming, findTypeProblems } from '../branches/type-rules.ts'
import type { PullJudgement } from '../consent/consent.ts'
import { type HeldRule, mergeRoleOf } from '../consent/judge.ts'
import { rulesAtPlaces } from '../consent/places.ts'
import { readReviewFacts } from '../consent/verdicts.ts'
import { type NodeContent, readContent } from '../format/node-format.ts'
import type { ContentProblem } from '../format/path-problem.ts'
import { nodeFile } from '../format/paths.ts'
import { authorizeNodeInOrg } from '../indexing/freshness.ts'
import { branchRef, main } from '../layout.ts'
import { type Act, versionOf } from '../ledger/set-ledger.ts'
import { judgeGraph, type NodeMove } from '../nodes/batch-graph.ts'
import { wouldEndRule } from '../nodes/kept-rules.ts'
import { judgeRow, type PullState, stateOf } from '../pulls/pull-state.ts'
import type { Ctx, Services } from '../services.ts'
import { actOf } from './items.ts'

/** An item whose pull request is open. */
export interface OpenItem {
  readonly row: SetItemRow
  readonly access: NodeAccess
  readonly pull: PullRow
  readonly act: Act
  /** The head of `main`. Null: the page does not exist yet. */
  readonly from: Oid | null
  readonly head: Oid
  /** The title after the merge. A page to delete has its current one. */
  readonly title: string
  readonly move: NodeMove
  readonly rules: readonly HeldRule[]
  readonly state: PullState
  readonly judgement: PullJudgement
  /** Why it cannot merge, the most important first. Empty: it is ready. */
  readonly reasons: readonly SetReason[]
}

/** An item that the merge leaves as it is. */
export interface EndedItem {
  readonly row: SetItemRow
  /** Absent: the page is gone. */
  readonly access?: NodeAccess
  readonly pull?: PullRow
  readonly reasons: readonly SetReason[]
}

export interface SetState {
  readonly open: readonly OpenItem[]
  readonly ended: readonly EndedItem[]
  readonly version: string
  /** Why it cannot merge, the most important first. Empty: it can. */
  readonly reasons: readonly SetReason[]
  /** The least role that merges it. */
  readonly mergeRole: Role
  /** True if only rules hold it up, and an owner may override them. */
  readonly isOverridable: boolean
}

/** Items that are read side by side. Each may read the content of two commits. */
const readAtOnce = 8

/** The order of reasons: first about the content, then about consent. */
const order = [
  ...['already_merged', 'closed', 'empty', 'item_gone', 'source_branch_missing', 'target_branch_missing'],
  ...['no_commits_ahead', 'diverged', 'invalid_content', 'draft'],
  ...['changes_requested', 'approvals_missing', 'checks_failed', 'checks_missing', 'threads_open'],
] as const

export type SetReason = (typeof order)[number]

/** Judges the set by its rows and refs. The caller sees the organisation. */
export async function judgeSet(ctx: Ctx, org: OrgAccess, set: PullRow): Promise<SetState> {
  const turn = pLimit(readAtOnce)
  const { loaded, ended } = await loadItems(ctx, org, set)
  const coming: Coming = new Map(
    loaded.flatMap(({ row, act, move }) => (act === 'delete' ? [] : [[row.node_id, move.after]])),
  )
  const edges = await graphProblemsOf(ctx, org, loaded)
  const rules = await rulesOf(ctx, org, loaded)
  const open = await Promise.all(
    loaded.map((item) =>
      turn(() => judgeItem(ctx, set, item, { coming, edges, rules: rules.get(item.row.node_id) ?? [] })),
    ),
  )
  const found = new Set<SetReason>(reasonsOfSet(set, open, ended))
  for (const { reasons } of open) for (const reason of reasons) found.add(reason)
  const reasons = order.filter((reason) => found.has(reason))
  return {
    open,
    ended,
    version: versionOf(open.map(({ row, head }) => ({ node_id: row.node_id, head }))),
    reasons,
    mergeRole: mergeRoleOfSet(open),
    isOverridable: isOverridable(reasons, open),
  }
}

function reasonsOfSet(set: PullRow, open: readonly OpenItem[], ended: readonly EndedItem[]): SetReason[] {
  if (set.status === 'merged') return ['already_merged']
  if (set.status === 'closed') return ['closed']
  const found: readonly [SetReason, boolean][] = [
    ['empty', open.length === 0],
    ['draft', set.is_draft === 1],
    ...ended.flatMap(({ reasons }) => reasons.map((reason): [SetReason, boolean] => [reason, true])),
  ]
  return found.flatMap(([reason, holds]) => (holds ? reason : []))
}

/** The highest role that an item needs. To delete or restore a page needs a maintainer, as without a set. */
function mergeRoleOfSet(open: readonly OpenItem[]): Role {
  const roles = open.map(({ act, rules }): Role => {
    const least = mergeRoleOf(rules)
    const isTrash = act === 'delete' || act === 'restore'
    return isTrash && !includesRole(least, 'maintainer') ? 'maintainer' : least
  })
  return roles.reduce((most, one) => (includesRole(one, most) ? one : most), 'editor')
}

const consentReasons: readonly string[] = order.slice(order.indexOf('changes_requested'))

function isOverridable(reasons: readonly SetReason[], open: readonly OpenItem[]): boolean {
  const held = open.filter(({ judgement }) => judgement.reasons.length > 0)
  return (
    reasons.length > 0 &&
    reasons.every((reason) => consentReasons.includes(reason)) &&
    held.every(({ judgement }) => judgement.mayOverride)
  )
}

/** Reads the items with the contents of their pages, from refs. */
export async function loadItems(ctx: Ctx, org: OrgAccess, set: Pick<PullRow, 'number'>) {
  const rows = await listSetItems(ctx.index.read, org.org.id, [set.number])
  const turn = pLimit(readAtOnce)
  const read = await Promise.all(rows.map((row) => turn(() => readItem(ctx, org, row))))
  return {
    loaded: read.filter((one): one is LoadedItem => 'move' in one),
    ended: read.filter((one): one is EndedItem => !('move' in one)),
  }
}

export type LoadedItem = Omit<OpenItem, 'rules' | 'state' | 'judgement' | 'reasons'>

async function readItem(ctx: Ctx, org: OrgAccess, row: SetItemRow): Promise<LoadedItem | EndedItem> {
  const access = await findPage(ctx, org, row.node_id)
  if (access === undefined) return { row, reasons: ['item_gone'] }
  const pull = await findPull(ctx.index.read, row.node_id, row.pull)
  const isItem = pull?.status === 'open' && pull.change_set !== null
  const head = isItem ? readRef(access.repo, branchRef(pull.source_branch)) : null
  if (!isItem) return { row, access, ...(pull && { pull }), reasons: [] }
  if (head === null) return { row, access, pull, reasons: ['source_branch_missing'] }
  const from = readRef(access.repo, main)
  const [before, after] = [await findTree(access.repo, from), await findTree(access.repo, head)]
  const act = actOf(before, after)
  const [known, content] = [await readContent(access.repo, before), await readContent(access.repo, after)]
  const title = (act === 'delete' ? undefined : content.title) ?? access.node.title
  const move = { at: 0, id: row.node_id, before: known, after: content }
  return { row, access, pull, act, from, head, title, move }
}

/** Finds a page of the set, which may only be proposed. Undefined: it is gone. @throws errors of authorizeNodeInOrg */
export async function findPage(deps: Services, org: OrgAccess, nodeId: string): Promise<NodeAccess | undefined> {
  try {
    return await authorizeNodeInOrg(deps, org, nodeId, 'reader', true)
  } catch (error) {
    if (error instanceof AppError && error.code === 'node_not_found') return undefined
    throw error
  }
}

/** Returns the rules that guard each page, at its place now and after the merge. */
export function rulesOf(
  ctx: Ctx,
  { org }: OrgAccess,
  items: readonly LoadedItem[],
): Promise<ReadonlyMap<string, readonly HeldRule[]>> {
  return rulesAtPlaces(
    ctx,
    org,
    items.map(({ row, act, move }) => ({ id: row.node_id, act, parents: move.after.parents.map(({ id }) => id) })),
  )
}

/** Judges the graph as it will be when all items have merged. Returns the problems by node. */
export async function graphProblemsOf(
  ctx: Ctx,
  { org }: OrgAccess,
  items: readonly LoadedItem[],
): Promise<ReadonlyMap<string, readonly ContentProblem[]>> {
  const moves = items.map(({ move }, at) => ({ ...move, at }))
  const idsOf = (...acts: Act[]) => new Set(items.flatMap((one) => (acts.includes(one.act) ? [one.row.node_id] : [])))
  const { problems } = await judgeGraph(ctx.index.read, org.id, moves, idsOf('create', 'restore'), idsOf('delete'))
  const byNode = new Map<string, ContentProblem[]>()
  for (const { at, ...problem } of problems) {
    const id = items[at]?.row.node_id ?? ''
    byNode.set(id, [...(byNode.get(id) ?? []), problem])
  }
  for (const { row } of items.filter(({ act }) => act === 'delete')) {
    const children = items.filter(({ act, move: { before } }) => act === 'delete' && hasParent(before, row.node_id))
    if (!(await wouldEndRule(ctx, org, { org_id: org.id, node_id: row.node_id }, children.length))) continue
    const reason =
      'A rule holds for the pages below this page only because of its place; give them another parent first'
    byNode.set(row.node_id, [...(byNode.get(row.node_id) ?? []), { path: nodeFile, reason }])
  }
  return byNode
}

function hasParent({ parents }: NodeContent, nodeId: string): boolean {
  return parents.some(({ id }) => id === nodeId)
}

interface Union {
  readonly coming: Coming
  readonly edges: ReadonlyMap<string, readonly ContentProblem[]>
  readonly rules: readonly HeldRule[]
}

async function judgeItem(ctx: Ctx, set: PullRow, item: LoadedItem, { coming, edges, rules }: Union): Promise<OpenItem> {
  const { access, pull, act, row, move } = item
  const problems = [...(await ownProblems(ctx, access, act, move, coming)), ...(edges.get(row.node_id) ?? [])]
  const state = await stateOf(ctx, access, pull, problems)
  const factsOf = await readReviewFacts(ctx, access, [pull])
  const about = { ...pull, set_author_id: set.author_id, open_threads: pull.open_threads + set.open_threads }
  const judgement = await judgeRow(ctx, access, about, state, factsOf(pull.number), rules)
  const own = state.reasons.filter((reason) => reason !== 'mergeable')
  const reasons = [...own, ...judgement.reasons]
  return { ...item, rules, state, judgement, reasons }
}

/** The problems of one page's files. A deletion has none. */
async function ownProblems(
  ctx: Ctx,
  { org, repo }: NodeAccess,
  act: Act,
  { before, after }: { readonly before: NodeContent; readonly after: NodeContent },
  coming: Coming,
): Promise<ContentProblem[]> {
  if (act === 'delete') return []
  const typed = await findTypeProblems(ctx, org.id, repo, before, after, coming)
  return [...findContentProblems(before, after), ...findLossProblems(before, after), ...typed]
}
