/** Appends and reads events. */
import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { Sees } from '../derived/sees.ts'
import { changeNow, readNow, readRows } from '../sqlite/statements.ts'
import { nextChain, type Position, startOf } from './chain.ts'
import type { LogDb, LogSchema } from './schema.ts'

/** An event without its place in the log. */
export interface NewEvent {
  /** 32 hex digits. An id that the log already has is not appended again. */
  readonly id: string
  readonly nodeId: string | null
  readonly type: string
  /** When it happened. ISO 8601. */
  readonly at: string
  readonly isPublic: boolean
  /** How the request came, as JSON. */
  readonly origin: string | null
  /** Returns the JSON as it is sent. Without a number, it is not in a log. */
  readonly render: (seq?: number) => string
}

export interface Log extends Position {
  readonly org_id: string
  readonly log_id: string
  readonly base_seq: number
  readonly base_chain: string
  readonly began_at: string
  readonly whole: number
  /** 1: it is moving between cells. Nothing is appended. */
  readonly sealed: number
}

export interface EventRow extends Position {
  readonly id: string
  readonly node_id: string | null
  readonly type: string
  readonly body: string
}

export async function findLog(db: LogDb, orgId: string): Promise<Log | undefined> {
  return (await readRows<Log>(db, logOfOrg, orgId))[0]
}

/** Finds the log in this turn of the event loop. */
export function findLogNow(trx: Transaction<LogSchema>, orgId: string): Log | undefined {
  return readNow<Log>(trx, logOfOrg, orgId)[0]
}

const logOfOrg = 'select * from log where org_id = ?'

/** Reads the logs of organisations with one statement. Leaves out those that have none. */
export function listLogs(db: LogDb, orgIds: readonly string[]): Promise<Log[]> {
  return readRows<Log>(
    db,
    'select log.* from json_each(?) as one cross join log on log.org_id = one.value order by one.key',
    JSON.stringify(orgIds),
  )
}

/** Returns an organisation's last event. Its time is in milliseconds since 1970. */
export async function findLastEvent(
  db: LogDb,
  orgId: string,
): Promise<{ readonly type: string; readonly recorded_ms: number } | undefined> {
  return db
    .selectFrom('event')
    .select(['type', 'recorded_ms'])
    .where('org_id', '=', orgId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Begins a log without events. @param isWhole true if no repository of the organisation is older than the log */
export async function beginLog(
  trx: Transaction<LogSchema>,
  orgId: string,
  { at, isWhole }: { readonly at: Date; readonly isWhole: boolean },
): Promise<Log> {
  const log_id = randomUUID()
  const start = startOf(log_id)
  const log: Log = {
    ...{ org_id: orgId, log_id, ...start, base_seq: start.seq, base_chain: start.chain },
    ...{ began_at: at.toISOString(), whole: Number(isWhole), sealed: 0 },
  }
  await trx.insertInto('log').values(log).execute()
  return log
}

/** Records that every repository of the logs that began before this time is recorded. */
export async function markLogsWhole(db: LogDb, began: Date): Promise<void> {
  await db
    .updateTable('log')
    .set({ whole: 1 })
    .where('whole', '=', 0)
    .where('began_at', '<', began.toISOString())
    .execute()
}

/** Appends events in their order, without those that the log has. Returns the position after the last one. */
export function appendEvents(
  trx: Transaction<LogSchema>,
  log: Pick<Log, 'org_id' | 'seq' | 'chain'>,
  events: readonly NewEvent[],
  now: Date,
): Position {
  let { seq, chain } = log
  const known = knownIds(trx, events)
  const rows: (string | number | null)[][] = []
  for (const { id, nodeId, type, at, isPublic, origin, render } of events) {
    if (known.has(id)) continue
    known.add(id)
    seq += 1
    chain = nextChain(chain, id)
    rows.push([seq, chain, id, nodeId, type, at, Number(isPublic), render(seq), origin])
  }
  if (rows.length === 0) return { seq, chain }
  changeNow(trx, insertEvents, log.org_id, now.getTime(), JSON.stringify(rows))
  changeNow(trx, 'update log set seq = ?, chain = ? where org_id = ?', seq, chain, log.org_id)
  return { seq, chain }
}

const insertEvents = `insert into event (org_id, recorded_ms, seq, chain, id, node_id, type, at, public, body, origin)
  select ?, ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8
  from json_each(?)`

function knownIds(trx: Transaction<LogSchema>, events: readonly NewEvent[]): Set<string> {
  const ids = JSON.stringify(events.map(({ id }) => id))
  const rows = readNow<{ id: string }>(trx, 'select id from event where id in (select value from json_each(?))', ids)
  return new Set(rows.map(({ id }) => id))
}

/** True if the log of an organisation has this event. */
export async function hasEvent(db: LogDb, id: string): Promise<boolean> {
  return (await readRows(db, 'select 1 from event where id = ?', id)).length > 0
}

export interface EventFilter {
  /** Exact types. Undefined: all. */
  readonly types?: readonly string[]
  readonly nodeIds?: readonly string[]
}

/** The most events that one statement reads while it searches for those of a filter. */
export const eventsPassed = 5_000

/** Lists events that match the filter, oldest first, among the next `eventsPassed` after a number. */
export async function listEventsAfter(
  db: LogDb,
  sees: Sees,
  seq: number,
  filter: EventFilter & { readonly limit: number },
): Promise<EventRow[]> {
  return eventsBetween(db, sees, [seq, seq + eventsPassed], filter)
    .orderBy('seq')
    .limit(filter.limit)
    .execute()
}

/** Lists events up to a number that match the filter, newest first. Reads the last `eventsPassed`. */
export async function listEventsUpTo(
  db: LogDb,
  sees: Sees,
  seq: number,
  filter: EventFilter & { readonly limit: number },
): Promise<EventRow[]> {
  return eventsBetween(db, sees, [seq - eventsPassed, seq], filter)
    .orderBy('seq', 'desc')
    .limit(filter.limit)
    .execute()
}

/** Selects the events after one number and up to another. */
function eventsBetween(db: LogDb, sees: Sees, [after, until]: readonly [number, number], filter: EventFilter) {
  const { types, nodeIds } = filter
  let query = db
    .selectFrom('event')
    .select(['seq', 'chain', 'id', 'node_id', 'type', 'body'])
    .where('org_id', '=', sees.orgId)
    .where('seq', '>', after)
    .where('seq', '<=', until)
  if (types) query = query.where('type', 'in', types)
  if (nodeIds) query = query.where('node_id', 'in', nodeIds)
  return query
}

/** Returns the number that changes with every commit of another connection to this database. */
export async function dataVersion(db: LogDb): Promise<number> {
  const [row] = await readRows<{ data_version: number }>(db, 'pragma data_version')
  return row?.data_version ?? 0
}
