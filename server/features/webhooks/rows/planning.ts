/** Plans deliveries. Each event gets one for each webhook that wants it, once. */
import type { Transaction } from 'kysely'
import type { LogSchema } from '../../../../index/log/schema.ts'
import { changeRows, readRows } from '../../../../index/sqlite/statements.ts'

/** Events that one transaction plans for a webhook, and deliveries that it plans in all. */
const [eventsAtOnce, deliveriesAtOnce] = [100, 500]
/** Deliveries of a webhook that may be pending. More events wait in the log. */
const mostPending = 1_000
/** Deliveries of a webhook that are kept after they ended. */
const mostDone = 1_000

/** A webhook of an organisation, and the events that it wants. */
export interface PlannedHook {
  readonly id: string
  /** Null: of all nodes. */
  readonly node_id: string | null
  /** Types of events, groups such as `pull_request.*`, or `*`. So they are patterns of GLOB. */
  readonly types: readonly string[]
}

interface Place {
  readonly id: string
  /** The event after which planning continues. */
  readonly after: number
  /** The last event of the log. */
  readonly seq: number
  readonly chain: string
}

/**
 * Plans the next events for webhooks of one organisation, and moves their positions. Returns true if more events may be
 * planned at once. Its statements are the same for any number of webhooks and events.
 */
export async function planDeliveries(
  trx: Transaction<LogSchema>,
  hooks: readonly PlannedHook[],
  now: Date,
): Promise<boolean> {
  const places = await readRows<Place>(trx, findPlaces, JSON.stringify(hooks.map(({ id }) => id)))
  if (places.length === 0) return false
  const atOnce = Math.min(eventsAtOnce, Math.ceil(deliveriesAtOnce / places.length))
  const steps = places.map((place) => ({
    ...hooks.find(({ id }) => id === place.id),
    ...place,
    until: Math.min(place.after + atOnce, place.seq),
  }))
  await changeRows(trx, insertPlanned, now.getTime(), JSON.stringify(steps))
  await changeRows(trx, movePositions, JSON.stringify(steps))
  // It passes over all that are kept, so it waits for the next hundred events.
  const passing = steps.filter(
    ({ after, until }) => Math.floor(after / eventsAtOnce) < Math.floor(until / eventsAtOnce),
  )
  if (passing.length > 0) await changeRows(trx, trimDone, JSON.stringify(passing))
  return steps.some(({ until, seq }) => until < seq)
}

/**
 * Finds the positions of webhooks that are not disabled, and may have more pending deliveries. A position that the log
 * does not contain begins with the oldest event.
 */
const findPlaces = `select hook_id as id, iif(
    planned_seq >= base_seq and planned_chain is coalesce(
      (select chain from event where event.org_id = log.org_id and event.seq = planned_seq),
      iif(planned_seq = base_seq, base_chain, null)
    ), planned_seq, base_seq) as after, log.seq, log.chain
  from json_each(?) as hook cross join hook_state on hook_id = hook.value
    cross join log on log.org_id = hook_state.org_id
  where reason is null and sealed = 0 and (
    select count(*) from delivery where delivery.hook_id = hook_state.hook_id and state = 'pending'
  ) <= ${mostPending - eventsAtOnce}`

/** Ids are UUIDs of version 7. */
const insertPlanned = `insert into delivery (
    id, hook_id, org_id, event_id, seq, type, state, attempts, next_ms, created_ms
  )
  select substr(time, 1, 8) || '-' || substr(time, 9) || '-7' || substr(random, 1, 3) || '-8' || substr(random, 4, 3)
    || '-' || substr(random, 7), hook_id, org_id, event_id, seq, type, 'pending', 0, now, now
  from (
    select now, printf('%012x', now) as time, lower(hex(randomblob(9))) as random, hook.value ->> 'id' as hook_id,
      event.org_id, event.id as event_id, event.seq, event.type
    from (select ? as now, ? as hooks) cross join json_each(hooks) as hook
      cross join hook_state on hook_state.hook_id = hook.value ->> 'id'
      cross join event on event.org_id = hook_state.org_id
        and event.seq > hook.value ->> 'after' and event.seq <= hook.value ->> 'until'
    where (hook.value ->> 'node_id' is null or event.node_id = hook.value ->> 'node_id')
      and exists (select 1 from json_each(hook.value, '$.types') as pattern where event.type glob pattern.value)
  )
  where true
  on conflict (hook_id, event_id) do nothing`

/** The event of a position is missing only if the log has none. */
const movePositions = `update hook_state set planned_seq = value ->> 'until', planned_chain = coalesce(
    (select chain from event where event.org_id = hook_state.org_id and event.seq = value ->> 'until'),
    value ->> 'chain')
  from json_each(?) where hook_id = value ->> 'id'`

/** Deletes the oldest deliveries that ended, beyond those that are kept. */
const trimDone = `delete from delivery where id in (
    select old.id from json_each(?) as hook cross join delivery as old on old.id in (
      select id from delivery where hook_id = hook.value ->> 'id' and done_ms is not null
      order by done_ms desc limit ${2 * eventsAtOnce} offset ${mostDone}))`
