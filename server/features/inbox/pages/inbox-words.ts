/** Says in words what an item of the inbox is about, and where it leads. */

import { type EventType, eventCatalog } from '../../../base/event-types.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import type { Urls } from '../../../pages/urls.ts'

export type InboxItem = AnswerOf<'listOrgInbox'>['items'][number]

const reasons: Readonly<Record<InboxItem['reason'], string>> = {
  review_requested: 'you are asked for a review',
  mentioned: 'you are mentioned',
  involved: 'you take part',
  following_node: 'you follow this page',
  following_tree: 'you follow this part',
  following_org: 'you follow the organisation',
}

const list = new Intl.ListFormat('en-GB')
/** Types that a phrase names. */
const mostWords = 3
const mostNames = 2

/** Says who did what, such as "Ann and Bob commented and reviewed it". */
export function wordsOf({ actors, types }: Pick<InboxItem, 'actors' | 'types'>): string {
  const names = actors.slice(0, mostNames).map(({ name }) => name || 'A deleted account')
  const who = actors.length > mostNames ? [...names, 'others'] : names
  const known = types.map((type) => eventCatalog[type as EventType]?.inbox ?? 'changed it').slice(0, mostWords)
  return `${who.length === 0 ? 'Somebody' : list.format(who)} ${list.format(new Set(known))}`
}

export function reasonOf({ reason }: Pick<InboxItem, 'reason'>): string {
  return reasons[reason]
}

/** Names the proposal, the page or the organisation. */
export function subjectOf({ number, title, node_id, node_title, org_name }: InboxItem): string {
  if (number !== undefined) return title ?? `Proposal ${number} of a deleted page`
  return node_id === undefined ? org_name : (node_title ?? 'A deleted page')
}

/** A deleted page leads to the trash. */
export function linkOf(urls: Urls, { org_id, node_id, node_title, number }: InboxItem): string {
  if (node_id === undefined) return urls.org(org_id)
  if (node_title === null || node_title === undefined) return urls.trash(org_id)
  if (number === undefined) return urls.history(org_id, node_id)
  return `${urls.proposal(org_id, node_id, number, node_title)}?tab=conversation`
}
