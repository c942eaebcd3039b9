/** The nodes of a proposal of several nodes, as its discussion shows them. */

import type { Output } from '../../../spec/client/api.ts'
import { each, facts, list, type Named, type Section } from '../answer.ts'
import { isKnownCode } from '../codes.ts'
import { asItem, brief, own } from '../quoted.ts'
import { changeSetPage, type Session } from '../session.ts'
import { type At, type Discussed, type Review, readReviews, reviewFacts } from './review-facts.ts'

const shownTitle = 240
const shownProblem = 300
const shownText = 1_000
/** Characters of each text if a whole review does not fit. */
const shortText = 100
/** Shares of an answer: the most for the nodes and for their reviews. */
const nodesShare = 0.3
const reviewsShare = 0.2

type ChangeSet = Output<'getChangeSet'>['change_set']
type Item = ChangeSet['items'][number]

/** @param isFirst whether to list the nodes and their reviews */
export async function readSet(session: Session, at: At, isFirst: boolean): Promise<Discussed> {
  const { org_id, number } = at
  const { change_set: set } = await session.api.getChangeSet({ path: { org_id, number } })
  const { items, can_merge, merge_reasons } = set
  const why = can_merge ? '' : ` (${merge_reasons.filter(isKnownCode).join(', ')})`
  return {
    lead: [
      own`Proposal ${number} of ${items.length} nodes is ${set.status}: ${changeSetPage(session, org_id, number)}`,
      `${own`Comments on the whole: ${set.comments}; open threads: ${set.open_threads}. can_merge: ${can_merge}`}${why}.`,
      'To read the comments on one node, call again with its node_id and number.',
    ],
    reviewers: set.reviewers,
    sections: isFirst ? await sectionsOf(session, org_id, set) : [],
  }
}

async function sectionsOf(session: Session, org_id: string, set: ChangeSet): Promise<Section[]> {
  const reviews = new Map<Item, readonly Review[]>()
  for (const item of set.items)
    if (item.status !== 'gone') {
      const { node_id, number } = item
      reviews.set(item, (await readReviews(session, { org_id, node_id, number })).reviews)
    }
  const about = (chars: number) => asItem({ title: brief(set.title, shownTitle), ...descriptionOf(set, chars) })
  const rest = () => 'the page has all of them'
  return [
    facts('proposal', [about(set.description.length), about(shownText), about(shortText)]),
    list({
      of: 'nodes',
      items: set.items.map((item) => nodeOf(item, reviews.get(item) ?? [])),
      share: nodesShare,
      rest,
    }),
    reviewsOf(reviews),
  ]
}

function descriptionOf({ description }: ChangeSet, chars: number): object {
  return description === '' ? {} : { description: brief(description, chars) }
}

function nodeOf(item: Item, reviews: readonly Review[]): string {
  const verdicts = reviews.filter(({ verdict, state }) => verdict !== 'comment' && state === 'current')
  return asItem({
    ...{ node_id: item.node_id, number: item.number, act: item.act, title: brief(item.title, shownTitle) },
    ...{ status: item.status, ready: item.ready, reasons: item.reasons },
    ...(item.problems.length > 0 && {
      problems: item.problems.map(({ path, reason }) => brief(`${path}: ${reason}`, shownProblem)),
    }),
    ...(verdicts.length > 0 && {
      verdicts: verdicts.map(({ author, verdict }) => brief(`${author}: ${verdict}`, shownTitle)),
    }),
    ...{ open_threads: item.open_threads, branch: item.source_branch, commit: item.source_commit },
  })
}

/** Lists the reviews of single nodes that have a text or comments. A review of the whole has its text in the change set. */
function reviewsOf(reviews: ReadonlyMap<Item, readonly Review[]>): Section {
  const items = [...reviews].flatMap(([{ node_id, number }, all]) =>
    [...all].reverse().flatMap((review): Named[] => {
      if (review.text === '' && review.comments.length === 0) return []
      const line = (chars: number) => asItem({ node_id, number, ...reviewFacts(review, undefined, chars) })
      return [{ of: own`review ${review.entry} of node ${node_id}`, lines: [line(shownText), line(shortText)] }]
    }),
  )
  const rest = (shown: number) =>
    shown < items.length
      ? `${own`${items.length - shown} of ${items.length}`} reviews of nodes; the page has all of them.`
      : undefined
  return each(items, { rest, share: reviewsShare })
}
