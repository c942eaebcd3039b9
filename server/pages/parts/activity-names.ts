/** The names and titles that the lines of the activity show, as they are now. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import type { Act } from '../text/activity-acts.ts'
import { unlessBusy } from './degraded.ts'
import { mostMembers } from './talk.ts'

export interface ActivityNames {
  /** Titles of pages by id. */
  readonly pages: Readonly<Record<string, string>>
  /** Pages that were deleted. They have no link. */
  readonly deleted: readonly string[]
  /** Titles of proposals, by the id of the page and their number. */
  readonly proposals: Readonly<Record<string, string>>
  /** Names of members by id. */
  readonly members: Readonly<Record<string, string>>
}

export type PageNames = Pick<ActivityNames, 'pages' | 'deleted'>

/** `proposals`: items of the list of proposals. `orgs`: of entries of an account. */
const most = { proposals: 200, orgs: 5 } as const

export const proposalKey = (node: string | undefined, number: number) => `${node} ${number}`

/** Reads the names that the lines need. Titles that cannot be read are those of the events. */
export async function readNames(visit: PageContext, org_id: string, acts: readonly Act[]): Promise<ActivityNames> {
  const { api } = visit
  const path = { org_id }
  const events = acts.flatMap((act) => act.events)
  const hasNumbers = events.some(({ data }) => data.number !== undefined)
  const hasReviewers = acts.some(({ events: [{ type }], asked }) => type === 'review.requested' || asked.length > 0)
  const [pages, { pull_requests }, { members }] = await Promise.all([
    readPages(visit, org_id, events),
    hasNumbers
      ? unlessBusy(api.listOrgPulls({ path, query: { status: 'all', limit: most.proposals } }), noPulls)
      : noPulls,
    hasReviewers ? unlessBusy(api.listMembers({ path, query: { limit: mostMembers } }), noMembers) : noMembers,
  ])
  const proposals: Record<string, string> = {}
  // Newest first, so that an older title replaces nothing.
  for (const { node, data } of events)
    if (data.number !== undefined && data.title !== undefined) proposals[proposalKey(node, data.number)] ??= data.title
  for (const { node_id, number, title } of pull_requests) proposals[proposalKey(node_id, number)] = title
  const names = Object.fromEntries(members.map(({ user_id, name }) => [user_id, name]))
  return { ...pages, proposals, members: names }
}

const noPulls: { pull_requests: readonly { node_id: string; number: number; title: string }[] } = { pull_requests: [] }
const noMembers: { members: readonly { user_id: string; name: string }[] } = { members: [] }

type AuditEntry = AnswerOf<'listMyAudit'>['entries'][number]

/** Reads the titles of the pages in entries of the audit. Pages that cannot be read have none. */
export async function readAuditNames(visit: PageContext, entries: readonly AuditEntry[]): Promise<PageNames> {
  const orgs = [...new Set(entries.flatMap(({ org_id, target }) => (target?.type === 'node' && org_id) || []))]
  const found = await Promise.all(
    orgs.slice(0, most.orgs).map((org) => {
      const own = entries.filter(({ org_id, target }) => org_id === org && target?.type === 'node')
      const events = own.map(({ target, action, detail: { title } }) => ({
        ...{ node: target?.id, type: action },
        data: typeof title === 'string' ? { title } : {},
      }))
      return readPages(visit, org, events).catch(nothingIfRefused)
    }),
  )
  return {
    pages: Object.assign({}, ...found.map(({ pages }) => pages)),
    deleted: found.flatMap(({ deleted }) => deleted),
  }
}

/** The user may have left the organisation. */
function nothingIfRefused(error: unknown): PageNames {
  if (error instanceof AppError) return { pages: {}, deleted: [] }
  throw error
}

interface TitledEvent {
  readonly node: string | undefined
  readonly type: string
  readonly data: { readonly title?: string }
}

/** Reads the titles of pages. If they cannot be read, those of the events are shown. */
async function readPages(
  { titles, urls }: PageContext,
  org_id: string,
  events: readonly TitledEvent[],
): Promise<PageNames> {
  const ids = [...new Set(events.flatMap(({ node }) => node ?? []))]
  const found = ids.length === 0 ? undefined : await unlessBusy(titles(org_id, ids), undefined, ['moving'])
  const pages = Object.fromEntries(found ?? [])
  for (const [id, title] of Object.entries(pages)) urls.learn(id, title)
  for (const { node, type, data } of events)
    if (node !== undefined && type.startsWith('node.') && data.title !== undefined) pages[node] ??= data.title
  return { pages, deleted: found === undefined ? [] : ids.filter((id) => !found.has(id)).sort() }
}
