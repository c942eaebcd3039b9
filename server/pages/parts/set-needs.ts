/** The state of a proposal of several pages, in words. */

import { needsOf } from '../../base/consent-words.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import { type Member, nameOf } from './talk.ts'

export type ChangeSet = AnswerOf<'getChangeSet'>['change_set']
export type Item = ChangeSet['items'][number]

/** A proposal of several pages, and who looks at it. */
export interface SetTalk {
  readonly visit: PageContext
  readonly org: AnswerOf<'getOrg'>
  readonly set: ChangeSet
  readonly members: readonly Member[]
}

type Words = Readonly<Record<string, readonly [state: string, says: string]>>

/** Faults of a page itself: its state in a list, and a sentence. */
const faults: Words = {
  item_gone: ['Deleted', 'The page was deleted. Take it out of the proposal.'],
  source_branch_missing: ['Branch deleted', 'The branch with the change was deleted.'],
  target_branch_missing: ['No version', 'The page has no version yet that could change.'],
  no_commits_ahead: ['Nothing to merge', 'The page already has this change.'],
  diverged: ['Changed since', 'The page has changed since. Update the proposal.'],
  invalid_content: ['Not valid', 'Some files or links are not valid.'],
}
/** Demands of the rules. Without a sentence here, it follows from the rules. */
const ruled: Words = {
  changes_requested: ['Changes requested', 'A reviewer asks for changes.'],
  approvals_missing: ['Needs approval', ''],
  checks_failed: ['Check failed', 'A check has failed.'],
  checks_missing: ['Waits for a check', 'A check has not been reported.'],
  threads_open: ['Open threads', ''],
}
const words: Words = { ...faults, ...ruled }

/** True for an open page that the visitor may review: not their own change. */
export function isToReview({ author_id }: ChangeSet, item: Item, person: string | undefined): boolean {
  return item.status === 'open' && author_id !== person && item.author_id !== person
}

/** The reasons that are about this page. A draft is a draft as a whole. */
function reasonsOf({ reasons }: Item): Item['reasons'] {
  return reasons.filter((reason) => reason !== 'draft')
}

/** `Ready`, or what holds the page up in two words. */
export function stateOfItem(item: Item): { readonly says: string; readonly look: 'yes' | 'no' | 'past' } {
  if (item.status === 'gone' || item.status === 'closed')
    return { says: item.status === 'gone' ? 'Deleted' : 'Closed', look: 'past' }
  if (item.status === 'merged') return { says: 'Merged', look: 'past' }
  const [reason] = reasonsOf(item)
  return reason === undefined ? { says: 'Ready', look: 'yes' } : { says: words[reason]?.[0] ?? reason, look: 'no' }
}

/** Returns what is wrong with the page itself, a sentence each. */
export function faultsOfItem(item: Item): string[] {
  return reasonsOf(item).flatMap((reason) => faults[reason]?.[1] ?? [])
}

/** Returns what holds the page up, a sentence each. */
function needsOfItem(item: Item, talk: Pick<SetTalk, 'members'>): string[] {
  const { missing, open_threads } = item
  const consent = { missing, open_threads, changes_requested: 0, verdicts: [], checks: [] }
  return reasonsOf(item).flatMap((reason) => {
    const says = words[reason]?.[1] ?? ''
    return says === '' ? needsOf([reason], consent, (id) => nameOf(talk, id)) : [says]
  })
}

/** Groups the pages by what holds them up. */
export function needsOfSet(talk: SetTalk): ReadonlyMap<string, readonly Item[]> {
  const byNeed = new Map<string, Item[]>()
  for (const item of talk.set.items)
    for (const need of needsOfItem(item, talk)) byNeed.set(need, [...(byNeed.get(need) ?? []), item])
  return byNeed
}
