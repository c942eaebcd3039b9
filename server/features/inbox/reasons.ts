/** Judges whether an event belongs in a user's inbox, and why. */

import { eventCatalog, eventTypes } from '../../base/event-types.ts'
import type { EventActor } from '../../domain/event-log/event-facts.ts'
import type { InboxRow } from './rows/events.ts'

/** Why an event is shown, the strongest reason first. */
export const inboxReasons = [
  'review_requested',
  'mentioned',
  'involved',
  'following_node',
  'following_tree',
  'following_org',
] as const
export type InboxReason = (typeof inboxReasons)[number]

export const inboxTypes = eventTypes.filter((type) => eventCatalog[type].inbox !== undefined)

const mentioning: ReadonlySet<string> = new Set(eventTypes.filter((type) => eventCatalog[type].inboxIf === 'mentioned'))

/** An event of the log, as far as inboxes need it. */
export interface InboxEvent {
  readonly id: string
  readonly seq: number
  readonly type: string
  readonly at: string
  readonly recordedMs: number
  readonly nodeId: string | null
  /** The number of the pull request that it is about. */
  readonly number?: number
  readonly actor?: EventActor
  readonly mentions: readonly string[]
  readonly reviewers: readonly string[]
}

/** Parses a row. The recorder wrote its JSON. */
export function parseRow({ seq, node_id, type, at, recorded_ms, body }: InboxRow): InboxEvent {
  const { id, data } = JSON.parse(body) as { readonly id: string; readonly data: EventData }
  const { actor, number, mentions = [], reviewers = [] } = data
  return {
    ...{ id, seq, type, at, recordedMs: recorded_ms, nodeId: node_id, mentions, reviewers },
    ...(number !== undefined && { number }),
    ...(actor && { actor }),
  }
}

interface EventData {
  readonly actor?: EventActor
  readonly number?: number
  readonly mentions?: readonly string[]
  readonly reviewers?: readonly string[]
}

/** The interests of a user in an organisation. */
export interface Interests {
  readonly userId: string
  /** When the user began to follow the organisation, in milliseconds since 1970. Undefined: does not. */
  readonly orgSince: number | undefined
  /** The nodes that the user follows, each with the same time. */
  readonly nodes: ReadonlyMap<string, number>
  /** The nodes that the user follows with their descendants. */
  readonly trees: ReadonlyMap<string, number>
  /** Pull requests in which the user takes part, as `keyOfPull`. */
  readonly involved: ReadonlySet<string>
  /** Muted pull requests, and nodes with the number 0, as `keyOfPull`. */
  readonly muted: ReadonlySet<string>
  /** The reasons that the user has turned off. */
  readonly off: ReadonlySet<string>
}

export function keyOfPull(nodeId: string, number: number): string {
  return `${nodeId} ${number}`
}

/** The reason, and the time since when it holds. */
export interface Interest {
  readonly reason: InboxReason
  /** Milliseconds since 1970. An event that was recorded earlier counts as read. */
  readonly since: number
}

/**
 * Returns why the user hears of an event. Undefined: does not.
 *
 * @param treeSince since when the user follows a tree that has the event's node; undefined if there is none
 */
export function interestIn(
  interests: Interests,
  event: InboxEvent,
  treeSince: number | undefined,
): Interest | undefined {
  if (event.actor?.id === interests.userId) return undefined
  const found = [...personal(interests, event), ...general(interests, event, treeSince)]
  return found.find(({ reason }) => !interests.off.has(reason))
}

/** The reasons that a user cannot mute. */
function personal({ userId }: Interests, { mentions, reviewers }: InboxEvent): Interest[] {
  return [
    ...(reviewers.includes(userId) ? [{ reason: 'review_requested' as const, since: 0 }] : []),
    ...(mentions.includes(userId) ? [{ reason: 'mentioned' as const, since: 0 }] : []),
  ]
}

function general(
  interests: Interests,
  { type, nodeId, number }: InboxEvent,
  treeSince: number | undefined,
): Interest[] {
  const { orgSince, nodes, involved, muted } = interests
  const isMuted = nodeId !== null && [0, number ?? 0].some((one) => muted.has(keyOfPull(nodeId, one)))
  if (mentioning.has(type) || isMuted) return []
  const takesPart = nodeId !== null && number !== undefined && involved.has(keyOfPull(nodeId, number))
  const times = {
    involved: takesPart ? 0 : undefined,
    following_node: nodeId === null ? undefined : nodes.get(nodeId),
    following_tree: treeSince,
    following_org: orgSince,
  } as const
  return inboxReasons.flatMap((reason) => {
    const since = reason in times ? times[reason as keyof typeof times] : undefined
    return since === undefined ? [] : [{ reason, since }]
  })
}
