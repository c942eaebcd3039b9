/**
 * Lists the audit of an organisation, of the service, or of a user, newest first.
 *
 * Entries are sorted by the time at which the service recorded them. At the same time events come before rows, and a
 * higher number comes first. New entries are only ever added before the first page.
 */

import type { Sees } from '../../../index/derived/sees.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { authorizeOrg } from '../../domain/access.ts'
import type { Person } from '../../domain/actor.ts'
import { type AuditEntryView, rowView, withoutOthers } from '../../domain/audit/entries.ts'
import type { Ctx, Services } from '../../domain/services.ts'
import type { OrgAt, Path, Query } from '../../domain/targets.ts'
import { eventView } from './event-entries.ts'
import { type AuditFilter, type AuditPlace, type AuditRange, listAuditRows, passAuditRows } from './rows/audit.ts'
import { listRecordedEvents, passRecordedEvents } from './rows/events.ts'

export interface AuditQuery {
  /** The `next` of the page before. */
  readonly after?: string
  readonly limit: number
  /** A name, or its beginning with `.*`. */
  readonly action?: string
  /** A user id, or a kind of actor. */
  readonly actor?: string
  /** ISO 8601, including. */
  readonly since?: string
  /** ISO 8601, excluding. */
  readonly until?: string
}

export interface AuditPage {
  readonly entries: readonly AuditEntryView[]
  /** The cursor of the next page. Absent on the last one. A page may be empty, and have a next one. */
  readonly next?: string
}

/** Rows and events that a page of a filter passes over at most. */
const passed = 2_000

/** `a`: a row of the audit. `e`: an event. */
type Kind = 'a' | 'e'

interface Place extends AuditPlace {
  readonly kind: Kind
}

interface Placed extends Place {
  readonly view: AuditEntryView
}

/** The next entries of a source. */
interface Source {
  readonly entries: readonly Placed[]
  /** The last place that was read. Undefined: all were. */
  readonly end: Place | undefined
}

/** Lists events and rows of an organisation. @throws errors of authorizeOrg; ValidationError since, until */
export async function listOrgAudit(
  ctx: Ctx<Person>,
  { path, query }: Path<OrgAt> & Query<AuditQuery>,
): Promise<AuditPage> {
  const { org, sees } = await authorizeOrg(ctx, path, 'owner')
  const filter = { ...filterOf(query), orgId: org.id }
  const [rows, events] = [await readRows(ctx, query, filter), await readEvents(ctx, query, sees, filter)]
  return pageOf([rows, events], query.limit)
}

/**
 * Lists rows of all organisations and of the service. Events are not in it: administrators see no content of
 * organisations in which they have no role.
 *
 * @throws AppError forbidden; ValidationError since, until
 */
export async function listServiceAudit(ctx: Ctx<Person>, { query }: Query<AuditQuery>): Promise<AuditPage> {
  if (!ctx.actor.isAdmin) throw new AppError('forbidden', 'Only administrators of the service can do this')
  return pageOf([await readRows(ctx, query, filterOf(query))], query.limit)
}

/** Lists rows that concern the caller's account. IP addresses of other users are left out. @throws ValidationError */
export async function listMyAudit(ctx: Ctx<Person>, { query }: Query<AuditQuery>): Promise<AuditPage> {
  const page = pageOf([await readRows(ctx, query, { ...filterOf(query), accountId: ctx.actor.id })], query.limit)
  return { ...page, entries: page.entries.map((entry) => withoutOthers(entry, ctx.actor.id)) }
}

async function readRows({ events }: Services, query: AuditQuery, filter: AuditFilter): Promise<Source> {
  const range = rangeOf('a', query)
  const end = isFiltered(filter) ? await passAuditRows(events.read, range, filter, passed) : undefined
  const rows = await listAuditRows(events.read, { ...range, ...(end && { since: end }) }, filter, query.limit + 1)
  return {
    entries: rows.map((row) => ({ ms: row.at_ms, kind: 'a', n: row.n, view: rowView(row) })),
    end: end && { ...end, kind: 'a' },
  }
}

async function readEvents({ events }: Services, query: AuditQuery, sees: Sees, filter: AuditFilter): Promise<Source> {
  const range = rangeOf('e', query)
  const end = isFiltered(filter) ? await passRecordedEvents(events.read, sees, range, passed) : undefined
  const bounds = { ...range, ...(end && { since: end }) }
  const found = await listRecordedEvents(events.read, sees, bounds, filter, query.limit + 1)
  return {
    entries: found.map((one) => ({ ms: one.recorded_ms, kind: 'e', n: one.seq, view: eventView(one) })),
    end: end && { ...end, kind: 'e' },
  }
}

/** Merges the sources to a page. Entries beyond the end of one of them have to wait for the next page. */
function pageOf(sources: readonly Source[], limit: number): AuditPage {
  const ends = sources.flatMap(({ end }) => end ?? []).sort(newestFirst)
  const [end] = ends
  const known = sources.flatMap(({ entries }) => entries).sort(newestFirst)
  const whole = end === undefined ? known : known.filter((one) => newestFirst(one, end) <= 0)
  const shown = whole.slice(0, limit)
  const next = whole.length > limit ? shown.at(-1) : end
  return { entries: shown.map(({ view }) => view), ...(next && { next: cursorOf(next) }) }
}

function newestFirst(a: Place, b: Place): number {
  if (a.ms !== b.ms) return b.ms - a.ms
  if (a.kind !== b.kind) return a.kind === 'e' ? -1 : 1
  return b.n - a.n
}

function cursorOf({ ms, kind, n }: Place): string {
  return `${ms}-${kind}-${n}`
}

const lastNumber = Number.MAX_SAFE_INTEGER

/** Returns the range after the cursor, within the times of the query. @throws ValidationError */
function rangeOf(kind: Kind, { after, since, until }: AuditQuery): AuditRange {
  const untilMs = until === undefined ? lastNumber : timeOf('until', until)
  const sinceMs = since === undefined ? 0 : timeOf('since', since)
  const top: AuditPlace = { ms: untilMs, n: 0 }
  const from = after === undefined ? top : placeAfter(kind, after)
  const isEarlier = from.ms < top.ms
  return { before: isEarlier ? from : top, since: { ms: sinceMs, n: 0 } }
}

/** @throws ValidationError */
function placeAfter(kind: Kind, cursor: string): AuditPlace {
  const [, ms, of, n] = /^(\d{1,15})-([ae])-(\d{1,15})$/.exec(cursor) ?? []
  if (ms === undefined || n === undefined)
    throw invalid(['query', 'after'], 'Send the cursor `next` of a page as it is', cursor)
  if (of === kind) return { ms: Number(ms), n: Number(n) }
  // At the same time, events come before rows.
  return { ms: Number(ms), n: of === 'e' ? lastNumber : 0 }
}

/** @throws ValidationError */
function timeOf(name: string, text: string): number {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw invalid(['query', name], 'Send a time in UTC, such as 2025-07-14T09:30:00Z', text)
  return Math.max(0, ms)
}

const kinds = ['user', 'operator', 'service', 'anonymous'] as const

function filterOf({ action, actor }: AuditQuery): AuditFilter {
  const kind = kinds.find((one) => one === actor)
  return {
    ...(action !== undefined && { action }),
    ...(actor !== undefined && (kind ? { actorKind: kind } : { actorId: actor.toLowerCase() })),
  }
}

function isFiltered({ action, actorId, actorKind }: AuditFilter): boolean {
  return action !== undefined || actorId !== undefined || actorKind !== undefined
}
