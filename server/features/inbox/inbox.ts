/** The inbox: what happened to what a user follows or takes part in. It is computed from the log and from rows. */
import { listAccountNames } from '../../../index/credentials/accounts.ts'
import { type PullNow, readPullsNow } from '../../../index/derived/involved.ts'
import { readTitles } from '../../../index/derived/node-queries.ts'
import { listMembersById } from '../../../index/derived/org-queries.ts'
import { findLog, type Log } from '../../../index/log/events.ts'
import { authorizeOrg, seesOf } from '../../domain/access.ts'
import type { Person } from '../../domain/actor.ts'
import type { Ctx, Services } from '../../domain/services.ts'
import type { OrgAt, Path, Query } from '../../domain/targets.ts'
import { encodeInboxCursor, endOf, parseInboxCursor } from './cursors.ts'
import { groupedBy } from './grouped-by.ts'
import { listInboxOrgs } from './inbox-orgs.ts'
import { readInterests } from './interests.ts'
import { type InboxItem, Items } from './items.ts'
import { readMarks } from './marks.ts'
import { type Budget, OrgStream, type SeenEvent } from './org-stream.ts'
import { type InboxReason, keyOfPull } from './reasons.ts'

/** The most users and types that an item names. */
const most = { actors: 5, types: 10 } as const

/** Rows that one response reads at most, in an organisation and in all. */
const rowsOfPage = { ofOrg: 3_000, rows: 20_000 } as const

export interface InboxQuery {
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: string
  readonly unread?: boolean
  /** Only reasons that come by mail. The API does not have it. */
  readonly mailed?: boolean
}

interface ActorView {
  readonly user_id?: string
  readonly name: string
}

interface InboxItemView {
  readonly id: string
  readonly org_id: string
  readonly org_name: string
  readonly node_id?: string
  /** The current title. Null if the node is deleted. Empty for a change set, which has the id of the organisation. */
  readonly node_title?: string | null
  readonly number?: number
  /** The current title of the pull request. Null if it is gone with its node. */
  readonly title?: string | null
  readonly status?: PullNow['status']
  readonly reason: InboxReason
  readonly reason_actor?: ActorView
  readonly unread: boolean
  readonly count: number
  readonly actors: readonly ActorView[]
  readonly types: readonly string[]
  readonly last_event: { readonly id: string; readonly type: string; readonly at: string }
  readonly since: string
}

/** Lists what happened in all organisations of the caller here, the newest first. @throws ValidationError */
export async function listInbox(ctx: Ctx<Person>, { query }: Query<InboxQuery>) {
  const elsewhere = await ctx.placement.listOrgsElsewhere(ctx.actor.id)
  const { logs, names } = await listInboxOrgs(ctx)
  const page = await readPage(ctx, { logs, names, query })
  return { ...page, elsewhere: Object.fromEntries(elsewhere.map(({ id, name }) => [id, name])) }
}

/** Lists what happened in an organisation. @throws errors of `authorizeOrg`; ValidationError */
export async function listOrgInbox(ctx: Ctx<Person>, { path, query }: Path<OrgAt> & Query<InboxQuery>) {
  const { org } = await authorizeOrg(ctx, path, 'reader')
  const log = await findLog(ctx.events.read, org.id)
  const names = new Map([[org.id, org.name]])
  return readPage(ctx, { logs: log ? [log] : [], names, query, orgId: org.id })
}

interface PageOf {
  readonly logs: readonly Log[]
  readonly names: ReadonlyMap<string, string>
  readonly query: InboxQuery
  readonly orgId?: string | undefined
}

async function readPage(ctx: Ctx<Person>, { logs, names, query, orgId }: PageOf) {
  const { streams, found } = await readItems(ctx, { logs, query, orgId }, rowsOfPage)
  const items = await toViews(ctx, found, names)
  const next = streams.every(({ isOver }) => isOver)
    ? undefined
    : encodeInboxCursor(streams.map(({ orgId: id, next: seq }) => [id, seq]))
  return { items, now: endsOf(logs), ...(next !== undefined && { next }) }
}

/** Returns the ends of logs as a cursor. */
export function endsOf(logs: readonly Log[]): string {
  return encodeInboxCursor(logs.map(({ org_id, seq }) => [org_id, seq]))
}

interface ReadItems {
  /** They say whether and where there is more. */
  readonly streams: readonly OrgStream[]
  readonly found: readonly InboxItem[]
}

/** Reads the newest items. @param budget the rows that it may read */
export async function readItems(
  ctx: Ctx<Person>,
  { logs, query, orgId }: Pick<PageOf, 'logs' | 'query' | 'orgId'>,
  budget: Readonly<Budget>,
): Promise<ReadItems> {
  const streams = await openStreams(ctx, { logs, query, budget: { ...budget }, ...(orgId !== undefined && { orgId }) })
  return { streams, found: await collect(streams, query.limit) }
}

/** Opens a stream for each organisation. A page that continues another has only the organisations of that one. */
async function openStreams(
  ctx: Ctx<Person>,
  {
    logs,
    query: { after, unread = false, mailed = false },
    budget,
    orgId,
  }: Pick<PageOf, 'logs' | 'query' | 'orgId'> & { readonly budget: Budget },
): Promise<OrgStream[]> {
  const numbers = after === undefined ? undefined : parseInboxCursor(after, ['query', 'after'])
  const interestsIn = await readInterests(ctx, { orgId, mailed })
  const marks = await readMarks(ctx, logs)
  return logs.flatMap((log) => {
    const before = numbers ? numbers.get(endOf(log.org_id)) : log.seq + 1
    if (before === undefined) return []
    const read = marks.get(log.org_id) ?? { seq: 0, items: new Map() }
    const sees = seesOf(log.org_id)
    const options = { log, sees, interests: interestsIn(log.org_id), read, before, onlyUnread: unread, budget }
    return [new OrgStream(ctx, options)]
  })
}

/** Takes events from the streams, the newest first, until the items are full. */
async function collect(streams: readonly OrgStream[], limit: number): Promise<readonly InboxItem[]> {
  const items = new Items(limit)
  for (;;) {
    let next: { readonly stream: OrgStream; readonly event: SeenEvent } | undefined
    for (const stream of streams) {
      const event = await stream.head()
      if (event && (!next || isNewer(event, next.event))) next = { stream, event }
    }
    if (!next || !items.add(next.event)) return items.all
    next.stream.take()
  }
}

function isNewer(one: SeenEvent, other: SeenEvent): boolean {
  if (one.recordedMs !== other.recordedMs) return one.recordedMs > other.recordedMs
  return one.orgId > other.orgId
}

async function toViews(
  deps: Services,
  items: readonly InboxItem[],
  orgNames: ReadonlyMap<string, string>,
): Promise<InboxItemView[]> {
  const titles = new Map<string, string>()
  const names = new Map<string, string>()
  const pulls = new Map<string, PullNow>()
  for (const [orgId, some] of groupedBy(items, (item) => item.orgId)) {
    const nodeIds = [...new Set(some.flatMap(({ nodeId }) => nodeId ?? []))]
    for (const [id, title] of await readTitles(deps.index.read, seesOf(orgId), nodeIds)) titles.set(id, title)
    const actors = [...new Set(some.flatMap((item) => [...item.actors.keys()]))]
    for (const { user_id, name } of await listMembersById(deps.index.read, orgId, actors)) names.set(user_id, name)
  }
  const keys = items.flatMap(({ nodeId, number }) =>
    nodeId === null || number === undefined ? [] : [{ node_id: nodeId, number }],
  )
  for (const pull of await readPullsNow(deps.index.read, keys)) pulls.set(keyOfPull(pull.node_id, pull.number), pull)
  const left = [...new Set(items.flatMap((item) => [...item.actors.keys()]))].filter((id) => !names.has(id))
  for (const { id, name } of await listAccountNames(deps.credentials.read, left)) names.set(id, name)
  return items.map((item) => toView(item, { orgNames, titles, names, pulls }))
}

interface Now {
  readonly orgNames: ReadonlyMap<string, string>
  readonly titles: ReadonlyMap<string, string>
  /** Names of users. A deleted account has none. */
  readonly names: ReadonlyMap<string, string>
  readonly pulls: ReadonlyMap<string, PullNow>
}

function toView(item: InboxItem, { orgNames, titles, names, pulls }: Now): InboxItemView {
  const { id, orgId, nodeId, number, newest, oldest, count, reason, reasonActor, isUnread, types, actors } = item
  const pull = nodeId === null || number === undefined ? undefined : pulls.get(keyOfPull(nodeId, number))
  return {
    ...{ id, org_id: orgId, org_name: orgNames.get(orgId) ?? '' },
    ...(nodeId !== null && { node_id: nodeId, node_title: titles.get(nodeId) ?? (nodeId === orgId ? '' : null) }),
    ...(number !== undefined && { number, title: pull?.title ?? null }),
    ...(pull && { status: pull.status }),
    reason,
    ...(reasonActor && { reason_actor: actorView(reasonActor, names) }),
    ...{ unread: isUnread, count },
    actors: [...actors.values()].slice(0, most.actors).map((actor) => actorView(actor, names)),
    types: [...types].slice(0, most.types),
    last_event: { id: newest.id, type: newest.type, at: newest.at },
    since: oldest.at,
  }
}

function actorView({ id, name }: { readonly id?: string; readonly name: string }, names: Now['names']): ActorView {
  return id === undefined ? { name } : { user_id: id, name: names.get(id) ?? '' }
}
