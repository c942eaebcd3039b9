/** Deliveries: planned once for each event and webhook, claimed by one sender at a time. */
import type { Selectable, Transaction } from 'kysely'
import { wholeOrg } from '../derived/sees.ts'
import { type EventRow, findLog, listEventsAfter } from './events.ts'
import { findHookStates, updateHookState } from './hook-states.ts'
import { baseOf, hasPosition } from './positions.ts'
import type { DeliveryState, LogDb, LogSchema } from './schema.ts'

export type Delivery = Selectable<LogSchema['delivery']>

/** Events that one transaction plans. */
const eventsAtOnce = 100
/** Deliveries of a webhook that may be pending. More events wait in the log. */
const mostPending = 1_000
/** Deliveries of a webhook that are kept after they ended. */
const mostDone = 1_000

export interface PlannedHook {
  readonly hook_id: string
  readonly org_id: string
  matches(event: Pick<EventRow, 'type' | 'node_id'>): boolean
  newId(): string
}

/**
 * Plans deliveries of the next events, and moves the position of the webhook. Both are in one transaction. Returns true
 * if more events may be planned at once.
 */
export async function planDeliveries(trx: Transaction<LogSchema>, hook: PlannedHook, now: Date): Promise<boolean> {
  const { hook_id, org_id } = hook
  const state = (await findHookStates(trx, [hook_id])).get(hook_id)
  const log = await findLog(trx, org_id)
  if (state === undefined || state.reason !== null || log === undefined || log.sealed === 1) return false
  if ((await countPending(trx, hook_id)) > mostPending - eventsAtOnce) return false
  const planned = { seq: state.planned_seq, chain: state.planned_chain }
  const from = (await hasPosition(trx, log, planned)) ? planned : baseOf(log)
  const events = await listEventsAfter(trx, wholeOrg(org_id), from.seq, { limit: eventsAtOnce })
  const wanted = events.filter((event) => hook.matches(event))
  for (const { id, seq, type } of wanted) {
    await trx
      .insertInto('delivery')
      .values({
        ...{ id: hook.newId(), hook_id, org_id, event_id: id, seq, type, state: 'pending', attempts: 0 },
        ...{ next_ms: now.getTime(), created_ms: now.getTime() },
      })
      .onConflict((conflict) => conflict.columns(['hook_id', 'event_id']).doNothing())
      .execute()
  }
  const { seq, chain } = events.at(-1) ?? from
  await updateHookState(trx, hook_id, { planned_seq: seq, planned_chain: chain })
  await trimDone(trx, hook_id)
  return events.length === eventsAtOnce
}

/** Deletes the oldest deliveries that ended, beyond those that are kept. */
async function trimDone(trx: Transaction<LogSchema>, hookId: string): Promise<void> {
  await trx
    .deleteFrom('delivery')
    .where('id', 'in', (from) =>
      from
        .selectFrom('delivery')
        .select('id')
        .where('hook_id', '=', hookId)
        .where('done_ms', 'is not', null)
        .orderBy('done_ms', 'desc')
        .limit(2 * eventsAtOnce)
        .offset(mostDone),
    )
    .execute()
}

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

async function countPending(db: LogDb, hookId: string): Promise<number> {
  return (await countPendingOf(db, [hookId])).get(hookId) ?? 0
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

export interface Claim {
  readonly hook_id: string
  readonly org_id: string
  readonly ordered: boolean
  /** The process that claims. */
  readonly by: string
  readonly nowMs: number
  readonly untilMs: number
  /** Attempts that may run at once, in all processes. */
  readonly most: { readonly ofHook: number; readonly ofOrg: number }
  /** Deliveries that this process is still sending, although their claims may have ended. */
  readonly sending: ReadonlySet<string>
}

export interface ClaimedDelivery extends Delivery {
  /** The JSON of the event. Null: the log no longer has it. */
  readonly body: string | null
  /** True if all other deliveries wait for the outcome. */
  readonly isProbe: boolean
}

/** Claims the next delivery of a webhook. Undefined: there is nothing to send now. */
export async function claimDelivery(trx: Transaction<LogSchema>, claim: Claim): Promise<ClaimedDelivery | undefined> {
  const { hook_id, org_id, by, nowMs, untilMs, most } = claim
  const state = (await findHookStates(trx, [hook_id])).get(hook_id)
  if (state === undefined || state.reason !== null || (state.probe_at ?? 0) > nowMs) return undefined
  const isProbe = state.failing_since !== null
  const claimed = await listClaimed(trx, nowMs)
  const ofHook = claimed.filter((one) => one.hook_id === hook_id).length
  const ofOrg = claimed.filter((one) => one.org_id === org_id).length
  if (ofHook >= (isProbe || claim.ordered ? 1 : most.ofHook) || ofOrg >= most.ofOrg) return undefined
  const next = await findNext(trx, claim)
  if (next === undefined) return undefined
  await trx.updateTable('delivery').set({ claimed_by: by, claimed_until: untilMs }).where('id', '=', next.id).execute()
  const event = await trx.selectFrom('event').select('body').where('id', '=', next.event_id).executeTakeFirst()
  return { ...next, body: event?.body ?? null, isProbe }
}

/** Lists claims that have not ended. Each process has a few. */
async function listClaimed(db: LogDb, nowMs: number): Promise<Pick<Delivery, 'hook_id' | 'org_id'>[]> {
  return db
    .selectFrom('delivery')
    .select(['hook_id', 'org_id'])
    .where('claimed_by', 'is not', null)
    .where('claimed_until', '>', nowMs)
    .execute()
}

/** First attempts leave in the order of the events. In order, a delivery also waits for those before it. */
async function findNext(
  db: LogDb,
  { hook_id, ordered, nowMs, sending }: Pick<Claim, 'hook_id' | 'ordered' | 'nowMs' | 'sending'>,
): Promise<Delivery | undefined> {
  const pending = db.selectFrom('delivery').selectAll().where('hook_id', '=', hook_id).where('state', '=', 'pending')
  if (ordered) {
    const first = await pending.orderBy('created_ms').orderBy('seq').limit(1).executeTakeFirst()
    const isDue = first !== undefined && first.next_ms <= nowMs && (first.claimed_until ?? 0) <= nowMs
    return isDue && !sending.has(first.id) ? first : undefined
  }
  return pending
    .where('next_ms', '<=', nowMs)
    .where(({ or, eb }) => or([eb('claimed_until', 'is', null), eb('claimed_until', '<=', nowMs)]))
    .where('id', 'not in', [...sending, ''])
    .orderBy('next_ms')
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst()
}

export type DeliveryChange = Partial<
  Pick<Delivery, 'state' | 'attempts' | 'next_ms' | 'attempted_ms' | 'status' | 'ms' | 'error' | 'response' | 'done_ms'>
>

/** Ends a claim. Returns false if another process has taken it over, which then reports the outcome. */
export async function endClaim(
  trx: Transaction<LogSchema>,
  { id, by }: { readonly id: string; readonly by: string },
  change: DeliveryChange,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('delivery')
    .set({ ...change, claimed_by: null, claimed_until: null })
    .where('id', '=', id)
    .where('claimed_by', '=', by)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Lists the processes that have claims. */
export async function listClaimers(db: LogDb): Promise<string[]> {
  const rows = await db
    .selectFrom('delivery')
    .select('claimed_by')
    .distinct()
    .where('claimed_by', 'is not', null)
    .execute()
  return rows.flatMap(({ claimed_by }) => claimed_by ?? [])
}

/** Ends all claims of a process. */
export async function endClaimsOf(trx: Transaction<LogSchema>, by: string): Promise<void> {
  await trx
    .updateTable('delivery')
    .set({ claimed_by: null, claimed_until: null })
    .where('claimed_by', '=', by)
    .execute()
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
