/** Claims of deliveries. One transaction claims several, and another one records their outcomes. */
import type { Transaction } from 'kysely'
import type { LogDb, LogSchema } from '../../../../index/log/schema.ts'
import { changeRows, readRows } from '../../../../index/sqlite/statements.ts'
import type { Delivery } from './deliveries.ts'

/** Deliveries of a webhook that all processes send at once. */
export const mostOfHook = 4

/** A delivery that may be sent now. */
export interface WaitingDelivery extends Pick<Delivery, 'id' | 'hook_id' | 'org_id'> {
  /** 1: all other deliveries of its webhook wait for the outcome. */
  readonly is_probe: number
}

export interface Waiting {
  /** With `ordered` 1, a delivery also waits for those before it. */
  readonly hooks: readonly { readonly id: string; readonly ordered: number }[]
  readonly nowMs: number
  /** Deliveries that this process is still sending, although their claims may have ended. */
  readonly sending: readonly string[]
}

const isFree = `next_ms <= now and coalesce(claimed_until, 0) <= now
  and id not in (select value from json_each(sending))`

/** The next deliveries of a webhook, by the order of their events. */
const next = `select id from delivery
  where hook_id = hook.value ->> 'id' and state = 'pending' and ${isFree} order by next_ms, seq limit ${mostOfHook}`

const nextInOrder = `select id from (
    select id, next_ms, claimed_until from delivery
    where hook_id = hook.value ->> 'id' and state = 'pending' order by created_ms, seq limit 1
  ) where ${isFree}`

const waitingOf = (ordered: 0 | 1) => `
  select delivery.*, failing_since is not null as is_probe, hook.key as place
  from given cross join json_each(hooks) as hook
    cross join hook_state on hook_state.hook_id = hook.value ->> 'id'
    cross join delivery on delivery.id in (${ordered === 1 ? nextInOrder : next})
  where hook.value ->> 'ordered' = ${ordered} and reason is null and coalesce(probe_at, 0) <= now`

const waiting = `with given (hooks, now, sending) as (select ?, ?, ?)
  select id, hook_id, org_id, is_probe from (${waitingOf(0)} union all ${waitingOf(1)}) order by place, next_ms, seq`

/** Lists the next deliveries of each webhook, one webhook after the other. */
export function listWaiting(db: LogDb, { hooks, nowMs, sending }: Waiting): Promise<WaitingDelivery[]> {
  return readRows(db, waiting, JSON.stringify(hooks), nowMs, JSON.stringify(sending))
}

/** Lists claims that have not ended. Each process has a few. */
export function listClaimed(db: LogDb, nowMs: number): Promise<Pick<Delivery, 'hook_id' | 'org_id'>[]> {
  const text = 'select hook_id, org_id from delivery where claimed_by is not null and claimed_until > ?'
  return readRows(db, text, nowMs)
}

export interface ClaimedDelivery extends Delivery, Pick<WaitingDelivery, 'is_probe'> {
  /** The JSON of the event. Null: the log no longer has it. */
  readonly body: string | null
}

/** Claims deliveries, and returns them in their order. */
export async function claimDeliveries(
  trx: Transaction<LogSchema>,
  chosen: readonly WaitingDelivery[],
  { by, untilMs }: { readonly by: string; readonly untilMs: number },
): Promise<ClaimedDelivery[]> {
  if (chosen.length === 0) return []
  const text = `update delivery set claimed_by = ?, claimed_until = ? where id in (select value from json_each(?))
    returning *, (select body from event where event.id = delivery.event_id) as body`
  const ids = JSON.stringify(chosen.map(({ id }) => id))
  const rows = await readRows<Delivery & Pick<ClaimedDelivery, 'body'>>(trx, text, by, untilMs, ids)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return chosen.flatMap(({ id, is_probe }) => {
    const row = byId.get(id)
    return row === undefined ? [] : { ...row, is_probe }
  })
}

/** Ends claims of a process without an outcome. */
export async function giveBack(trx: Transaction<LogSchema>, ids: readonly string[], by: string): Promise<void> {
  const text = `update delivery set claimed_by = null, claimed_until = null
    where claimed_by = ? and id in (select value from json_each(?))`
  await changeRows(trx, text, by, JSON.stringify(ids))
}

/** The columns that an attempt changes. */
export type Ended = Pick<
  Delivery,
  'state' | 'attempts' | 'next_ms' | 'attempted_ms' | 'status' | 'ms' | 'error' | 'response' | 'done_ms'
>

/** Ends a claim. Returns false if another process has taken it over, which then reports the outcome. */
export async function endClaim(
  trx: Transaction<LogSchema>,
  { id, by }: { readonly id: string; readonly by: string },
  { state, attempts, next_ms, attempted_ms, status, ms, error, response, done_ms }: Ended,
): Promise<boolean> {
  const text = `update delivery set state = ?, attempts = ?, next_ms = ?, attempted_ms = ?, status = ?, ms = ?, error = ?,
    response = ?, done_ms = ?, claimed_by = null, claimed_until = null where id = ? and claimed_by = ?`
  const values = [state, attempts, next_ms, attempted_ms, status, ms, error, response, done_ms]
  return (await changeRows(trx, text, ...values, id, by)) > 0
}
