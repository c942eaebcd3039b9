/** Events as the audit lists them: by the time at which they were recorded. */
import { sql, type Transaction } from 'kysely'
import type { Sees } from '../../../../index/derived/sees.ts'
import type { Forgotten } from '../../../../index/log/audit.ts'
import type { LogDb, LogSchema } from '../../../../index/log/schema.ts'
import { changeRows } from '../../../../index/sqlite/statements.ts'
import type { AuditFilter, AuditPlace, AuditRange } from './audit.ts'

export interface RecordedEvent {
  readonly org_id: string
  readonly seq: number
  readonly recorded_ms: number
  readonly body: string
  /** How the request came, as JSON. */
  readonly origin: string | null
}

const columns = ['org_id', 'seq', 'recorded_ms', 'body', 'origin'] as const

/** Lists events of an organisation, newest first. */
export async function listRecordedEvents(
  db: LogDb,
  sees: Sees,
  { before, since }: AuditRange,
  { action, actorId, actorKind }: AuditFilter,
  limit: number,
): Promise<RecordedEvent[]> {
  let query = db
    .selectFrom('event')
    .select(columns)
    .where('org_id', '=', sees.orgId)
    .where(sql<boolean>`(recorded_ms, seq) < (${before.ms}, ${before.n})`)
    .where(sql<boolean>`(recorded_ms, seq) >= (${since.ms}, ${since.n})`)
  if (action !== undefined) query = query.where(sql<boolean>`type glob ${action}`)
  if (actorId !== undefined) query = query.where(sql`json_extract(body, '$.data.actor.id')`, '=', actorId)
  if (actorKind !== undefined) query = query.where(sql`json_extract(body, '$.data.actor.kind')`, '=', actorKind)
  return query.orderBy('recorded_ms', 'desc').orderBy('seq', 'desc').limit(limit).execute()
}

/** Returns the place of the last of the next `count` events. Undefined: there are fewer. Reads only an index. */
export async function passRecordedEvents(
  db: LogDb,
  sees: Sees,
  { before, since }: AuditRange,
  count: number,
): Promise<AuditPlace | undefined> {
  const row = await db
    .selectFrom('event')
    .select(['recorded_ms', 'seq'])
    .where('org_id', '=', sees.orgId)
    .where(sql<boolean>`(recorded_ms, seq) < (${before.ms}, ${before.n})`)
    .where(sql<boolean>`(recorded_ms, seq) >= (${since.ms}, ${since.n})`)
    .orderBy('recorded_ms', 'desc')
    .orderBy('seq', 'desc')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst()
  return row && { ms: row.recorded_ms, n: row.seq }
}

/** Lists the last number of each log. */
export async function listLogEnds(db: LogDb): Promise<{ readonly org_id: string; readonly seq: number }[]> {
  return db.selectFrom('log').select(['org_id', 'seq']).orderBy('org_id').execute()
}

/** Lists events of an organisation after a place in the order of time, oldest first. */
export async function listRecordedAfter(
  db: LogDb,
  orgId: string,
  { ms, n }: AuditPlace,
  limit: number,
): Promise<RecordedEvent[]> {
  return db
    .selectFrom('event')
    .select(columns)
    .where('org_id', '=', orgId)
    .where(sql<boolean>`(recorded_ms, seq) > (${ms}, ${n})`)
    .orderBy('recorded_ms')
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/** Lists events of an organisation after a number, in the order of numbers. */
export async function listNewEvents(db: LogDb, orgId: string, seq: number, limit: number): Promise<RecordedEvent[]> {
  return db
    .selectFrom('event')
    .select(columns)
    .where('org_id', '=', orgId)
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/** Finds a user whose next pass is due. */
export async function findForgotten(db: LogDb, ms: number): Promise<Forgotten | undefined> {
  return db.selectFrom('forgotten').selectAll().where('due_ms', '<=', ms).orderBy('due_ms').executeTakeFirst()
}

export async function deleteForgotten(trx: Transaction<LogSchema>, userId: string): Promise<void> {
  await trx.deleteFrom('forgotten').where('user_id', '=', userId).execute()
}

/** Lists events of all organisations after a place, in the order of organisations and numbers. */
export async function listEventsAfterPlace(
  db: LogDb,
  { org_id, seq }: Pick<RecordedEvent, 'org_id' | 'seq'>,
  limit: number,
): Promise<RecordedEvent[]> {
  return db
    .selectFrom('event')
    .select(columns)
    .where(sql<boolean>`(org_id, seq) > (${org_id}, ${seq})`)
    .orderBy('org_id')
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/** Replaces the JSON of an event. Its id and its place stay, so chains hold. */
export async function setEventBody(
  trx: Transaction<LogSchema>,
  { org_id, seq, body }: Omit<RecordedEvent, 'recorded_ms' | 'origin'>,
): Promise<void> {
  await trx.updateTable('event').set({ body }).where('org_id', '=', org_id).where('seq', '=', seq).execute()
}

/** Removes the origin of up to some events of before this time. Returns true if none is left. */
export async function removeOriginsBefore(trx: Transaction<LogSchema>, ms: number, limit: number): Promise<boolean> {
  const text = `update event set origin = null where rowid in
    (select rowid from event where origin is not null and recorded_ms < ? limit ?)`
  return (await changeRows(trx, text, ms, limit)) < limit
}
