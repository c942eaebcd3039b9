/** Makes items of events: one for each subject. */
import { encodeItemId } from './marks.ts'
import type { SeenEvent } from './org-stream.ts'
import { type InboxReason, inboxReasons } from './reasons.ts'

/** Events of a subject, the newest first. */
export interface InboxItem {
  readonly id: string
  readonly orgId: string
  readonly nodeId: string | null
  /** The number of the pull request. */
  readonly number?: number | undefined
  readonly newest: SeenEvent
  oldest: SeenEvent
  count: number
  reason: InboxReason
  /** The last user whose event has the reason. */
  reasonActor: SeenEvent['actor']
  isUnread: boolean
  readonly types: Set<string>
  /** The users who did it, by id or name. */
  readonly actors: Map<string, { readonly id?: string; readonly name: string }>
}

/** Milliseconds after which more edits of a node become another item. */
const sittingMs = 6 * 60 * 60 * 1000

/** Collects events, the newest first, into at most `limit` items. */
export class Items {
  readonly all: InboxItem[] = []
  readonly #limit: number
  readonly #open = new Map<string, InboxItem>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Adds an event. Returns false if it needs one item more than `limit`. */
  add(event: SeenEvent): boolean {
    const key = `${event.orgId} ${event.subject}`
    const known = this.#open.get(key)
    const item = known && isSameSitting(known, event) ? known : undefined
    if (!item && this.all.length >= this.#limit) return false
    const into = item ?? newItem(event)
    if (!item) {
      this.all.push(into)
      this.#open.set(key, into)
    }
    join(into, event)
    return true
  }
}

/** A pull request is one item. The edits of a node are one for each sitting. */
function isSameSitting({ number, newest }: InboxItem, { recordedMs }: SeenEvent): boolean {
  return number !== undefined || newest.recordedMs - recordedMs <= sittingMs
}

function newItem(event: SeenEvent): InboxItem {
  const { subject, seq, orgId, nodeId, number, reason } = event
  const id = encodeItemId(subject, seq)
  return {
    ...{
      id,
      orgId,
      nodeId,
      number,
      reason,
      reasonActor: event.actor,
      newest: event,
      oldest: event,
      count: 0,
      isUnread: false,
    },
    ...{ types: new Set(), actors: new Map() },
  }
}

function join(item: InboxItem, event: SeenEvent): void {
  const { actor, type, reason, isUnread } = event
  item.count++
  item.oldest = event
  item.types.add(type)
  item.isUnread ||= isUnread
  if (inboxReasons.indexOf(reason) < inboxReasons.indexOf(item.reason)) {
    item.reason = reason
    item.reasonActor = actor
  }
  const key = actor?.id ?? actor?.name
  if (actor && key !== undefined && !item.actors.has(key))
    item.actors.set(key, { ...(actor.id !== undefined && { id: actor.id }), name: actor.name })
}
