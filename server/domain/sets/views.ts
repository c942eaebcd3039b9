/** Change sets as responses show them. */
import { listReadMarks } from '../../../index/credentials/read-marks.ts'
import { findSetRow, listSetItems, listSetRows } from '../../../index/derived/change-sets.ts'
import { listReviewerRows } from '../../../index/derived/entries.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import { authorizeOrg, type OrgAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { toConsent } from '../consent/consent.ts'
import { laterOf } from '../format/signatures.ts'
import type { Overridden } from '../ledger/ledger.ts'
import type { Act } from '../ledger/set-ledger.ts'
import { readTrashedTitles } from '../nodes/trash.ts'
import { type Page, pageOf } from '../pagination.ts'
import { byAgentOf, provenance, type ShownVia } from '../pulls/provenance.ts'
import { ending } from '../pulls/pull-state.ts'
import { type Ctx, isPersons, type Services } from '../services.ts'
import type { OrgAt, Path, Query, SetAt } from '../targets.ts'
import { toMergeProblem } from '../types/content-problems.ts'
import { setNotFoundError, tryIndexSets } from './set-changes.ts'
import { type EndedItem, judgeSet, type OpenItem, type SetReason, type SetState } from './state.ts'

/** The fields of a set that follow from rows. */
interface SetSummary {
  readonly id: string
  readonly number: number
  readonly title: string
  readonly status: PullRow['status']
  readonly is_draft: boolean
  readonly author: string
  readonly author_email: string
  readonly author_id?: string
  readonly created_at: string
  readonly last_activity_at: string
  readonly merged_at?: string
  readonly merged_by?: string
  readonly merged_by_email?: string
  readonly closed_at?: string
  readonly closed_by?: string
  readonly closed_by_email?: string
  readonly opened_via?: ShownVia
  readonly ended_via?: ShownVia
  readonly comments: number
  readonly open_threads: number
  readonly num_items: number
}

interface ShownItem {
  readonly node_id: string
  /** The number of its pull request. */
  readonly number: number
  readonly act: Act
  readonly title: string
  /** `gone`: the page was deleted elsewhere. */
  readonly status: PullRow['status'] | 'gone'
  readonly source_branch?: string
  readonly source_commit?: string
  readonly ready: boolean
  readonly reasons: readonly SetReason[]
  readonly problems: ReturnType<typeof toMergeProblem>[]
  readonly approvals: number
  readonly missing: ReturnType<typeof toConsent>['missing']
  /** The user who proposed it. Absent if an older version opened the pull request. */
  readonly author_id?: string
  /** The caller's verdict on this version. */
  readonly own_verdict?: 'approve' | 'request_changes'
  /** The version that the caller has read: this one, another or none. */
  readonly read?: 'read' | 'changed' | 'unread'
  readonly comments: number
  readonly open_threads: number
}

export interface ChangeSet extends SetSummary {
  /** The path of its conversation. */
  readonly conversation: string
  readonly description: string
  readonly reviewers: readonly { readonly user_id: string; readonly name: string; readonly requested_at: string }[]
  readonly version: string
  readonly can_merge: boolean
  readonly merge_reason: SetReason | 'mergeable'
  readonly merge_reasons: readonly (SetReason | 'mergeable')[]
  readonly merge_role: SetState['mergeRole']
  readonly may_override: boolean
  readonly overridden?: Overridden
  readonly items: readonly ShownItem[]
}

/** Lists change sets by number, newest first. Reads only rows. */
export async function listChangeSets(
  ctx: Ctx<Person>,
  { path, query }: Path<OrgAt> & Query<Page & { status?: PullRow['status'] | 'all'; via?: 'agent' | 'person' }>,
) {
  await authorizeOrg(ctx, path, 'reader')
  await settleSets(ctx, path.org_id)
  const { read } = ctx.index
  const filter = { status: query.status ?? 'open', ...byAgentOf(query) }
  const { rows, total } = await listSetRows(read, path.org_id, filter, query)
  const items = await listSetItems(
    read,
    path.org_id,
    rows.map(({ number }) => number),
  )
  const change_sets = rows.map((row) => toSummary(row, items.filter(({ number }) => number === row.number).length))
  return { change_sets, ...pageOf(query, total) }
}

/** @throws AppError change_set_not_found */
export async function getChangeSet(ctx: Ctx<Person>, { path }: Path<SetAt>): Promise<{ change_set: ChangeSet }> {
  const access = await authorizeOrg(ctx, path, 'reader')
  await settleSets(ctx, path.org_id)
  return { change_set: await toChangeSet(ctx, access, await findSet(ctx, path)) }
}

/** Makes the rows of change sets those of their ledger. A fault is logged, and the last rows are read. */
export async function settleSets(deps: Services, orgId: string): Promise<void> {
  await tryIndexSets(deps, orgId)
}

/** @throws AppError change_set_not_found */
export async function findSet({ index }: Pick<Services, 'index'>, { org_id: orgId, number }: SetAt): Promise<PullRow> {
  const row = await findSetRow(index.read, orgId, number)
  if (!row) throw setNotFoundError()
  return row
}

function toSummary(row: PullRow, num_items: number): SetSummary {
  const { id, number, title, status, author, author_email, created_at, comments, open_threads } = row
  return {
    ...{ id, number, title, status, is_draft: row.is_draft === 1, author, author_email, created_at },
    ...(row.author_id !== null && { author_id: row.author_id }),
    last_activity_at: laterOf(row.recorded_at, row.last_entry_at ?? ''),
    ...ending(row),
    ...provenance(row),
    ...{ comments, open_threads, num_items },
  }
}

/** Returns the set with its items. @throws the errors of judgeSet */
export async function toChangeSet(ctx: Ctx, org: OrgAccess, row: PullRow): Promise<ChangeSet> {
  const state = await judgeSet(ctx, org, row)
  const reviewers = await listReviewerRows(ctx.index.read, row.node_id, [row.number])
  const gone = new Set(state.ended.flatMap(({ row, access }) => (access ? [] : row.node_id)))
  const titles = gone.size > 0 ? await readTrashedTitles(ctx, row.node_id, gone) : undefined
  const caller = isPersons(ctx) ? await readCaller(ctx, ctx.actor.id, state.open) : undefined
  const items = [
    ...state.open.map((item) => showOpen(item, caller)),
    ...state.ended.map((item) => showEnded(item, titles?.get(item.row.node_id))),
  ]
  const [merge_reason = 'mergeable' as const] = state.reasons
  return {
    ...toSummary(row, items.length),
    description: row.description,
    conversation: `/orgs/${row.org_id}/nodes/${row.org_id}/pull-requests/${row.number}`,
    reviewers: reviewers.map(({ user_id, name, since }) => ({ user_id, name, requested_at: since })),
    version: state.version,
    can_merge: state.reasons.length === 0,
    merge_reason,
    merge_reasons: state.reasons.length === 0 ? ['mergeable'] : state.reasons,
    merge_role: state.mergeRole,
    may_override: org.role === 'owner' && state.isOverridable,
    ...(row.overridden !== null && { overridden: JSON.parse(row.overridden) as Overridden }), // from a record of ours
    items: inOrder(items, state.open),
  }
}

/** Deletions first, then new pages from parent to child, then changes, each by title. */
function inOrder(items: readonly ShownItem[], open: readonly OpenItem[]): ShownItem[] {
  const sorted = [...items].sort(
    (a, b) => a.title.localeCompare(b.title, 'en', { numeric: true }) || (a.node_id < b.node_id ? -1 : 1),
  )
  const parents = new Map(open.map(({ row, move }) => [row.node_id, move.after.parents.map(({ id }) => id)]))
  const created = sorted.filter(({ act }) => act === 'create' || act === 'restore')
  const isNew = new Set(created.map(({ node_id }) => node_id))
  const listed = new Set<ShownItem>(sorted.filter(({ act }) => act === 'delete'))
  const listBelow = (parent: string | undefined) => {
    for (const item of created) {
      const above = (parents.get(item.node_id) ?? []).filter((id) => isNew.has(id))
      if (listed.has(item) || (parent === undefined ? above.length > 0 : !above.includes(parent))) continue
      listed.add(item)
      listBelow(item.node_id)
    }
  }
  listBelow(undefined)
  // A cycle has no beginning.
  return [...new Set([...listed, ...created, ...sorted])]
}

interface Caller {
  readonly id: string
  /** The heads that they have read, by page and number. */
  readonly heads: ReadonlyMap<string, string | null>
}

async function readCaller({ credentials }: Services, id: string, open: readonly OpenItem[]): Promise<Caller> {
  const nodes = open.map(({ row }) => row.node_id)
  const marks = await listReadMarks(credentials.read, id, nodes)
  return { id, heads: new Map(marks.map(({ node_id, number, head }) => [`${node_id} ${number}`, head])) }
}

function showOpen(
  { row, pull, act, title, head, state, judgement, reasons }: OpenItem,
  caller: Caller | undefined,
): ShownItem {
  const { approvals, missing, verdicts } = toConsent(judgement)
  const own = verdicts.find((one) => one.author_id === caller?.id && one.state === 'current')
  const seen = caller?.heads.get(`${row.node_id} ${row.pull}`)
  return {
    ...{ node_id: row.node_id, number: row.pull, act, title, status: 'open' },
    ...{ source_branch: pull.source_branch, source_commit: head },
    ...{ ready: reasons.length === 0, reasons, problems: state.problems.map(toMergeProblem) },
    ...{ approvals, missing, comments: pull.comments, open_threads: pull.open_threads },
    ...(pull.author_id !== null && { author_id: pull.author_id }),
    ...(own && { own_verdict: own.verdict }),
    ...(caller && { read: own || seen === head ? 'read' : seen ? 'changed' : 'unread' }),
  }
}

/** @param last the title of a page that is gone */
function showEnded({ row, access, pull, reasons }: EndedItem, last = ''): ShownItem {
  return {
    ...{ node_id: row.node_id, number: row.pull, act: row.act, title: access?.node.title ?? last },
    status: pull?.status ?? 'gone',
    ...(pull && { source_branch: pull.source_branch, source_commit: pull.source_commit }),
    ...{ ready: false, reasons, problems: [], approvals: 0, missing: [] },
    ...{ comments: pull?.comments ?? 0, open_threads: pull?.open_threads ?? 0 },
  }
}
