/** Records outcomes of attempts. They decide when a delivery is tried again, and when a webhook is paused or disabled. */
import { type ClaimedDelivery, endClaim } from '../../../index/log/deliveries.ts'
import { findHookStates, type HookState, updateHookState } from '../../../index/log/hook-states.ts'
import type { DisabledReason } from '../../../index/log/schema.ts'
import { appendServiceEvent, type EventsTransaction } from '../event-log/service-events.ts'
import type { Attempt } from './receivers.ts'
import { longestWaitMs, spreadFactor, waitAfter } from './retry-times.ts'

/** Milliseconds without a success after which a webhook is disabled: 5 days. */
const failingLimitMs = 5 * 24 * 3_600_000

export interface Outcome {
  readonly delivery: ClaimedDelivery
  /** The process that sent it. */
  readonly by: string
  readonly attempt: Attempt
  readonly now: Date
}

/** Records an outcome in one transaction. Returns why the webhook is now disabled; undefined if it is not. */
export async function recordOutcome(trx: EventsTransaction, outcome: Outcome): Promise<DisabledReason | undefined> {
  const { delivery, by, attempt, now } = outcome
  if (attempt.isAborted) {
    await endClaim(trx, { id: delivery.id, by }, {})
    return undefined
  }
  const nowMs = now.getTime()
  const factor = spreadFactor()
  const waitFor = (attempts: number) => {
    const wait = waitAfter(attempts)
    return wait === undefined ? undefined : Math.max(Math.round(wait * factor), attempt.retryAfterMs)
  }
  const attempts = delivery.attempts + 1
  const wait = waitFor(attempts)
  // 410 says nothing about the event: it waits until an owner enables the webhook.
  const next = attempt.status === 410 ? nowMs : wait === undefined ? undefined : nowMs + wait
  const isOver = attempt.isDelivered || next === undefined
  const { status, ms, error, response } = attempt
  const isOwn = await endClaim(
    trx,
    { id: delivery.id, by },
    {
      ...{ state: attempt.isDelivered ? 'delivered' : isOver ? 'failed' : 'pending', attempts },
      ...{ attempted_ms: nowMs, status, ms, error, response, done_ms: isOver ? nowMs : null },
      ...(!isOver && { next_ms: next }),
    },
  )
  const state = (await findHookStates(trx, [delivery.hook_id])).get(delivery.hook_id)
  if (!isOwn || state === undefined) return undefined
  if (attempt.isDelivered) {
    await noteSuccess(trx, delivery.hook_id, now)
    return undefined
  }
  return noteFailure(trx, { state, outcome, waitMs: waitFor })
}

/** Ends a delivery whose event the log no longer has. This says nothing about the receiver. */
export async function recordLost(
  trx: EventsTransaction,
  { delivery, by, now }: Pick<Outcome, 'delivery' | 'by' | 'now'>,
): Promise<void> {
  const error = 'The log no longer has the event, so it cannot be sent.'
  await endClaim(trx, { id: delivery.id, by }, { state: 'failed', error, done_ms: now.getTime() })
}

/** After a success, all deliveries that wait are sent. */
export async function noteSuccess(trx: EventsTransaction, hookId: string, now: Date): Promise<void> {
  const change = { failing_since: null, failures: 0, probe_at: null, last_success_at: now.getTime() }
  await updateHookState(trx, hookId, change)
}

interface Failure {
  readonly state: HookState
  readonly outcome: Outcome
  /** Milliseconds to wait after so many failures. */
  readonly waitMs: (failures: number) => number | undefined
}

/** Pauses the webhook until the next probe, or disables it. Attempts that ran at the same time count as one. */
async function noteFailure(trx: EventsTransaction, { state, outcome, waitMs }: Failure) {
  if (state.reason !== null) return undefined
  const { delivery, attempt, now } = outcome
  const nowMs = now.getTime()
  const since = state.failing_since ?? nowMs
  const reason = attempt.status === 410 ? 'gone' : nowMs - since >= failingLimitMs ? 'failing' : undefined
  const failures = delivery.isProbe || state.failing_since === null ? state.failures + 1 : state.failures
  const next = nowMs + (waitMs(failures) ?? longestWaitMs)
  const probe_at = failures === state.failures ? state.probe_at : Math.min(next, since + failingLimitMs)
  await updateHookState(trx, state.hook_id, { failing_since: since, failures, probe_at, reason: reason ?? null })
  if (reason !== undefined) await appendDisabled(trx, { state, reason, now })
  return reason
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
