/** Records outcomes of attempts. They decide when a delivery is tried again, and when a webhook is paused or disabled. */

import type { DisabledReason } from '../../../index/log/schema.ts'
import { appendServiceEvent, type EventsTransaction } from '../../domain/event-log/service-events.ts'
import type { Attempt } from './receivers.ts'
import { longestWaitMs, spreadFactor, waitAfter } from './retry-times.ts'
import { type ClaimedDelivery, type Ended, endClaim } from './rows/delivery-claims.ts'
import { findHookStates, type HookState, updateHookState, updateHookStates } from './rows/hook-states.ts'

/** Milliseconds without a success after which a webhook is disabled: 5 days. */
const failingLimitMs = 5 * 24 * 3_600_000

export interface Outcome {
  readonly delivery: ClaimedDelivery
  /** Undefined: the log no longer has the event, so it cannot be sent. */
  readonly attempt: Attempt | undefined
  /** Deliveries that failed together are tried again at different times. */
  readonly factor: number
  /** When the attempt ended. */
  readonly at: Date
}

export function outcomeOf(delivery: ClaimedDelivery, attempt: Attempt | undefined, at: Date): Outcome {
  return { delivery, attempt, factor: spreadFactor(), at }
}

/** Records outcomes of a process in their order. Returns the webhooks that are now disabled. */
export async function recordOutcomes(
  trx: EventsTransaction,
  outcomes: readonly Outcome[],
  by: string,
): Promise<Map<string, DisabledReason>> {
  const own: Outcome[] = []
  for (const outcome of outcomes)
    if (await endClaim(trx, { id: outcome.delivery.id, by }, endOf(outcome))) own.push(outcome)
  const states = await findHookStates(trx, [...new Set(own.map(({ delivery }) => delivery.hook_id))])
  const changed = new Map<string, HookState>()
  const disabled = new Map<string, DisabledReason>()
  for (const outcome of own) {
    const { hook_id } = outcome.delivery
    const before = changed.get(hook_id) ?? states.get(hook_id)
    const after = before && stateAfter(before, outcome)
    if (after === undefined) continue
    changed.set(hook_id, after)
    if (after.reason === null || before?.reason !== null) continue
    disabled.set(hook_id, after.reason)
    await appendDisabled(trx, { state: after, reason: after.reason, now: outcome.at })
  }
  await updateHookStates(trx, [...changed.values()])
  return disabled
}

/** After a success, all deliveries that wait are sent. */
export async function noteSuccess(trx: EventsTransaction, hookId: string, now: Date): Promise<void> {
  await updateHookState(trx, hookId, successAt(now))
}

function successAt(at: Date) {
  return { failing_since: null, failures: 0, probe_at: null, last_success_at: at.getTime() }
}

/** Returns the row of the delivery after the attempt. */
function endOf({ delivery, attempt, factor, at }: Outcome): Ended {
  const nowMs = at.getTime()
  if (attempt === undefined)
    return {
      ...delivery,
      state: 'failed',
      error: 'The log no longer has the event, so it cannot be sent.',
      done_ms: nowMs,
    }
  const attempts = delivery.attempts + 1
  const wait = waitFor(attempt, factor, attempts)
  // 410 says nothing about the event: it waits until an owner enables the webhook.
  const next = attempt.status === 410 ? nowMs : wait === undefined ? undefined : nowMs + wait
  const isOver = attempt.isDelivered || next === undefined
  const { status, ms, error, response } = attempt
  return {
    ...{ state: attempt.isDelivered ? 'delivered' : isOver ? 'failed' : 'pending', attempts },
    ...{ attempted_ms: nowMs, status, ms, error, response, done_ms: isOver ? nowMs : null },
    next_ms: isOver ? delivery.next_ms : next,
  }
}

/** Milliseconds until the next attempt after so many failures. Undefined: there is none. */
function waitFor({ retryAfterMs }: Attempt, factor: number, failures: number): number | undefined {
  const wait = waitAfter(failures)
  return wait === undefined ? undefined : Math.max(Math.round(wait * factor), retryAfterMs)
}

/** The state of the webhook after an attempt. Undefined: it does not change. */
function stateAfter(state: HookState, { delivery, attempt, factor, at }: Outcome): HookState | undefined {
  const nowMs = at.getTime()
  if (attempt === undefined) return undefined
  if (attempt.isDelivered) return { ...state, ...successAt(at) }
  if (state.reason !== null) return undefined
  const since = state.failing_since ?? nowMs
  const reason = attempt.status === 410 ? 'gone' : nowMs - since >= failingLimitMs ? 'failing' : null
  // Attempts that ran at the same time count as one.
  const failures = delivery.is_probe === 1 || state.failing_since === null ? state.failures + 1 : state.failures
  const next = nowMs + (waitFor(attempt, factor, failures) ?? longestWaitMs)
  // The webhook is paused until then, at most until it is disabled.
  const probe_at = failures === state.failures ? state.probe_at : Math.min(next, since + failingLimitMs)
  return { ...state, failing_since: since, failures, probe_at, reason }
}

/** Disables a webhook. Returns false if it is disabled already. */
export async function disableHook(
  trx: EventsTransaction,
  { hookId, reason, now }: { readonly hookId: string; readonly reason: DisabledReason; readonly now: Date },
): Promise<boolean> {
  const state = (await findHookStates(trx, [hookId])).get(hookId)
  if (state === undefined || state.reason !== null) return false
  await updateHookState(trx, hookId, { reason })
  await appendDisabled(trx, { state, reason, now })
  return true
}

async function appendDisabled(
  trx: EventsTransaction,
  { state, reason, now }: { readonly state: HookState; readonly reason: DisabledReason; readonly now: Date },
): Promise<void> {
  const actor = { kind: 'service', name: 'Grove' } as const
  const facts = { type: 'webhook.disabled', actor, data: { webhook_id: state.hook_id, reason } } as const
  await appendServiceEvent(trx, state.org_id, facts, now)
}
