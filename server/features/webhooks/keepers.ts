/**
 * Owners who answer for a webhook. It ends with their role, and with the token or the connection that they used.
 *
 * The sender asks before it plans or sends, so the rule holds however these have ended. Another owner may enable the
 * webhook, and then answers for it.
 */
import { hasAccessToken } from '../../../index/credentials/access-tokens.ts'
import { findActiveProfile } from '../../../index/credentials/accounts.ts'
import { hasGrant } from '../../../index/credentials/oauth.ts'
import type { Webhook } from '../../../index/credentials/schema.ts'
import { findOrgWithRole } from '../../../index/derived/org-queries.ts'
import type { DisabledReason } from '../../../index/log/schema.ts'
import type { Person } from '../../domain/actor.ts'
import { wakeReaders } from '../../domain/event-log/wake.ts'
import type { Services } from '../../domain/services.ts'
import { auditHook } from './audited.ts'
import { disableHook } from './outcomes.ts'

export function keptBy({ id, tokenId, connection }: Person): Pick<Webhook, 'kept_by' | 'kept_via'> {
  return { kept_by: id, kept_via: tokenId ?? connection?.id ?? null }
}

/** Returns the webhooks for which somebody answers. Disables the others. */
export async function keptOf(deps: Services, hooks: readonly Webhook[]): Promise<Set<Webhook>> {
  const known = new Map<string, boolean>()
  const kept = new Set<Webhook>()
  for (const hook of hooks) {
    const key = JSON.stringify([hook.org_id, keeperOf(hook), hook.kept_via])
    const isKeptNow = known.get(key) ?? (await isKept(deps, hook))
    known.set(key, isKeptNow)
    if (isKeptNow) kept.add(hook)
    else await endHook(deps, hook)
  }
  return kept
}

async function endHook(deps: Services, hook: Webhook): Promise<void> {
  const disabling = { hookId: hook.id, reason: 'revoked', now: deps.now() } as const
  if (await deps.events.write((trx) => disableHook(trx, disabling))) await noteDisabled(deps, hook, 'revoked')
}

/** Records that the service has disabled a webhook. */
export async function noteDisabled(deps: Services, hook: Webhook, reason: DisabledReason): Promise<void> {
  await auditHook(deps, undefined, hook, 'webhook.disabled', { reason })
  wakeReaders(deps, hook.org_id)
  deps.log.warn({ orgId: hook.org_id, webhookId: hook.id, reason }, 'a webhook was disabled')
}

/** An organisation without a row was deleted, which its webhooks still report. */
async function isKept({ credentials, index }: Services, hook: Webhook): Promise<boolean> {
  const { read } = credentials
  const { org_id, kept_via } = hook
  const keeper = keeperOf(hook)
  const found = await findOrgWithRole(index.read, org_id, keeper)
  const isOwner =
    found === undefined || (found.role === 'owner' && (await findActiveProfile(read, keeper)) !== undefined)
  if (!isOwner || kept_via === null) return isOwner
  return (await hasAccessToken(read, kept_via)) || (await hasGrant(read, kept_via))
}

function keeperOf({ kept_by, created_by }: Webhook): string {
  return kept_by ?? created_by
}
