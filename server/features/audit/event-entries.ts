/** Events as entries of the audit. */
import type { AuditEntryView } from '../../domain/audit/entries.ts'
import type { StoredOrigin } from '../../domain/event-log/intents.ts'
import type { RecordedEvent } from './rows/events.ts'

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
  const nodeId = subject?.match(/^nodes\/(.+)/)?.[1]
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
