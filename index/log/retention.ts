/** Removes old events. The base of a log keeps the cursor before its oldest event valid. */
import type { Transaction } from 'kysely'
import { findLog, type Log } from './events.ts'
import type { LogDb, LogSchema } from './schema.ts'

export interface Retention {
  /** Events that were recorded before this time are removed. Milliseconds since 1970. */
  readonly before: number
  /** The most events of a log that are kept. */
  readonly most: number
  /** Events after this number are still needed, if they were recorded after `neededSince`. */
  readonly needed?: number
  readonly neededSince: number
}

interface Aged {
  readonly seq: number
  readonly chain: string
  readonly recorded_ms: number
}

/** True if the oldest event of the log can be removed. */
export async function hasExpired(db: LogDb, orgId: string, retention: Retention): Promise<boolean> {
  const log = await findLog(db, orgId)
  if (log === undefined || log.sealed === 1) return false
  return (await listExpired(db, log, retention, 1)).length > 0
}

/** Removes up to `limit` events from the beginning of a log. Returns how many. */
export async function removeExpired(
  trx: Transaction<LogSchema>,
  orgId: string,
  retention: Retention,
  limit: number,
): Promise<number> {
  const log = await findLog(trx, orgId)
  // A log that moves to another cell stays as it was sent.
  if (log === undefined || log.sealed === 1) return 0
  const expired = await listExpired(trx, log, retention, limit)
  const last = expired.at(-1)
  if (last === undefined) return 0
  await trx.deleteFrom('event').where('org_id', '=', orgId).where('seq', '<=', last.seq).execute()
  const base = { base_seq: last.seq, base_chain: last.chain }
  await trx.updateTable('log').set(base).where('org_id', '=', orgId).execute()
  return expired.length
}

/** Lists the events at the beginning of the log that can be removed. Ends at the first that must stay. */
async function listExpired(db: LogDb, log: Log, retention: Retention, limit: number): Promise<Aged[]> {
  const { before, most, needed = log.seq, neededSince } = retention
  const rows: Aged[] = await db
    .selectFrom('event')
    .select(['seq', 'chain', 'recorded_ms'])
    .where('org_id', '=', log.org_id)
    .where('seq', '>', log.base_seq)
    .orderBy('seq')
    .limit(limit)
    .execute()
  const stays = rows.findIndex(({ seq, recorded_ms }) => {
    const isOld = recorded_ms < before || seq <= log.seq - most
    return !isOld || (seq > needed && recorded_ms >= neededSince)
  })
  return stays === -1 ? rows : rows.slice(0, stays)
}

/** Returns the first organisation with a log after this id, in the order of ids. */
export async function nextLogOrg(db: LogDb, after: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('log')
    .select('org_id')
    .where('org_id', '>', after)
    .orderBy('org_id')
    .limit(1)
    .executeTakeFirst()
  return row?.org_id
}
