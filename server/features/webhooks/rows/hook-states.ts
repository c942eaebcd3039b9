/** How far the deliveries of each webhook have come, and whether its receiver fails. */
import type { Selectable, Transaction } from 'kysely'
import type { Position } from '../../../../index/log/chain.ts'
import { findLog } from '../../../../index/log/events.ts'
import type { DisabledReason, LogDb, LogSchema } from '../../../../index/log/schema.ts'
import { changeRows, readRows } from '../../../../index/sqlite/statements.ts'

export type HookState = Selectable<LogSchema['hook_state']>

/** Rows that one transaction deletes. */
const rowsAtOnce = 500

/** A webhook of an organisation that has a log begins with the present. */
export async function insertHookState(
  trx: Transaction<LogSchema>,
  hook: { readonly id: string; readonly org_id: string },
  {
    reason,
    now,
    from,
  }: { readonly reason: DisabledReason | null; readonly now: Date; readonly from: 'now' | 'oldest' },
): Promise<void> {
  const position = (from === 'now' ? await findLog(trx, hook.org_id) : undefined) ?? beforeAnyLog
  await trx
    .insertInto('hook_state')
    .values({
      ...{ hook_id: hook.id, org_id: hook.org_id, planned_seq: position.seq, planned_chain: position.chain, reason },
      ...{ failing_since: null, failures: 0, probe_at: null, last_success_at: null, created_ms: now.getTime() },
    })
    .onConflict((conflict) => conflict.column('hook_id').doNothing())
    .execute()
}

/** No log has this chain value, so planning begins with the oldest event. */
const beforeAnyLog: Position = { seq: 0, chain: '' }

export async function findHookStates(db: LogDb, hookIds: readonly string[]): Promise<Map<string, HookState>> {
  const text = 'select * from hook_state where hook_id in (select value from json_each(?))'
  const rows = await readRows<HookState>(db, text, JSON.stringify(hookIds))
  return new Map(rows.map((row) => [row.hook_id, row]))
}

/** Lists the states of all webhooks in the order of their ids. */
export async function listHookStatesAfter(db: LogDb, hookId: string, limit: number): Promise<HookState[]> {
  return db.selectFrom('hook_state').selectAll().where('hook_id', '>', hookId).orderBy('hook_id').limit(limit).execute()
}

export type HookStateChange = Partial<Omit<HookState, 'hook_id' | 'org_id' | 'created_ms'>>

export async function updateHookState(
  trx: Transaction<LogSchema>,
  hookId: string,
  change: HookStateChange,
): Promise<void> {
  await trx.updateTable('hook_state').set(change).where('hook_id', '=', hookId).execute()
}

/** Writes how the deliveries of webhooks went. */
export async function updateHookStates(trx: Transaction<LogSchema>, states: readonly HookState[]): Promise<void> {
  if (states.length === 0) return
  const text = `update hook_state set reason = value ->> 'reason', failing_since = value ->> 'failing_since',
      failures = value ->> 'failures', probe_at = value ->> 'probe_at', last_success_at = value ->> 'last_success_at'
    from json_each(?) where hook_id = value ->> 'hook_id'`
  await changeRows(trx, text, JSON.stringify(states))
}

/** Sets the position to the present. Earlier events that have no delivery do not get one. */
export async function skipToNow(
  trx: Transaction<LogSchema>,
  { hook_id, org_id }: Pick<HookState, 'hook_id' | 'org_id'>,
) {
  const { seq, chain } = (await findLog(trx, org_id)) ?? beforeAnyLog
  await updateHookState(trx, hook_id, { planned_seq: seq, planned_chain: chain })
}

/** Deletes some deliveries of a webhook, and its state with the last ones. Returns false if more remain. */
export async function deleteHookState(trx: Transaction<LogSchema>, hookId: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('delivery')
    .where('id', 'in', (from) =>
      from.selectFrom('delivery').select('id').where('hook_id', '=', hookId).limit(rowsAtOnce),
    )
    .executeTakeFirstOrThrow()
  if (numDeletedRows >= BigInt(rowsAtOnce)) return false
  await trx.deleteFrom('hook_state').where('hook_id', '=', hookId).execute()
  return true
}

/** A webhook with something to plan or to send. */
export interface HookAtWork extends HookState {
  /** 1: its log has events after its position. */
  readonly is_behind: number
  /** 1: it has an unclaimed delivery whose time has come. */
  readonly is_due: number
  /** When it may send next, if nothing changes. Null: it has no pending delivery. */
  readonly next_at: number | null
}

/** `next_at` is that of claimed deliveries too, because a claim may end without an outcome. */
const atWork = `with given (now) as (select ?),
  hook as materialized (
    select hook_state.*, log.seq <> planned_seq or log.chain <> planned_chain as is_behind, max(coalesce(probe_at, 0), (
        select min(next_ms) from delivery where delivery.hook_id = hook_state.hook_id and state = 'pending'
      )) as next_at
    from hook_state left join log on log.org_id = hook_state.org_id
    where reason is null
  )
  select hook.*, next_at <= now and exists (
      select 1 from delivery where delivery.hook_id = hook.hook_id and state = 'pending' and next_ms <= now
        and coalesce(claimed_until, 0) <= now
    ) as is_due
  from given cross join hook where is_behind or next_at is not null order by org_id, hook_id`

/** Lists the enabled webhooks that are behind or have pending deliveries, by organisation. */
export function listHooksAtWork(db: LogDb, nowMs: number): Promise<HookAtWork[]> {
  return readRows(db, atWork, nowMs)
}

/** Returns the last event that every webhook of an organisation has planned. Undefined: there is none. */
export async function findOldestPlanned(db: LogDb, orgId: string): Promise<number | undefined> {
  const { seq } = await db
    .selectFrom('hook_state')
    .select(({ fn }) => fn.min('planned_seq').as('seq'))
    .where('org_id', '=', orgId)
    .executeTakeFirstOrThrow()
  return seq === null ? undefined : Number(seq)
}
