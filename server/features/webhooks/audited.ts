/** Changes of webhooks in the audit. It has only the hosts of their URLs, because the rest may be secret. */
import type { Webhook } from '../../../index/credentials/schema.ts'
import type { AuditAction } from '../../base/audit-actions.ts'
import type { Person } from '../../domain/actor.ts'
import { type AuditDeps, audit } from '../../domain/audit/audit.ts'

/** Records a change by an owner; without an actor, by the service. */
export async function auditHook(
  deps: AuditDeps,
  actor: Person | undefined,
  { id, org_id, node_id }: Pick<Webhook, 'id' | 'org_id' | 'node_id'>,
  action: AuditAction & `webhook.${string}`,
  detail?: Readonly<Record<string, unknown>>,
): Promise<void> {
  await audit(deps, {
    action,
    ...(actor && { actor }),
    orgId: org_id,
    ...(node_id !== null && { nodeId: node_id }),
    target: { type: 'webhook', id },
    ...(detail && { detail }),
  })
}

/** The host of a webhook, with its port. After a change of the host, also the one before. */
export function hostsOf(
  { url }: Pick<Webhook, 'url'>,
  before?: Pick<Webhook, 'url'>,
): Readonly<Record<string, string>> {
  const { host } = new URL(url)
  const host_before = before && new URL(before.url).host
  return { host, ...(host_before !== undefined && host_before !== host && { host_before }) }
}
