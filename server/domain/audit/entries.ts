/** Entries of the audit as they are shown: rows and events have one form. */
import type { AuditRow } from '../../../index/log/audit.ts'
import type { RecordedEvent } from '../../../index/log/audit-events.ts'
import type { StoredOrigin } from '../event-log/intents.ts'

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

/** The parts of an event's JSON that the audit shows. */
interface EventBody {
  readonly id: string
  readonly type: string
  readonly subject?: string
  readonly time: string
  readonly via?: string
  readonly data: Readonly<Record<string, unknown>> & {
    readonly actor?: AuditEntryView['actor']
    readonly via?: object
  }
}

export function eventView({ org_id, seq, recorded_ms, body, origin }: RecordedEvent): AuditEntryView {
  const { id, type, subject, time, via, data } = JSON.parse(body) as EventBody // encodeEvent has made it
  const { actor = { kind: 'unknown' }, via: program, ...rest } = data
  const { request_id, token_id, connection_id, ...from } = parseOrigin(origin)
  const credential = connection_id ?? token_id
  const nodeId = subject?.replace(/^nodes\//, '')
  return {
    id,
    at: new Date(recorded_ms).toISOString(),
    org_id,
    actor: { ...actor, ...(token_id !== undefined && { token_id }) },
    action: type,
    target: nodeId === undefined ? { type: 'org', id: org_id } : { type: 'node', id: nodeId },
    outcome: 'success',
    origin: { ...from, ...(via !== undefined && { via }) },
    ...(request_id !== undefined && { request_id }),
    detail: {
      ...rest,
      ...(program && { via: { ...program, ...(credential !== undefined && { id: credential }) } }),
      seq,
      time,
    },
  }
}

function parseOrigin(json: string | null): Partial<StoredOrigin> {
  return json === null ? {} : (JSON.parse(json) as StoredOrigin) // noteIntents has written it
}
