/**
 * Makes the states of webhooks in `events.sqlite` match the webhooks in the credentials. They differ after a crash, a
 * restore, or if `events.sqlite` was lost.
 */

import { repoExists } from '../../../gitstore/repo-folders.ts'
import type { Webhook } from '../../../index/credentials/schema.ts'
import { findOrgRow } from '../../../index/derived/org-queries.ts'
import { findLastEvent, findLog } from '../../../index/log/events.ts'
import { isSweeper } from '../../base/sweeper.ts'
import { isClosed } from '../../domain/format/org-format.ts'
import { orgRepo } from '../../domain/layout.ts'
import type { Services } from '../../domain/services.ts'
import {
  deleteHookState,
  findHookStates,
  type HookState,
  insertHookState,
  listHookStatesAfter,
} from './rows/hook-states.ts'
import { deleteWebhookRow, findWebhooks, listWebhooksAfter, updateWebhookRow } from './rows/webhooks.ts'
import { isUnsealed, lostSecretsSentence, openSecret, sealSecret } from './secrets.ts'

const rowsAtOnce = 200
/** Milliseconds before a state without a webhook is deleted. The state of a new webhook is written first. */
const newStateMs = 60_000
/** Milliseconds for which the webhooks of a deleted organisation are kept: 30 days. */
const deletedOrgMs = 30 * 24 * 3_600_000

/** True if this service sends the events of an organisation, which is or was here. A closed one waits. */
export async function isServedHere(deps: Services, orgId: string): Promise<boolean> {
  const row = await findOrgRow(deps.index.read, orgId)
  if (row && isClosed(row)) return false
  return deps.placement.isHere(orgId) ? true : (await findLastEvent(deps.events.read, orgId))?.type === 'org.deleted'
}

export async function reconcileHooks(deps: Services): Promise<void> {
  await reportLost(deps, await addStates(deps))
  await deleteStates(deps)
}

/** Reports webhooks whose secrets cannot be read. One process logs it, at the start and when the number changes. */
async function reportLost({ config, metrics, log }: Services, lost: number): Promise<void> {
  const before = (await metrics.webhookSecretsLost.get()).values[0]?.value ?? 0
  metrics.webhookSecretsLost.set(lost)
  if (lost === 0 || lost === before || !isSweeper()) return
  log.warn({ webhooks: lost }, lostSecretsSentence({ config }, lost))
}

/**
 * Adds missing states. They begin with the oldest event of the log, because nobody knows what was sent. Returns the
 * number of webhooks whose secrets cannot be read.
 */
async function addStates(deps: Services): Promise<number> {
  let lost = 0
  for (let after = ''; ; ) {
    const hooks = await listWebhooksAfter(deps.credentials.read, after, rowsAtOnce)
    const states = await findHookStates(
      deps.events.read,
      hooks.map(({ id }) => id),
    )
    for (const hook of hooks) {
      await reconcileHook(deps, hook, states.get(hook.id))
      if (openSecret(deps, hook.id, hook.secret_sealed) === undefined) lost++
    }
    const last = hooks.at(-1)
    if (last === undefined || hooks.length < rowsAtOnce || deps.draining.aborted) return lost
    after = last.id
  }
}

async function reconcileHook(deps: Services, hook: Webhook, state: HookState | undefined): Promise<void> {
  if (!(await isServedHere(deps, hook.org_id))) return
  if (await isOrgPurged(deps, hook.org_id)) {
    await deps.credentials.write((trx) => deleteWebhookRow(trx, hook.id))
    return
  }
  const reason = hook.active === 1 ? null : 'by_owner'
  if (state === undefined)
    await deps.events.write((trx) => insertHookState(trx, hook, { reason, now: deps.now(), from: 'oldest' }))
  if (sealedNow(deps, hook) !== undefined) await sealLater(deps, hook)
}

/** Encrypts the secrets of a webhook with the current key. */
async function sealLater(deps: Services, { id }: Webhook): Promise<void> {
  await deps.credentials.write(async (trx) => {
    const hook = (await findWebhooks(trx, [id])).get(id)
    const change = hook && sealedNow(deps, hook)
    if (change !== undefined) await updateWebhookRow(trx, id, change)
  })
}

/** The secrets as they should be stored. Undefined: they are. */
function sealedNow(deps: Services, { id, secret_sealed, previous_sealed }: Webhook) {
  const seal = (stored: string | null) => {
    const secret = stored !== null && isUnsealed(deps, id, stored) ? openSecret(deps, id, stored) : undefined
    return secret === undefined ? undefined : sealSecret(deps, id, secret)
  }
  const [newest, previous] = [seal(secret_sealed), seal(previous_sealed)]
  if (newest === undefined && previous === undefined) return undefined
  return {
    ...(newest !== undefined && { secret_sealed: newest }),
    ...(previous !== undefined && { previous_sealed: previous }),
  }
}

/** True if the organisation was deleted so long ago that nothing of it is kept. */
async function isOrgPurged(deps: Services, orgId: string): Promise<boolean> {
  if (repoExists(orgRepo(deps.store, orgId))) return false
  const last = await findLastEvent(deps.events.read, orgId)
  if (last !== undefined) return deps.now().getTime() - last.recorded_ms > deletedOrgMs
  return (await findLog(deps.events.read, orgId)) === undefined
}

/** Deletes the states and deliveries of webhooks that are gone. */
async function deleteStates(deps: Services): Promise<void> {
  for (let after = ''; ; ) {
    const states = await listHookStatesAfter(deps.events.read, after, rowsAtOnce)
    const hooks = await findWebhooks(
      deps.credentials.read,
      states.map(({ hook_id }) => hook_id),
    )
    const oldest = deps.now().getTime() - newStateMs
    for (const { hook_id, created_ms } of states)
      if (!hooks.has(hook_id) && created_ms < oldest) await deleteHook(deps, hook_id)
    const last = states.at(-1)
    if (last === undefined || states.length < rowsAtOnce || deps.draining.aborted) return
    after = last.hook_id
  }
}

/** Deletes the state and the deliveries of a webhook, some in each transaction. */
export async function deleteHook({ events }: Pick<Services, 'events'>, hookId: string): Promise<void> {
  while (!(await events.write((trx) => deleteHookState(trx, hookId))));
}
