/** Lists deliveries of webhooks, and sends them again. */

import type { DeliveryState } from '../../../index/log/schema.ts'
import { AppError } from '../../base/errors.ts'
import type { Person } from '../../domain/actor.ts'
import { type Page, pageOf } from '../../domain/pagination.ts'
import type { Ctx, Services } from '../../domain/services.ts'
import type { Body, DeliveryAt, Path, Query, WebhookAt } from '../../domain/targets.ts'
import { headersOf } from './receivers.ts'
import {
  deleteDeliveriesDoneBefore,
  findDelivery,
  listDeliveryRows,
  type Delivery as Row,
  renewDelivery,
  renewFailed,
} from './rows/deliveries.ts'
import { updateHookState } from './rows/hook-states.ts'
import { findOwnWebhook } from './webhook-access.ts'
import { timeOf } from './webhook-views.ts'

/** Days for which deliveries that ended are kept. */
const keptDays = 30
/** Rows that one transaction deletes. */
const rowsAtOnce = 500

export interface Delivery extends Pick<Row, 'id' | 'event_id' | 'seq' | 'type' | 'state' | 'attempts'> {
  readonly created_at: string
  /** Absent if it is over. It may be later while the webhook is paused. */
  readonly next_attempt_at?: string
  readonly last_attempt_at?: string
  readonly status?: number
  readonly ms?: number
  readonly error?: string
  readonly ended_at?: string
}

export interface DeliveryDetails extends Delivery {
  /** The last request, or the next. Its signature is not kept. */
  readonly request: { readonly headers: Readonly<Record<string, string>>; readonly body?: string }
  /** Absent: nobody answered. */
  readonly response?: { readonly status: number; readonly body: string }
}

export interface DeliveryFilter extends Page {
  readonly state: DeliveryState | 'all'
}

/** Lists the deliveries of a webhook, newest first. @throws AppError org_not_found, forbidden, webhook_not_found */
export async function listDeliveries(
  ctx: Ctx<Person>,
  { path, query: { state, ...page } }: Path<WebhookAt> & Query<DeliveryFilter>,
) {
  const { id } = await findOwnWebhook(ctx, path)
  const filter = { ...page, ...(state !== 'all' && { state }) }
  const { rows, total } = await listDeliveryRows(ctx.events.read, id, filter)
  return { deliveries: rows.map(toDelivery), ...pageOf(page, total) }
}

/** @throws AppError org_not_found, forbidden, webhook_not_found, delivery_not_found */
export async function getDelivery(ctx: Ctx<Person>, { path }: Path<DeliveryAt>): Promise<DeliveryDetails> {
  const hook = await findOwnWebhook(ctx, path)
  const row = await findRow(ctx, path)
  const sentMs = row.attempted_ms ?? row.next_ms
  const headers = headersOf(hook, row.event_id, Math.floor(sentMs / 1_000))
  return {
    ...toDelivery(row),
    request: { headers, ...(row.body !== null && { body: row.body }) },
    ...(row.status !== null && { response: { status: row.status, body: row.response ?? '' } }),
  }
}

/**
 * Sends a delivery again, with all its attempts. While the webhook is disabled, it waits.
 *
 * @throws AppError org_not_found, forbidden, webhook_not_found, delivery_not_found
 */
export async function redeliverDelivery(ctx: Ctx<Person>, { path }: Path<DeliveryAt>): Promise<Delivery> {
  await findOwnWebhook(ctx, path)
  const { id } = await findRow(ctx, path)
  const nowMs = ctx.now().getTime()
  await ctx.events.write(async (trx) => {
    await renewDelivery(trx, id, nowMs)
    await updateHookState(trx, path.webhook_id, { probe_at: nowMs })
  })
  return toDelivery(await findRow(ctx, path))
}

/** Sends all failed deliveries since a time again. Returns how many. */
export async function redeliverFailed(
  ctx: Ctx<Person>,
  { path, body: { since } }: Path<WebhookAt> & Body<{ readonly since: string }>,
): Promise<{ readonly redelivered: number }> {
  const { id } = await findOwnWebhook(ctx, path)
  const nowMs = ctx.now().getTime()
  const redelivered = await ctx.events.write(async (trx) => {
    const count = await renewFailed(trx, id, { sinceMs: Date.parse(since), nowMs })
    if (count > 0) await updateHookState(trx, id, { probe_at: nowMs })
    return count
  })
  return { redelivered }
}

async function findRow({ events }: Services, { webhook_id: webhookId, delivery_id: deliveryId }: DeliveryAt) {
  const row = await findDelivery(events.read, webhookId, deliveryId)
  if (row === undefined) throw new AppError('delivery_not_found', 'Delivery not found')
  return row
}

function toDelivery(row: Row): Delivery {
  const { id, event_id, seq, type, state, attempts, created_ms, next_ms, attempted_ms, status, ms, error, done_ms } =
    row
  return {
    ...{ id, event_id, seq, type, state, attempts, created_at: timeOf(created_ms) },
    ...(state === 'pending' && { next_attempt_at: timeOf(next_ms) }),
    ...(attempted_ms !== null && { last_attempt_at: timeOf(attempted_ms) }),
    ...(status !== null && { status }),
    ...(ms !== null && { ms }),
    ...(error !== null && { error }),
    ...(done_ms !== null && { ended_at: timeOf(done_ms) }),
  }
}

/** Deletes deliveries that ended more than 30 days ago. */
export async function forgetDeliveries({ events, now, draining }: Services): Promise<boolean> {
  const before = now().getTime() - keptDays * 24 * 3_600_000
  const isOver = await events.write((trx) => deleteDeliveriesDoneBefore(trx, before, rowsAtOnce))
  return isOver || draining.aborted
}
