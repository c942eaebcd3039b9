/** Says in words what an item of the inbox is about, and where it leads. */

import { type EventType, eventCatalog } from '../../../base/event-types.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import type { Urls } from '../../../pages/urls.ts'

export type InboxItem = AnswerOf<'listOrgInbox'>['items'][number]

/** The acts that concern the user, after the name of the actor. */
const personal: Partial<Record<InboxItem['reason'], string>> = {
  review_requested: 'asked you for a review',
  mentioned: 'mentioned you',
}

const reasons: Partial<Record<InboxItem['reason'], string>> = {
  involved: 'you take part',
  following_node: 'you follow this page',
  following_tree: 'you follow this part',
  following_org: 'you follow the organisation',
}

const list = new Intl.ListFormat('en-GB')
/** Types that a phrase names. */
const mostWords = 3
const mostNames = 2

/** Says who did what. Examples: "Bob mentioned you", "Ann and Bob commented and reviewed it". */
export function wordsOf(item: Pick<InboxItem, 'actors' | 'types' | 'reason' | 'reason_actor'>): string {
  const { reason, reason_actor } = item
  const act = personal[reason]
  if (act === undefined) return actsOf(item)
  return `${reason_actor === undefined ? 'Somebody' : nameOf(reason_actor)} ${act}`
}

function actsOf({ actors, types }: Pick<InboxItem, 'actors' | 'types'>): string {
  const names = actors.slice(0, mostNames).map(nameOf)
  const who = actors.length > mostNames ? [...names, 'others'] : names
  const known = types.map((type) => eventCatalog[type as EventType]?.inbox ?? 'changed it').slice(0, mostWords)
  return `${who.length === 0 ? 'Somebody' : list.format(who)} ${list.format(new Set(known))}`
}

function nameOf({ name }: InboxItem['actors'][number]): string {
  return name || 'A deleted account'
}

/** Says why the user hears of it. Undefined: the words say it. */
export function reasonOf({ reason }: Pick<InboxItem, 'reason'>): string | undefined {
  return reasons[reason]
}

/** Names the proposal, the page or the organisation. */
export function subjectOf({ number, title, node_id, node_title, org_name }: InboxItem): string {
  if (number !== undefined) return title ?? `Proposal ${number} of a deleted page`
  return node_id === undefined ? org_name : (node_title ?? 'A deleted page')
}

/** A deleted page leads to the trash. A request for a review leads to the changes. */
export function linkOf(urls: Urls, { org_id, node_id, node_title, number, reason }: InboxItem): string {
  if (node_id === undefined) return urls.org(org_id)
  if (node_title === null || node_title === undefined) return urls.trash(org_id)
  if (number === undefined) return urls.history(org_id, node_id)
  const proposal = urls.proposal(org_id, node_id, number, node_title)
  return reason === 'review_requested' ? proposal : `${proposal}?tab=conversation`
}
