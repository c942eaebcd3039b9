/** Groups events into acts. An act is one line of the activity, newest first. */

import type { components } from '../../../spec/types.ts'
import { type EventType, eventCatalog } from '../../base/event-types.ts'

type OrgEvent = components['schemas']['OrgEvent']

/** The data of an event that its line shows. Each type has some of these fields. */
interface EventData {
  /** The pages of a change set. */
  readonly items?: readonly unknown[]
  readonly actor?: { readonly kind: string; readonly id?: string; readonly name: string }
  /** The program that did it. */
  readonly via?: { readonly client_name?: string }
  readonly title?: string
  readonly name?: string
  readonly before?: unknown
  readonly after?: unknown
  readonly changed?: readonly string[]
  readonly forced?: boolean
  readonly commits?: number
  readonly number?: number
  readonly entry?: number
  /** The first comment of the thread. */
  readonly thread?: number
  readonly is_draft?: boolean
  readonly overridden?: boolean
  readonly source_branch?: string
  readonly target_branch?: string
  readonly target_commit?: string
  readonly reviewers?: readonly string[]
  readonly verdict?: string
  readonly comments?: readonly number[]
  readonly commit?: string
  readonly state?: string
  readonly user_id?: string
  readonly role?: string
}

export interface ActivityEvent extends Pick<OrgEvent, 'id' | 'seq' | 'time' | 'via'> {
  readonly type: EventType
  /** The node. Undefined for an event of the organisation, or of a proposal of several pages. */
  readonly node: string | undefined
  readonly data: EventData
}

export interface Act {
  /** Alike events, newest first. */
  readonly events: readonly [ActivityEvent, ...ActivityEvent[]]
  /** Ids of users who were asked for a review at the same time. */
  readonly asked: readonly string[]
}

/** Events further apart than this are not of one act. In milliseconds. */
const longestPause = 6 * 3_600_000

export function asActivity({ id, seq, time, via, type, subject, data }: OrgEvent): ActivityEvent {
  const known = { type: type as EventType, data: data as EventData } // the page asks for types that it knows
  return { id, seq, time, ...(via !== undefined && { via }), node: subject?.match(/^nodes\/(.+)/)?.[1], ...known }
}

/** True if `one` says a part of what `other` says. They are of one node, and not far apart. */
type Repeats = (one: ActivityEvent, other: ActivityEvent) => boolean

/** For each type of event, the types that can say the same and more. */
const repeated: Partial<Record<EventType, Partial<Record<EventType, Repeats>>>> = {
  'node.updated': {
    'pull_request.merged': ({ data: { before } }, { data: { target_branch, target_commit } }) =>
      target_branch === 'main' && target_commit === before,
  },
  'branch.updated': {
    'pull_request.updated': ({ data: one }, { data: other }) =>
      one.before === other.before && one.after === other.after,
    'pull_request.opened': ({ data: one, seq }, other) => other.data.source_branch === one.name && seq < other.seq,
  },
  'pull_request.updated': {
    'suggestion.applied': ({ data: one }, { data: other }) => one.number === other.number && one.after === other.commit,
  },
  'comment.created': {
    'review.submitted': ({ data: { number, entry = 0 } }, { data: other }) =>
      number === other.number && (other.comments ?? []).includes(entry),
  },
  'thread.resolved': {
    'suggestion.applied': ({ data: one, time }, other) =>
      one.number === other.data.number && one.entry === other.data.thread && time === other.time,
  },
  'review.requested': {
    'pull_request.opened': (one, other) => one.data.number === other.data.number && one.time === other.time,
  },
  'member.added': {
    'org.created': (one, other) => one.data.user_id === other.data.actor?.id && one.time === other.time,
  },
}

/** Returns the event whose line also says what this event says. */
function findWhole(one: ActivityEvent, events: readonly ActivityEvent[]): ActivityEvent | undefined {
  const wholes = repeated[one.type]
  if (wholes === undefined) return undefined
  return events.find((other) => wholes[other.type]?.(one, other) && other.node === one.node && isNear(one, other))
}

function isNear(one: ActivityEvent, other: ActivityEvent): boolean {
  return Math.abs(Date.parse(one.time) - Date.parse(other.time)) <= longestPause
}

/** True for a move of `main`. An event of the node says the same. */
function isMain({ type, data }: ActivityEvent): boolean {
  return type === 'branch.updated' && data.name === 'main'
}

/** Returns how many of the next events belong to acts of the page. Both are in the order of reading. */
export function countSplit(page: readonly ActivityEvent[], next: readonly ActivityEvent[]): number {
  const all = [...page, ...next]
  const isOnPage = new Set(page)
  const last = all.findLastIndex((one, at) => {
    if (at < page.length) return false
    const whole = findWhole(one, all)
    const parts = page.some((other) => findWhole(other, [one]) === one)
    return parts || (whole !== undefined && isOnPage.has(whole))
  })
  return Math.max(0, last + 1 - page.length)
}

/** Returns the acts of events, newest first. */
export function actsOf(events: readonly ActivityEvent[]): Act[] {
  const asked = new Map<ActivityEvent, readonly string[]>()
  const shown = events.filter((one) => {
    const whole = findWhole(one, events)
    if (whole && one.type === 'review.requested') asked.set(whole, one.data.reviewers ?? [])
    return whole === undefined && !isMain(one)
  })
  const runs: [ActivityEvent, ...ActivityEvent[]][] = []
  for (const event of shown) {
    const run = runs.at(-1)
    const later = run?.at(-1)
    if (run && later && isAlike(later, event)) run.push(event)
    else runs.push([event])
  }
  return runs.map((run) => ({ events: run, asked: asked.get(run[0]) ?? [] }))
}

function isAlike(later: ActivityEvent, earlier: ActivityEvent): boolean {
  const run = eventCatalog[later.type].activity?.run
  return (
    run !== undefined &&
    later.type === earlier.type &&
    (run.isOfPages || later.node === earlier.node) &&
    actorKey(later) === actorKey(earlier) &&
    run.same.every((field) => later.data[field] === earlier.data[field]) &&
    isNear(later, earlier)
  )
}

function actorKey({ data: { actor, via: program }, via }: ActivityEvent): string {
  return actor === undefined ? `${via}` : `${actor.kind} ${actor.id ?? actor.name} ${program?.client_name ?? ''}`
}
