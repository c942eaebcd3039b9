/** Entries of the audit as they are shown. Events have the form of rows. */
import type { AuditRow } from '../../../index/log/audit.ts'

export interface AuditEntryView {
  readonly id: string
  /** When the service recorded it. ISO 8601. */
  readonly at: string
  readonly org_id?: string
  readonly actor: {
    readonly kind: AuditRow['actor_kind'] | 'unknown'
    readonly id?: string
    /** Empty after the account was deleted. */
    readonly name?: string
    readonly token_id?: string
  }
  readonly action: string
  readonly target?: { readonly type: string; readonly id: string }
  readonly outcome: AuditRow['outcome']
  readonly origin: { readonly address?: string; readonly user_agent?: string; readonly via?: string }
  readonly request_id?: string
  readonly detail: Readonly<Record<string, unknown>>
}

export function rowView(row: AuditRow): AuditEntryView {
  const { id, at_ms, org_id, node_id, actor_kind, actor_id, actor_name, token_id, action, outcome } = row
  const target = row.target_type === null ? nodeTarget(node_id) : { type: row.target_type, id: row.target_id ?? '' }
  return {
    id,
    at: new Date(at_ms).toISOString(),
    ...(org_id !== null && { org_id }),
    actor: {
      kind: actor_kind,
      ...(actor_id !== null && { id: actor_id }),
      ...(actor_name !== null && { name: actor_name }),
      ...(token_id !== null && { token_id }),
    },
    action,
    ...(target && { target }),
    outcome,
    origin: {
      ...(row.address !== null && { address: row.address }),
      ...(row.user_agent !== null && { user_agent: row.user_agent }),
      via: row.via,
    },
    ...(row.request_id !== null && { request_id: row.request_id }),
    detail: detailOf(row),
  }
}

function nodeTarget(nodeId: string | null): AuditEntryView['target'] {
  return nodeId === null ? undefined : { type: 'node', id: nodeId }
}

function detailOf({ node_id, account_id, actor_id, target_type, count, bytes, last_ms, detail }: AuditRow) {
  return {
    ...(detail === null ? {} : JSON.parse(detail)),
    ...(node_id !== null && target_type !== null && { node_id }),
    ...(account_id !== null && account_id !== actor_id && target_type !== 'account' && { account_id }),
    ...(count > 1 && { count }),
    ...(bytes > 0 && { bytes }),
    ...(last_ms !== null && { last_at: new Date(last_ms).toISOString() }),
  }
}

/** Leaves out the IP addresses and programs of other users. */
export function withoutOthers(entry: AuditEntryView, ownId: string): AuditEntryView {
  const { kind, id } = entry.actor
  if (kind === 'anonymous' || id === ownId) return entry
  const { via } = entry.origin
  return { ...entry, origin: via === undefined ? {} : { via } }
}
