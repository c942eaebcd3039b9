/** Changes of webhooks in the audit. Their URLs are not in it, because these may hold secrets. */
import type { Webhook } from '../../../index/credentials/schema.ts'
import type { Person } from '../actor.ts'
import type { AuditAction } from '../audit/actions.ts'
import { type AuditDeps, audit } from '../audit/audit.ts'

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
