/** Webhooks: URLs to which the events of an organisation are sent. Owners create and change them. */
import { randomBytes } from 'node:crypto'
import { v7 as newId } from 'uuid'
import type { Webhook as Row } from '../../../index/credentials/schema.ts'
import { findNode } from '../../../index/derived/node-queries.ts'
import type { DisabledReason } from '../../../index/log/schema.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, requireSignedIn, requireVerifiedEmail } from '../../domain/access.ts'
import { callerOf, type Person } from '../../domain/actor.ts'
import { createCallerSemaphore } from '../../domain/caller-semaphore.ts'
import { appendServiceEvent } from '../../domain/event-log/service-events.ts'
import { wakeReaders } from '../../domain/event-log/wake.ts'
import { requireTypes } from '../../domain/events/types.ts'
import { type Page, pageOf } from '../../domain/pagination.ts'
import type { Ctx, RequestCtx, Services } from '../../domain/services.ts'
import type { Body, OrgAt, Path, Query, WebhookAt } from '../../domain/targets.ts'
import { auditHook, hostsOf } from './audited.ts'
import { keptBy } from './keepers.ts'
import { noteSuccess } from './outcomes.ts'
import { requireReceiver, sendMessage } from './receivers.ts'
import { deleteHook } from './reconcile.ts'
import { failPending } from './rows/deliveries.ts'
import { findHookStates, insertHookState, skipToNow, updateHookState } from './rows/hook-states.ts'
import {
  countWebhooks,
  deleteWebhookRow,
  insertWebhook,
  listWebhookRows,
  lockWebhooksOf,
  updateWebhookRow,
} from './rows/webhooks.ts'
import { newSecret, openSecret, previousUntil, sealSecret, signingSecrets } from './secrets.ts'
import { findOwnWebhook, webhookNotFound } from './webhook-access.ts'
import { toWebhooks, type Webhook } from './webhook-views.ts'

const secretLost = 'The secret cannot be read, because SECRET_KEY has changed. Replace it first: POST …/rotate'

/** The secret, which is shown only once. */
interface Secret {
  readonly secret: string
}

export interface WebhookInput {
  readonly url: string
  /** Default: all. */
  readonly types?: readonly string[]
  /** Default: all nodes, and the organisation itself. */
  readonly node_id?: string
  readonly ordered?: boolean
  readonly active?: boolean
  readonly content_type?: Row['content_type']
}

/**
 * Creates a webhook. It gets the events after this request. Its secret is shown only in this answer.
 *
 * @throws ValidationError url, types, node_id
 * @throws AppError org_not_found, forbidden, email_unverified, token_scope, too_many_webhooks
 */
export async function createWebhook(
  ctx: Ctx<Person>,
  {
    path,
    body: { url, types = ['*'], node_id, ordered = false, active = true, content_type = 'application/json' },
  }: Path<OrgAt> & Body<WebhookInput>,
): Promise<Webhook & Secret> {
  const { sees } = await authorizeOrg(ctx, path, 'owner')
  await requireVerifiedEmail(ctx)
  if (ctx.actor.onlyNode !== undefined && node_id !== ctx.actor.onlyNode)
    throw new AppError('token_scope', `This token is limited to a node: send node_id ${ctx.actor.onlyNode}`)
  requireTypes(types)
  if (node_id !== undefined && !(await findNode(ctx.index.read, sees, node_id)))
    throw invalid(['body', 'node_id'], 'This is not a node of the organisation', node_id)
  await requireReceiver(ctx, url)
  const [id, secret, now] = [newId(), newSecret(), ctx.now()]
  const row: Row = {
    ...{ id, org_id: path.org_id, node_id: node_id ?? null, url, types: JSON.stringify(types), content_type },
    ...{ ordered: ordered ? 1 : 0, active: active ? 1 : 0, secret_sealed: sealSecret(ctx, id, secret) },
    ...{ previous_sealed: null, previous_until: null, created_by: ctx.actor.id, created_at: now.toISOString() },
    ...keptBy(ctx.actor),
  }
  // The position comes first: a webhook without one would begin with the oldest event.
  const reason = active ? null : 'by_owner'
  await ctx.events.write((trx) => insertHookState(trx, row, { reason, now, from: 'now' }))
  try {
    await ctx.credentials.write(async (trx) => {
      await requireSignedIn(trx, ctx.actor)
      await lockWebhooksOf(trx, path.org_id)
      if ((await countWebhooks(trx, path.org_id)) >= limits.webhooks)
        throw new AppError('too_many_webhooks', `The organisation has ${limits.webhooks} webhooks; delete one first`)
      await insertWebhook(trx, row)
    })
  } catch (error) {
    await deleteHook(ctx, id)
    throw error
  }
  await auditHook(ctx, ctx.actor, row, 'webhook.created', hostsOf(row))
  return { ...(await viewOf(ctx, row)), secret }
}

/** Lists the webhooks of an organisation, oldest first. */
export async function listWebhooks(ctx: Ctx<Person>, { path, query }: Path<OrgAt> & Query<Page>) {
  await authorizeOrg(ctx, path, 'owner')
  const { read } = ctx.credentials
  const { onlyNode } = ctx.actor
  const rows = await listWebhookRows(read, path.org_id, {
    ...query,
    ...(onlyNode !== undefined && { nodeId: onlyNode }),
  })
  const total = await countWebhooks(read, path.org_id, onlyNode)
  return { webhooks: await toWebhooks(ctx, rows), ...pageOf(query, total) }
}

/** @throws AppError org_not_found, forbidden, webhook_not_found */
export async function getWebhook(ctx: Ctx<Person>, { path }: Path<WebhookAt>): Promise<Webhook> {
  return viewOf(ctx, await findOwnWebhook(ctx, path))
}

export interface WebhookChange extends Partial<Omit<WebhookInput, 'node_id'>> {
  /** With `active: true`: events and deliveries that wait are left out. */
  readonly from?: 'now'
}

/**
 * Changes a webhook. `active: true` ends its being paused or disabled, and sends what waits. The caller then answers
 * for it, as after a change of the URL.
 *
 * @throws ValidationError url, types, from without active
 * @throws AppError org_not_found, forbidden, webhook_not_found, secret_lost
 */
export async function updateWebhook(
  ctx: Ctx<Person>,
  { path, body: { url, types, ordered, active, content_type, from } }: Path<WebhookAt> & Body<WebhookChange>,
): Promise<Webhook> {
  const before = await findOwnWebhook(ctx, path)
  if (from !== undefined && active !== true)
    throw invalid(['body', 'from'], 'Send from only together with active: true', from)
  if (active && openSecret(ctx, before.id, before.secret_sealed) === undefined)
    throw new AppError('secret_lost', secretLost)
  if (types !== undefined) requireTypes(types)
  if (url !== undefined) await requireReceiver(ctx, url)
  const change = {
    ...(url !== undefined && { url }),
    ...(types !== undefined && { types: JSON.stringify(types) }),
    ...(content_type !== undefined && { content_type }),
    ...(ordered !== undefined && { ordered: ordered ? (1 as const) : (0 as const) }),
    ...(active !== undefined && { active: active ? (1 as const) : (0 as const) }),
  }
  const kept = url !== undefined || active === true ? keptBy(ctx.actor) : {}
  const row = await ctx.credentials.write((trx) => updateWebhookRow(trx, before.id, { ...change, ...kept }))
  if (row === undefined) throw webhookNotFound()
  const changed = Object.keys(change).filter((field) => field !== 'active' || active)
  if (changed.length > 0) await auditHook(ctx, ctx.actor, row, 'webhook.updated', { changed, ...hostsOf(row, before) })
  if (active === false) await auditHook(ctx, ctx.actor, row, 'webhook.disabled', { reason: 'by_owner' })
  if (active !== undefined) {
    await (active ? enable(ctx, row, from) : disable(ctx, row))
    wakeReaders(ctx, row.org_id)
  }
  if (active === undefined && url !== undefined && url !== before.url) await probeNow(ctx, row)
  return viewOf(ctx, row)
}

/** A new state, as if nothing had failed. */
const unfailed = { failing_since: null, failures: 0, probe_at: null } as const

async function enable(ctx: Ctx<Person>, row: Row, from: 'now' | undefined): Promise<void> {
  const now = ctx.now()
  await ctx.events.write(async (trx) => {
    const state = (await findHookStates(trx, [row.id])).get(row.id)
    if (state === undefined) return insertHookState(trx, row, { reason: null, now, from: from ?? 'oldest' })
    await updateHookState(trx, row.id, { ...unfailed, reason: null })
    if (from === 'now') {
      await skipToNow(trx, state)
      await failPending(trx, row.id, { error: 'An owner left it out.', nowMs: now.getTime() })
    }
    if (state.reason !== null)
      await appendServiceEvent(trx, row.org_id, factsOf('webhook.enabled', ctx.actor, row), now)
  })
}

async function disable(ctx: Ctx<Person>, row: Row): Promise<void> {
  const now = ctx.now()
  await ctx.events.write(async (trx) => {
    const state = (await findHookStates(trx, [row.id])).get(row.id)
    if (state === undefined) return insertHookState(trx, row, { reason: 'by_owner', now, from: 'oldest' })
    if (state.reason === 'by_owner') return
    await updateHookState(trx, row.id, { reason: 'by_owner' })
    await appendServiceEvent(trx, row.org_id, factsOf('webhook.disabled', ctx.actor, row, 'by_owner'), now)
  })
}

function factsOf(
  type: 'webhook.enabled' | 'webhook.disabled',
  { id, name }: Person,
  { id: webhook_id }: Row,
  reason?: DisabledReason,
) {
  const data = { webhook_id, ...(reason !== undefined && { reason }) }
  return { type, actor: { kind: 'user' as const, id, name }, data }
}

/** A receiver with a new URL need not wait for the next probe. */
async function probeNow({ events, now }: Services, { id }: Row): Promise<void> {
  await events.write((trx) => updateHookState(trx, id, { probe_at: now().getTime() }))
}

/** Deletes a webhook with its deliveries. An attempt that is running ends. */
export async function deleteWebhook(ctx: Ctx<Person>, { path }: Path<WebhookAt>): Promise<void> {
  const row = await findOwnWebhook(ctx, path)
  await ctx.credentials.write((trx) => deleteWebhookRow(trx, row.id))
  await auditHook(ctx, ctx.actor, row, 'webhook.deleted')
  await deleteHook(ctx, row.id)
}

/**
 * Replaces the secret. For 24 hours, the previous one also signs. The caller then answers for the webhook, because they
 * know its secret.
 *
 * @throws AppError org_not_found, forbidden, webhook_not_found
 */
export async function rotateWebhookSecret(ctx: Ctx<Person>, { path }: Path<WebhookAt>): Promise<Webhook & Secret> {
  const { id } = await findOwnWebhook(ctx, path)
  const secret = newSecret()
  const row = await ctx.credentials.write(async (trx) => {
    const before = await updateWebhookRow(trx, id, {})
    if (before === undefined) throw webhookNotFound()
    const isKept = openSecret(ctx, id, before.secret_sealed) !== undefined
    return updateWebhookRow(trx, id, {
      ...keptBy(ctx.actor),
      secret_sealed: sealSecret(ctx, id, secret),
      previous_sealed: isKept ? before.secret_sealed : null,
      previous_until: isKept ? previousUntil(ctx.now()) : null,
    })
  })
  if (row === undefined) throw webhookNotFound()
  await auditHook(ctx, ctx.actor, row, 'webhook.rotated')
  return { ...(await viewOf(ctx, row)), secret }
}

/** Pings hold a request for up to 15 seconds. */
const pings = createCallerSemaphore({
  all: { running: 16, waiting: 64 },
  person: { running: 4, waiting: 8 },
  runningInOrg: 4,
  waitTimeoutMs: 30_000,
  refusal: 'Too many pings are running; try again later',
})

export interface PingResult {
  /** Absent: the receiver did not answer. */
  readonly status?: number
  readonly ms: number
  /** Absent: the receiver answered 2xx. */
  readonly error?: string
}

/**
 * Sends an event of the type `webhook.ping` now. It is not in the log. If it arrives, a paused webhook continues.
 *
 * @throws AppError org_not_found, forbidden, webhook_not_found, busy
 */
export async function pingWebhook(ctx: RequestCtx<Person>, { path }: Path<WebhookAt>): Promise<PingResult> {
  const hook = await findOwnWebhook(ctx, path)
  const now = ctx.now()
  const secrets = signingSecrets(ctx, hook, now)
  if (secrets.length === 0) return { ms: 0, error: secretLost }
  const message = pingOf(hook, now)
  const turn = { caller: callerOf(ctx), orgId: hook.org_id, signal: ctx.request.signal }
  const { isDelivered, status, ms, error } = await pings.run(turn, () =>
    sendMessage(ctx, { hook, secrets, message }, ctx.request.signal),
  )
  ctx.metrics.webhookAttempts.inc({ outcome: 'ping' })
  if (isDelivered) await ctx.events.write((trx) => noteSuccess(trx, hook.id, now))
  return { ...(status !== null && { status }), ms, ...(error !== null && { error }) }
}

function pingOf({ id: webhook_id, org_id }: Row, now: Date): { readonly id: string; readonly body: string } {
  const id = randomBytes(16).toString('hex')
  const body = JSON.stringify({
    ...{ specversion: '1.0', id, source: `/orgs/${org_id}`, type: 'webhook.ping', time: now.toISOString() },
    ...{ datacontenttype: 'application/json', data: { webhook_id } },
  })
  return { id, body }
}

async function viewOf(deps: Services, row: Row): Promise<Webhook> {
  const [webhook] = await toWebhooks(deps, [row])
  if (webhook === undefined) throw webhookNotFound()
  return webhook
}
