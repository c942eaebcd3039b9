/** Plans deliveries: each event of the log gets one for each webhook that wants it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { v7 as newId } from 'uuid'
import type { Webhook } from '../../../index/credentials/schema.ts'
import { findWebhooks } from '../../../index/credentials/webhooks.ts'
import { type PlannedHook, planDeliveries } from '../../../index/log/deliveries.ts'
import { listHooksBehind, updateHookState } from '../../../index/log/hook-states.ts'
import type { Deps } from '../../base/deps.ts'
import { isNamed } from '../../base/event-types.ts'
import { keptOf } from './keepers.ts'
import { isServedHere } from './reconcile.ts'
import { openSecret } from './secrets.ts'

/** Webhooks whose rows are read at once. */
const hooksAtOnce = 200

/** Plans the events that the webhooks of this service have not seen. Two processes may do so at the same time. */
export async function planAll(deps: Deps): Promise<void> {
  const behind = await listHooksBehind(deps.events.read)
  for (let at = 0; at < behind.length; at += hooksAtOnce) {
    const ids = behind.slice(at, at + hooksAtOnce).map(({ hook_id }) => hook_id)
    const hooks = await findWebhooks(deps.credentials.read, ids)
    for (const hook of hooks.values()) {
      if (deps.draining.aborted) return
      if (await isServedHere(deps, hook.org_id)) await planHook(deps, hook)
    }
  }
}

async function planHook(deps: Deps, hook: Webhook): Promise<void> {
  if (hook.active === 0) {
    // A crash came between the two databases.
    await deps.events.write((trx) => updateHookState(trx, hook.id, { reason: 'by_owner' }))
    return
  }
  if (openSecret(deps, hook.id, hook.secret_sealed) === undefined || !(await keptOf(deps, [hook])).has(hook)) return
  const planned = plannedOf(hook)
  while (!deps.draining.aborted && (await deps.events.write((trx) => planDeliveries(trx, planned, deps.now()))))
    await nextTurn()
}

function plannedOf({ id, org_id, node_id, types }: Webhook): PlannedHook {
  const patterns: readonly string[] = JSON.parse(types)
  return {
    hook_id: id,
    org_id,
    matches: (event) =>
      patterns.some((pattern) => isNamed(event.type, pattern)) && (node_id === null || event.node_id === node_id),
    newId,
  }
}
