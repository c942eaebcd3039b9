/** Encodes events for the log: CloudEvents 1.0 in structured JSON. */
import { createHash } from 'node:crypto'
import type { NewEvent } from '../../../index/log/events.ts'
import { eventCatalog } from '../../base/event-types.ts'
import type { EventFacts } from './event-facts.ts'

/** The most bytes of an event's data. A longer list is cut. */
const maxDataBytes = 16_384
/** The most items of a list in an event. */
const maxItems = 50

/** Encodes an event of an organisation, or of one of its nodes. A change set is of the "node" that is the organisation. */
export function encodeEvent(orgId: string, nodeId: string | null, facts: EventFacts): NewEvent {
  const { type, key, at, actor, via, program, set, origin = null } = facts
  const subject = nodeId === null ? set && `change-sets/${set}` : `nodes/${nodeId}`
  const id = createHash('sha256')
    .update([orgId, nodeId ?? '', type, key].join('\n'))
    .digest('hex')
    .slice(0, 32)
  const data = { ...(actor && { actor }), ...(program && { via: program }), ...bounded(facts.data) }
  const shown = eventCatalog[type].isPublic
  const isPublic = shown === true || (shown === 'main' && facts.data.name === 'main')
  const render = (seq?: number) =>
    JSON.stringify({
      specversion: '1.0',
      id,
      source: `/orgs/${orgId}`,
      type,
      ...(subject !== undefined && { subject }),
      time: at,
      datacontenttype: 'application/json',
      ...(seq !== undefined && { seq }),
      ...(via !== undefined && { via }),
      data,
    })
  return { id, nodeId: set === undefined ? nodeId : orgId, type, at, isPublic, origin, render }
}

/** Cuts lists, and texts of commits, so that the data stays small. A cut list is marked by `truncated`. */
function bounded(data: EventFacts['data']): EventFacts['data'] {
  const cut = cutLists(data, maxItems)
  if (Buffer.byteLength(JSON.stringify(cut)) <= maxDataBytes) return cut
  return cutLists(data, 5)
}

function cutLists(data: EventFacts['data'], most: number): EventFacts['data'] {
  let isCut = false
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(data)) {
    const isLong = Array.isArray(value) && value.length > most
    kept[name] = isLong ? value.slice(0, most) : value
    isCut ||= isLong
  }
  return isCut ? { ...kept, truncated: true } : kept
}
