/** The pull requests of an organisation. Reads only rows, because Git would be needed once for each item. */
import { findNode } from '../../../index/derived/node-queries.ts'
import { listOrgPullRows, type OrgPullFilter, type OrgPullRow } from '../../../index/derived/org-pulls.ts'
import { findMemberByEmail } from '../../../index/derived/org-queries.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { Ctx, RequestCtx } from '../services.ts'
import type { OrgAt, Path, Query } from '../targets.ts'
import { byAgentOf, provenance } from './provenance.ts'
import { ending } from './pull-state.ts'

interface OrgPullQuery extends Page {
  readonly status?: OrgPullFilter['status']
  /** An e-mail address, or `me`. */
  readonly author?: string
  /** An e-mail address of a member, or `me`. */
  readonly reviewer?: string
  readonly under?: string
  readonly order?: OrgPullFilter['order']
  readonly via?: 'agent' | 'person'
  readonly group?: 'change_set'
}

/** Limits concurrent lists below a node. Each may take 0.5 s of CPU time, in slices. */
const semaphore = createCallerSemaphore({
  all: { running: 2, waiting: 256 },
  person: { running: 1, waiting: 64 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many lists of pull requests are being read; try again in a moment',
})

/**
 * Lists the pull requests of an organisation, by default the newest first.
 *
 * @throws AppError as authorizeOrg, busy; node_not_found: `under`
 */
export async function listOrgPulls(ctx: RequestCtx<Person>, { path, query }: Path<OrgAt> & Query<OrgPullQuery>) {
  const { signal } = ctx.request
  const { read } = ctx.index
  const { sees } = await authorizeOrg(ctx, path, 'reader')
  const { status = 'open', order = 'newest', author, reviewer, under, group } = query
  const reviewerId = reviewer === undefined ? undefined : await findReviewer(ctx, path, reviewer)
  const filter = {
    ...{ status, order, isGrouped: group === 'change_set' },
    ...byAgentOf(query),
    ...(author === undefined ? {} : { author: author === 'me' ? ctx.actor.email : author }),
    ...(reviewerId === undefined ? {} : { reviewer: reviewerId }),
  }
  if (under === undefined) return toPage(query, await listOrgPullRows(read, sees, filter, query))
  if (!(await findNode(read, sees, under))) throw new AppError('node_not_found', 'Node not found')
  const found = await semaphore.run({ caller: callerOf(ctx), signal }, () =>
    listOrgPullRows(read, sees, { ...filter, under }, query),
  )
  return toPage(query, found)
}

/** The id of a member; an empty string if there is none. */
async function findReviewer(
  { index, actor }: Ctx<Person>,
  { org_id: orgId }: OrgAt,
  reviewer: string,
): Promise<string> {
  if (reviewer === 'me') return actor.id
  return (await findMemberByEmail(index.read, orgId, reviewer))?.user_id ?? ''
}

function toPage(page: Page, { rows, total }: Awaited<ReturnType<typeof listOrgPullRows>>) {
  return { pull_requests: rows.map(toListed), ...pageOf(page, total) }
}

function toListed(row: OrgPullRow) {
  const { node_id, node_title, number, id, title, source_branch, target_branch, status, author, author_email } = row
  return {
    ...{ id, node_id, node_title, number, title, source_branch, target_branch, status },
    ...(row.num_items !== null && { num_items: row.num_items }),
    is_draft: row.is_draft === 1,
    ...{ author, author_email, created_at: row.created_at, comments: row.comments, open_threads: row.open_threads },
    ...ending(row),
    ...provenance(row),
  }
}
