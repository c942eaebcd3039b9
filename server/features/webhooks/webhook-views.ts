/** Webhooks as owners see them: what was set, and how the deliveries come along. */
import type { Webhook as Row } from '../../../index/credentials/schema.ts'
import type { DisabledReason } from '../../../index/log/schema.ts'
import type { Services } from '../../domain/services.ts'
import { countPendingOf } from './rows/deliveries.ts'
import { findHookStates, type HookState } from './rows/hook-states.ts'
import { openSecret } from './secrets.ts'

export interface Webhook extends Pick<Row, 'id' | 'org_id' | 'url' | 'content_type' | 'created_by' | 'created_at'> {
  readonly node_id?: string
  readonly types: readonly string[]
  readonly ordered: boolean
  readonly active: boolean
  /** `paused`: the last attempt failed, and one delivery probes while the others wait. */
  readonly state: 'active' | 'paused' | 'disabled'
  readonly reason?: DisabledReason | 'secret_lost'
  readonly failing_since?: string
  /** When the next delivery probes. */
  readonly next_attempt_at?: string
  readonly last_success_at?: string
  /** Deliveries that wait. */
  readonly pending: number
  /** Until then, the secret before the last rotation also signs. */
  readonly previous_secret_until?: string
}

export async function toWebhooks(deps: Services, rows: readonly Row[]): Promise<Webhook[]> {
  const ids = rows.map(({ id }) => id)
  const states = await findHookStates(deps.events.read, ids)
  const pending = await countPendingOf(deps.events.read, ids)
  return rows.map((row) => toWebhook(deps, row, states.get(row.id), pending.get(row.id) ?? 0))
}

function toWebhook(deps: Services, row: Row, state: HookState | undefined, pending: number): Webhook {
  const { id, org_id, node_id, url, types, content_type, ordered, created_by, created_at } = row
  const reason = reasonOf(deps, row, state)
  const { failing_since = null, probe_at = null, last_success_at = null } = state ?? {}
  return {
    ...{ id, org_id, ...(node_id !== null && { node_id }), url, types: JSON.parse(types), content_type },
    ...{ ordered: ordered === 1, active: reason === undefined },
    state: reason !== undefined ? 'disabled' : failing_since === null ? 'active' : 'paused',
    ...(reason !== undefined && { reason }),
    ...(failing_since !== null && { failing_since: timeOf(failing_since) }),
    ...(reason === undefined && pending > 0 && probe_at !== null && { next_attempt_at: timeOf(probe_at) }),
    ...(last_success_at !== null && { last_success_at: timeOf(last_success_at) }),
    pending,
    ...previousOf(deps, row),
    ...{ created_by, created_at },
  }
}

function reasonOf(deps: Services, { id, active, secret_sealed }: Row, state: HookState | undefined) {
  if (openSecret(deps, id, secret_sealed) === undefined) return 'secret_lost'
  return active === 0 ? 'by_owner' : (state?.reason ?? undefined)
}

function previousOf({ now }: Services, { previous_until }: Row): Pick<Webhook, 'previous_secret_until'> {
  const isValid = previous_until !== null && previous_until > now().toISOString()
  return isValid ? { previous_secret_until: previous_until } : {}
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
