/** Lists and forgets rows of the audit. */
import { type SelectQueryBuilder, sql, type Transaction } from 'kysely'
import type { AuditRow } from '../../../../index/log/audit.ts'
import type { LogDb, LogSchema } from '../../../../index/log/schema.ts'

/** A place in the order of time, with which a list continues. */
export interface AuditPlace {
  /** Milliseconds since 1970. */
  readonly ms: number
  /** The number of the row or of the event. */
  readonly n: number
}

export interface AuditRange {
  /** Not including this place. */
  readonly before: AuditPlace
  /** Including this place. */
  readonly since: AuditPlace
}

export interface AuditFilter {
  readonly orgId?: string
  readonly accountId?: string
  /** A name, or its beginning with a `*`. */
  readonly action?: string
  readonly actorId?: string
  readonly actorKind?: AuditRow['actor_kind']
}

/** Lists rows, newest first. */
export async function listAuditRows(
  db: LogDb,
  { before, since }: AuditRange,
  filter: AuditFilter,
  limit: number,
): Promise<AuditRow[]> {
  let query = ofOwner(db, filter)
    .where(sql<boolean>`(at_ms, n) < (${before.ms}, ${before.n})`)
    .where(sql<boolean>`(at_ms, n) >= (${since.ms}, ${since.n})`)
  if (filter.action !== undefined) query = query.where(sql<boolean>`action glob ${filter.action}`)
  if (filter.actorId !== undefined) query = query.where('actor_id', '=', filter.actorId)
  if (filter.actorKind !== undefined) query = query.where('actor_kind', '=', filter.actorKind)
  return query.selectAll().orderBy('at_ms', 'desc').orderBy('n', 'desc').limit(limit).execute()
}

/** Returns the place of the last of the next `count` rows. Undefined: there are fewer. Reads only an index. */
export async function passAuditRows(
  db: LogDb,
  { before, since }: AuditRange,
  filter: AuditFilter,
  count: number,
): Promise<AuditPlace | undefined> {
  const row = await ofOwner(db, filter)
    .select(['at_ms', 'n'])
    .where(sql<boolean>`(at_ms, n) < (${before.ms}, ${before.n})`)
    .where(sql<boolean>`(at_ms, n) >= (${since.ms}, ${since.n})`)
    .orderBy('at_ms', 'desc')
    .orderBy('n', 'desc')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst()
  return row && { ms: row.at_ms, n: row.n }
}

type AuditQuery = SelectQueryBuilder<LogSchema, 'audit', Record<never, never>>

/** The rows of an organisation or an account, or all. */
function ofOwner(db: LogDb, { orgId, accountId }: AuditFilter): AuditQuery {
  const query: AuditQuery = db.selectFrom('audit')
  if (orgId !== undefined) return query.where('org_id', '=', orgId)
  return accountId === undefined ? query : query.where('account_id', '=', accountId)
}

/** Lists rows after a place in the order of time, oldest first. */
export async function listAuditRowsAfter(
  db: LogDb,
  { ms, n }: AuditPlace,
  { orgId, limit }: { readonly orgId: string | undefined; readonly limit: number },
): Promise<AuditRow[]> {
  return ofOwner(db, orgId === undefined ? {} : { orgId })
    .selectAll()
    .where(sql<boolean>`(at_ms, n) > (${ms}, ${n})`)
    .orderBy('at_ms')
    .orderBy('n')
    .limit(limit)
    .execute()
}

/** Lists rows after a number, in the order in which they were written. */
export async function listNewAuditRows(
  db: LogDb,
  n: number,
  { orgId, limit }: { readonly orgId: string | undefined; readonly limit: number },
): Promise<AuditRow[]> {
  // The unary plus keeps SQLite from the index by organisation, which has another order.
  let query = db.selectFrom('audit').selectAll().where('n', '>', n)
  if (orgId !== undefined) query = query.where(sql<boolean>`+org_id = ${orgId}`)
  return query.orderBy('n').limit(limit).execute()
}

/** Returns the number of the last row, or 0. */
export async function lastAuditRow(db: LogDb): Promise<number> {
  const row = await db
    .selectFrom('audit')
    .select(({ fn }) => fn.max('n').as('n'))
    .executeTakeFirst()
  return row?.n ?? 0
}

/** Deletes up to `limit` rows of before this time. Returns true if none is left. */
export async function deleteAuditBefore(trx: Transaction<LogSchema>, ms: number, limit: number): Promise<boolean> {
  const old = trx.selectFrom('audit').select('n').where('at_ms', '<', ms).limit(limit)
  const { numDeletedRows } = await trx.deleteFrom('audit').where('n', 'in', old).executeTakeFirstOrThrow()
  return Number(numDeletedRows) < limit
}

/** Lists rows of before this time whose addresses are not cut. */
export async function listWholeAddresses(
  db: LogDb,
  ms: number,
  limit: number,
): Promise<{ readonly n: number; readonly address: string | null }[]> {
  return db
    .selectFrom('audit')
    .select(['n', 'address'])
    .where('address', 'is not', null)
    .where('address_cut', '=', 0)
    .where('at_ms', '<', ms)
    .orderBy('at_ms')
    .limit(limit)
    .execute()
}

export async function setAddressCut(trx: Transaction<LogSchema>, n: number, address: string | null): Promise<void> {
  await trx.updateTable('audit').set({ address, address_cut: 1 }).where('n', '=', n).execute()
}
