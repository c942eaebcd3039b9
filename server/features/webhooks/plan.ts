/** Plans deliveries: each event of the log gets one for each webhook that wants it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Webhook } from '../../../index/credentials/schema.ts'
import type { Services } from '../../domain/services.ts'
import { keptOf } from './keepers.ts'
import { isServedHere } from './reconcile.ts'
import { type HookState, updateHookState } from './rows/hook-states.ts'
import { type PlannedHook, planDeliveries } from './rows/planning.ts'
import { findWebhooks } from './rows/webhooks.ts'
import { openSecret } from './secrets.ts'

/** Webhooks whose rows are read at once. */
const hooksAtOnce = 200

/** Plans the events that these webhooks have not seen. Two processes may do so at the same time. */
export async function planAll(deps: Services, behind: readonly HookState[]): Promise<void> {
  for (let at = 0; at < behind.length; at += hooksAtOnce) {
    const ids = behind.slice(at, at + hooksAtOnce).map(({ hook_id }) => hook_id)
    const hooks = [...(await findWebhooks(deps.credentials.read, ids)).values()]
    for (const orgId of new Set(hooks.map(({ org_id }) => org_id))) {
      if (deps.draining.aborted) return
      const ofOrg = hooks.filter(({ org_id }) => org_id === orgId)
      if (await isServedHere(deps, orgId)) await planOrg(deps, ofOrg)
    }
  }
}

/** Plans for webhooks of one organisation. */
async function planOrg(deps: Services, hooks: readonly Webhook[]): Promise<void> {
  const { events, draining, now } = deps
  // A crash came between the two databases.
  for (const { id } of hooks.filter(({ active }) => active === 0))
    await events.write((trx) => updateHookState(trx, id, { reason: 'by_owner' }))
  const open = hooks.filter((hook) => hook.active === 1 && openSecret(deps, hook.id, hook.secret_sealed) !== undefined)
  const planned = [...(await keptOf(deps, open))].map(({ id, node_id, types }): PlannedHook => {
    return { id, node_id, types: JSON.parse(types) }
  })
  if (planned.length === 0) return
  while (!draining.aborted && (await events.write((trx) => planDeliveries(trx, planned, now())))) await nextTurn()
}
