/** The pull requests that wait for a user. The answer is computed from rows, so that no table of messages grows. */
import { listReadMarks } from '../../../index/credentials/read-marks.ts'
import { findRole } from '../../../index/derived/org-queries.ts'
import type { Sees } from '../../../index/derived/sees.ts'
import {
  listAskedReviews,
  listOpenOfOthers,
  listOrgsMentioning,
  listOwnOpenPulls,
  listUnanswered,
  type WaitingFor,
  type WaitingRow,
} from '../../../index/derived/waiting.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg, includesRole, seesOf } from '../access.ts'
import type { Person } from '../actor.ts'
import { rulesForAnyNode } from '../consent/branch-rules.ts'
import type { Consent } from '../consent/consent.ts'
import type { HeldRule } from '../consent/judge.ts'
import { laterOf } from '../format/signatures.ts'
import { authorizeFresh } from '../indexing/freshness.ts'
import { type Page, pageOf, slice } from '../pagination.ts'
import { type PullRequest, toPull } from '../pulls/pull-state.ts'
import { findPullRow } from '../pulls/pulls.ts'
import type { Ctx } from '../services.ts'
import type { OrgAt, Path, Query } from '../targets.ts'
import { unseenMs } from './read-marks.ts'
import { lacksVerdict, readWaitingSet, reasonsOfOwnSet } from './waiting-sets.ts'

/** Why a pull request waits, the most urgent first. */
const waitingReasons = [
  'review_requested',
  'mentioned',
  'answered',
  'changes_requested',
  'open_threads',
  'ready_to_merge',
] as const
type WaitingReason = (typeof waitingReasons)[number]

export interface WaitingPull {
  readonly org_id: string
  readonly org_name: string
  readonly node_id: string
  /** Empty for a change set, which has the id of the organisation as `node_id`. */
  readonly node_title: string
  readonly num_items?: number
  readonly number: number
  readonly title: string
  readonly status: 'open' | 'merged' | 'closed'
  readonly author: string
  readonly reasons: readonly WaitingReason[]
  readonly last_activity_at: string
}

/** The most rows of each kind that are read. */
const maxRows = 500
/** The most pull requests of each kind whose state is read from Git. */
const maxRead = 50

/** Lists the pull requests that wait for the caller here, the last active first. */
export async function listWaiting(ctx: Ctx<Person>, { query }: Query<Page>) {
  const elsewhere = await ctx.placement.listOrgsElsewhere(ctx.actor.id)
  const found = await findWaiting(ctx, undefined)
  const others = Object.fromEntries(elsewhere.map(({ id, name }) => [id, name]))
  return { waiting: slice(found, query), ...pageOf(query, found.length), elsewhere: others }
}

/** Lists the pull requests of an organisation that wait for the caller. */
export async function listOrgWaiting(ctx: Ctx<Person>, { path, query }: Path<OrgAt> & Query<Page>) {
  const { sees } = await authorizeOrg(ctx, path, 'reader')
  const found = await findWaiting(ctx, sees)
  return { waiting: slice(found, query), ...pageOf(query, found.length) }
}

async function findWaiting(ctx: Ctx<Person>, sees: Sees | undefined): Promise<WaitingPull[]> {
  const { read } = ctx.index
  const mine: WaitingFor = { userId: ctx.actor.id, limit: maxRows, ...(sees && { sees }) }
  const found = new Map<string, { row: WaitingRow; reasons: Set<WaitingReason> }>()
  const add = (row: WaitingRow, reason: WaitingReason) => {
    const one = found.get(keyOf(row)) ?? { row, reasons: new Set() }
    found.set(keyOf(row), one)
    one.reasons.add(reason)
  }
  let left = maxRead
  for (const asked of folded(await listAskedReviews(read, mine))) {
    const { row, rows } = asked
    const isNew = rows.some(({ verdict }) => verdict === null)
    if (isNew || (left-- > 0 && (await lacksReview(ctx, asked)))) add(row, 'review_requested')
  }
  for (const row of await findNamed(ctx, mine, (row) => found.has(keyOf(row)))) add(row, 'review_requested')
  const since = new Date(ctx.now().getTime() - unseenMs).toISOString()
  const unanswered = await listUnanswered(read, mine, since)
  const isUnseen = await readMarksOf(ctx, unanswered)
  for (const row of unanswered) {
    if (row.last_mention > row.last_own && isUnseen(row, row.last_mention)) add(row, 'mentioned')
    if (row.last_answer > row.last_own && isUnseen(row, row.last_answer, 'unless muted')) add(row, 'answered')
  }
  for (const own of folded(await listOwnOpenPulls(read, mine)).slice(0, maxRead))
    for (const reason of await reasonsOfOwn(ctx, own)) add(own.row, reason)
  return [...found.values()].map(({ row, reasons }) => toWaiting(row, reasons)).sort(byActivity)
}

/** A pull request, or a change set with its rows that concern the user. */
interface Folded<R extends WaitingRow = WaitingRow> {
  readonly row: R
  readonly rows: readonly R[]
}

const keyOf = ({ node_id, number }: WaitingRow): string => `${node_id} ${number}`
const isSet = ({ node_id, org_id }: WaitingRow): boolean => node_id === org_id
const nodesOf = ({ rows }: Folded): ReadonlySet<string> => new Set(rows.map(({ own_node }) => own_node))

/** Makes one of the rows of a change set, in their order. */
function folded<R extends WaitingRow>(rows: readonly R[]): Folded<R>[] {
  const found = new Map<string, { row: R; rows: R[] }>()
  for (const row of rows) {
    const one = found.get(keyOf(row))
    if (one) one.rows.push(row)
    else found.set(keyOf(row), { row, rows: [row] })
  }
  return [...found.values()]
}

/**
 * Returns pull requests that lack an approval for which a rule names the caller. The newest come first, and at most 50
 * are read.
 *
 * @param isKnown true if the caller is asked for a review of it
 */
async function findNamed(
  ctx: Ctx<Person>,
  mine: WaitingFor,
  isKnown: (row: WaitingRow) => boolean,
): Promise<WaitingRow[]> {
  const { read } = ctx.index
  const limit = maxRead
  const found: WaitingRow[] = []
  let left = maxRead
  for (const org of await listOrgsMentioning(read, { ...mine, limit })) {
    const named = new Map<string, boolean>()
    for (const row of await listOpenOfOthers(read, { userId: ctx.actor.id, sees: seesOf(org.id), limit })) {
      if (isKnown(row)) continue
      const { target_branch: branch } = row
      if (!named.has(branch)) named.set(branch, (await rulesForAnyNode(ctx, org, branch)).some(isNaming(ctx.actor)))
      if (!named.get(branch)) continue
      if (left-- <= 0) return found
      if (await isAwaited(ctx, row)) found.push(row)
    }
  }
  return found
}

/** True if a rule asks the user by name for an approval. */
function isNaming({ id }: Person) {
  return ({ rule }: HeldRule): boolean => rule.approvals > 0 && rule.by.people?.includes(id) === true
}

/** True if a rule that names the caller lacks approvals. A verdict on the current change ends it. */
async function isAwaited(ctx: Ctx<Person>, row: WaitingRow): Promise<boolean> {
  const isMissing = ({ missing }: Pick<Consent, 'missing'>) =>
    missing.some(({ of }) => of.people?.includes(ctx.actor.id))
  if (isSet(row)) {
    const set = await readWaitingSet(ctx, row, nodesOf({ row, rows: [row] }))
    return set !== undefined && lacksVerdict(set, ctx.actor, isMissing)
  }
  const { missing = [], verdicts = [] } = (await readCurrent(ctx, row))?.consent ?? {}
  return (
    isMissing({ missing }) &&
    verdicts.every(({ author_id, state }) => author_id !== ctx.actor.id || state !== 'current')
  )
}

/** Returns a function that says whether an entry is above the caller's mark. */
async function readMarksOf(ctx: Ctx<Person>, rows: readonly WaitingRow[]) {
  const nodes = [...new Set(rows.map(({ own_node }) => own_node))]
  const marks = await listReadMarks(ctx.credentials.read, ctx.actor.id, nodes)
  const byPull = new Map(marks.map((mark) => [`${mark.node_id} ${mark.number}`, mark]))
  return ({ own_node, own_number }: WaitingRow, entry: number, muting?: 'unless muted'): boolean => {
    const mark = byPull.get(`${own_node} ${own_number}`)
    return mark === undefined || (entry > mark.entry && !(muting && mark.muted === 1))
  }
}

/** True if the caller's last verdict is not on the current change. */
async function lacksReview(ctx: Ctx<Person>, asked: Folded): Promise<boolean> {
  const { row } = asked
  if (isSet(row)) {
    const set = await readWaitingSet(ctx, row, nodesOf(asked))
    return set !== undefined && lacksVerdict(set, ctx.actor)
  }
  const verdicts = (await readCurrent(ctx, row))?.consent.verdicts ?? []
  return verdicts.every(({ author_id, state }) => author_id !== ctx.actor.id || state !== 'current')
}

/** Returns the reasons why a pull request of the caller waits. */
async function reasonsOfOwn(ctx: Ctx<Person>, own: Folded): Promise<readonly WaitingReason[]> {
  const { row } = own
  if (isSet(row)) {
    const set = await readWaitingSet(ctx, row, nodesOf(own))
    return set === undefined ? [] : reasonsOfOwnSet(ctx, set)
  }
  // Without entries there are neither verdicts nor threads.
  if (row.last_entry === 0) return []
  const threads: WaitingReason[] = row.open_threads > 0 ? ['open_threads'] : []
  const pull = await readCurrent(ctx, row)
  if (!pull) return threads
  const { approvals, changes_requested, merge_role } = pull.consent
  if (changes_requested > 0) return ['changes_requested', ...threads]
  if (!pull.can_merge || approvals === 0 || threads.length > 0) return threads
  const role = await findRole(ctx.index.read, row.org_id, ctx.actor.id)
  return role && includesRole(role, merge_role) ? ['ready_to_merge'] : []
}

/** Reads a pull request. Undefined if it is gone by now. */
async function readCurrent(ctx: Ctx<Person>, row: WaitingRow): Promise<PullRequest | undefined> {
  const { org_id: orgId, node_id: nodeId, number } = row
  try {
    const access = await authorizeFresh(ctx, { org_id: orgId, node_id: nodeId }, 'reader', true)
    return await toPull(ctx, access, await findPullRow(ctx, { org_id: orgId, node_id: nodeId, number }))
  } catch (error) {
    if (error instanceof AppError && error.code.endsWith('_not_found')) return undefined
    throw error
  }
}

function toWaiting(row: WaitingRow, reasons: ReadonlySet<WaitingReason>): WaitingPull {
  const { org_id, org_name, node_id, node_title, num_items, number, title, status, author } = row
  const { recorded_at, last_entry_at } = row
  return {
    ...{ org_id, org_name, node_id, node_title, ...(num_items !== null && { num_items }) },
    ...{ number, title, status, author },
    reasons: waitingReasons.filter((reason) => reasons.has(reason)),
    last_activity_at: laterOf(recorded_at, last_entry_at),
  }
}

function byActivity(a: WaitingPull, b: WaitingPull): number {
  const [x, y] = [a, b].map((one) => `${one.last_activity_at} ${one.node_id} ${String(one.number).padStart(9, '0')}`)
  return x === y ? 0 : (x ?? '') > (y ?? '') ? -1 : 1
}
