/** Lists and counts deliveries of webhooks, sends them again, and gives them up. */
import type { Selectable, Transaction } from 'kysely'
import type { DeliveryState, LogDb, LogSchema } from '../../../../index/log/schema.ts'

export type Delivery = Selectable<LogSchema['delivery']>

/** Deletes up to `limit` deliveries that ended before this time. Returns true if none is left. */
export async function deleteDeliveriesDoneBefore(
  trx: Transaction<LogSchema>,
  ms: number,
  limit: number,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('delivery')
    .where('id', 'in', (from) => from.selectFrom('delivery').select('id').where('done_ms', '<', ms).limit(limit))
    .executeTakeFirstOrThrow()
  return numDeletedRows < BigInt(limit)
}

export async function countPendingOf(db: LogDb, hookIds: readonly string[]): Promise<Map<string, number>> {
  if (hookIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('delivery')
    .select(['hook_id', ({ fn }) => fn.countAll().as('count')])
    .where('hook_id', 'in', hookIds)
    .where('state', '=', 'pending')
    .groupBy('hook_id')
    .execute()
  return new Map(rows.map(({ hook_id, count }) => [hook_id, Number(count)]))
}

/** Counts the pending deliveries of all webhooks. */
export async function countAllPending(db: LogDb): Promise<number> {
  const { count } = await db
    .selectFrom('delivery')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('state', '=', 'pending')
    .executeTakeFirstOrThrow()
  return Number(count)
}

export interface DeliveryFilter {
  readonly state?: DeliveryState
  readonly limit: number
  readonly offset: number
}

/** Lists the deliveries of a webhook, newest first. */
export async function listDeliveryRows(
  db: LogDb,
  hookId: string,
  { state, limit, offset }: DeliveryFilter,
): Promise<{ readonly rows: Delivery[]; readonly total: number }> {
  let query = db.selectFrom('delivery').where('hook_id', '=', hookId)
  if (state !== undefined) query = query.where('state', '=', state)
  const { count } = await query.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
  const rows = await query
    .selectAll()
    .orderBy('created_ms', 'desc')
    .orderBy('seq', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return { rows, total: Number(count) }
}

/** Returns a delivery with the JSON of its event, if the log still has it. */
export async function findDelivery(
  db: LogDb,
  hookId: string,
  id: string,
): Promise<(Delivery & { readonly body: string | null }) | undefined> {
  return db
    .selectFrom('delivery')
    .leftJoin('event', 'event.id', 'delivery.event_id')
    .selectAll('delivery')
    .select('event.body')
    .where('delivery.hook_id', '=', hookId)
    .where('delivery.id', '=', id)
    .executeTakeFirst()
}

const again = { state: 'pending', attempts: 0, done_ms: null } as const

/** Makes a delivery pending again, and due at once. */
export async function renewDelivery(trx: Transaction<LogSchema>, id: string, nowMs: number): Promise<void> {
  await trx
    .updateTable('delivery')
    .set({ ...again, next_ms: nowMs })
    .where('id', '=', id)
    .execute()
}

/** Makes the failed deliveries since a time pending again. Returns their number, which is at most `mostDone`. */
export async function renewFailed(
  trx: Transaction<LogSchema>,
  hookId: string,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('delivery')
    .set({ ...again, next_ms: nowMs })
    .where('hook_id', '=', hookId)
    .where('state', '=', 'failed')
    .where('created_ms', '>=', sinceMs)
    .executeTakeFirstOrThrow()
  return Number(numUpdatedRows)
}

/** Ends the pending deliveries of a webhook without an attempt. They are at most `mostPending` and those sent again. */
export async function failPending(
  trx: Transaction<LogSchema>,
  hookId: string,
  { error, nowMs }: { readonly error: string; readonly nowMs: number },
): Promise<void> {
  await trx
    .updateTable('delivery')
    .set({ state: 'failed', error, done_ms: nowMs, claimed_by: null, claimed_until: null })
    .where('hook_id', '=', hookId)
    .where('state', '=', 'pending')
    .execute()
}
