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

/** `listed`: items of the lists of pages and proposals. `single`: other pages, which are read one by one. `orgs`: of entries of an account. */
const most = { listed: 200, single: 20, orgs: 5 } as const

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
      ? unlessBusy(api.listOrgPulls({ path, query: { status: 'all', limit: most.listed } }), noPulls)
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
const noNodes: { nodes: readonly { id: string; title: string }[] } = { nodes: [] }

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

/** Reads the titles of pages. The last changed ones are read at once, and some others one by one. */
async function readPages(
  { api, urls }: PageContext,
  org_id: string,
  events: readonly TitledEvent[],
): Promise<PageNames> {
  const ids = new Set(events.flatMap(({ node }) => node ?? []))
  const pages: Record<string, string> = {}
  const deleted: string[] = []
  if (ids.size === 0) return { pages, deleted }
  const query = { order: 'changed', limit: most.listed } as const
  const { nodes } = await unlessBusy(api.listNodes({ path: { org_id }, query }), noNodes)
  for (const { id, title } of nodes) if (ids.has(id)) pages[id] = title
  const read = async (node_id: string) => {
    const found = api.getNode({ path: { org_id, node_id } }).then(({ title }): string | null => title)
    const title = await unlessBusy(found.catch(nullIfDeleted), undefined, ['repo_damaged'])
    if (title === null) deleted.push(node_id)
    else if (title !== undefined) pages[node_id] = title
  }
  await Promise.all(
    [...ids]
      .filter((id) => !(id in pages))
      .slice(0, most.single)
      .map(read),
  )
  for (const [id, title] of Object.entries(pages)) urls.learn(id, title)
  for (const { node, type, data } of events)
    if (node !== undefined && type.startsWith('node.') && data.title !== undefined) pages[node] ??= data.title
  return { pages, deleted: deleted.sort() }
}

function nullIfDeleted(error: unknown): null {
  if (error instanceof AppError && error.code === 'node_not_found') return null
  throw error
}
