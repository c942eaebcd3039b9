/** The tool that reads the discussion of a proposal: its reviews and its threads. */

import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import { answer, each, facts, list, type Named, type Section, textPart } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { factsOf, ToolError } from '../refusals.ts'
import { proposalPage, type Session } from '../session.ts'
import { entryNumber, maxChars, nodeId, offset, orgId, pageOf, proposalNumber, tool } from '../tool.ts'

const shownText = 1_000
const shownQuote = 300
const shownPath = 300
const shownName = 120
/** Characters of each text if a whole item does not fit. */
const shortText = 100
/** The most reviews that are read, the newest. */
const mostReviews = 100
const shownReviewers = 20
/** Shares of an answer: the most for reviews and for reviewers, the least for threads. */
const reviewsShare = 0.3
const reviewersShare = 0.1
const threadsLeast = 0.4

type Pull = Output<'getPull'>['pr']
type Thread = Output<'listThreads'>['threads'][number]
type Comment = Output<'getComment'>
type Review = Output<'getReview'>

interface At {
  readonly org_id: string
  readonly node_id: string
  readonly number: number
}

export const readDiscussion = tool({
  name: 'read_discussion',
  title: 'Read the discussion of a proposal',
  description:
    'Reads the discussion of a proposal (pull request): reviews with their verdicts and states, then threads of comments, oldest first. Each thread has its place in the proposed content. `outdated` says that the content is gone, and then the place is the old one. A comment with `suggestion` suggests this text for the quoted words, or for the lines. Long texts are shortened, and `entry` reads one of them whole.',
  access: 'read',
  operations: ['getPull', 'listThreads', 'listReviews', 'getComment', 'getReview'],
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId,
    number: proposalNumber,
    state: z.enum(['open', 'resolved', 'all']).default('open').describe('Threads to list'),
    offset: offset.describe('Number of threads to skip'),
    after: z
      .int()
      .min(0)
      .max(1_000_000_000)
      .default(0)
      .describe('In the first listed thread, skip the comments up to this number'),
    limit: pageOf(50).describe('Maximum number of threads'),
    entry: entryNumber.optional().describe('Read only this comment or review, with its whole text'),
    part: z.enum(['text', 'suggestion']).default('text').describe('With entry: which text to read'),
    from: z.int().min(0).max(100_000).default(0).describe('With entry: number of characters of the text to skip'),
    max_chars: maxChars,
  }),
  run: (session, asked) =>
    asked.entry === undefined ? readPage(session, asked) : readEntry(session, asked, asked.entry),
})

interface Asked extends At {
  readonly state: 'open' | 'resolved' | 'all'
  readonly offset: number
  readonly after: number
  readonly limit: number
  readonly part: 'text' | 'suggestion'
  readonly from: number
  readonly max_chars: number
}

async function readPage(session: Session, { org_id, node_id, number, ...asked }: Asked): Promise<string> {
  const at = { org_id, node_id, number }
  const { state, offset, after, limit, max_chars } = asked
  const isFirst = offset === 0 && after === 0
  const [{ pr }, page, reviews] = await Promise.all([
    session.api.getPull({ path: at }),
    session.api.listThreads({ path: at, query: { state, offset, limit } }),
    isFirst ? readReviews(session, at) : undefined,
  ])
  const { approvals, changes_requested } = pr.consent
  const isCut = page.threads.some(({ comments, num_comments }) => comments.length < num_comments)
  const lead = [
    own`Proposal ${number} of node ${node_id} is ${pr.status}: ${proposalPage(session, org_id, node_id, number)}`,
    own`Comments: ${pr.comments}; open threads: ${pr.open_threads}. Approvals that count: ${approvals}; requests for changes: ${changes_requested}.`,
    `${own`Threads: ${page.total}`}${state === 'all' ? '' : ` with the state ${state}`}.`,
    ...(isCut ? ['Of a thread, at most the first 100 comments are listed. The page has all of them.'] : []),
  ]
  return answer(max_chars, lead, [
    ...(reviews === undefined ? [] : [reviewsOf(reviews, pr), ...reviewersOf(pr)]),
    threadsOf(page, pr, { offset, after }),
  ])
}

/** Reads the newest reviews. */
async function readReviews({ api }: Session, path: At): Promise<Output<'listReviews'>> {
  const first = await api.listReviews({ path, query: { limit: mostReviews } })
  if (first.total <= mostReviews) return first
  return api.listReviews({ path, query: { limit: mostReviews, offset: first.total - mostReviews } })
}

/** Lists the standing verdicts, then the other reviews, each the newest first. */
function reviewsOf({ reviews, total }: Output<'listReviews'>, { consent }: Pull): Section {
  const counting = new Set(consent.verdicts.filter(({ counts }) => counts).map(({ entry }) => entry))
  const stands = ({ state, verdict }: Review) => Number(state === 'current' && verdict !== 'comment')
  const sorted = [...reviews].reverse().sort((a, b) => stands(b) - stands(a))
  const items = sorted.map((review): Named => {
    const line = (chars: number) => asItem(reviewFacts(review, counting.has(review.entry), chars))
    return { of: own`review ${review.entry}`, lines: [line(shownText), line(shortText)] }
  })
  const rest = (shown: number) =>
    shown < total ? `${own`${total - shown} of ${total}`} reviews; the page has all of them.` : undefined
  return each(items, { rest, share: reviewsShare })
}

function reviewFacts(review: Review, counts: boolean, chars: number): object {
  const { entry, author, created_at, verdict, state, comments, dismissed_by, dismissed_reason, erased_at, text } =
    review
  return {
    review: entry,
    author: brief(author, Math.min(shownName, chars)),
    ...{ created_at, verdict, state, counts: verdict === 'comment' ? undefined : counts },
    dismissed_by: dismissed_by && brief(dismissed_by, Math.min(shownName, chars)),
    dismissed_reason: dismissed_reason && brief(dismissed_reason, Math.min(shownQuote, chars)),
    comments: comments.length > 0 ? comments.slice(0, shownReviewers) : undefined,
    erased_at,
    ...textFacts(text, chars),
  }
}

/** The beginning of a text, and its length if that is not all. */
function textFacts(text: string, chars: number): object {
  return {
    text_chars: text.length > chars ? text.length : undefined,
    text: text === '' ? undefined : brief(text, chars),
  }
}

/** Lists the users who were asked for a review. */
function reviewersOf({ reviewers }: Pull): Section[] {
  const items = reviewers
    .slice(0, shownReviewers)
    .map(({ name, requested_at }) => asItem({ name: brief(name, shownName), requested_at }))
  const rest = () => 'the page has all of them'
  return items.length === 0
    ? []
    : [list({ of: 'reviewers', items, total: reviewers.length, share: reviewersShare, rest })]
}

/** Lists the comments of the threads, and says where to continue. */
function threadsOf(
  { threads, total }: Output<'listThreads'>,
  pr: Pull,
  from: { offset: number; after: number },
): Section {
  const listed = threads.flatMap((thread, at) =>
    thread.comments
      .filter(({ entry }) => at > 0 || entry > from.after)
      .map((comment) => ({ at, comment, item: commentItem(comment, thread, pr) })),
  )
  const rest = (shown: number): string | undefined => {
    const next = from.offset + (listed[shown]?.at ?? threads.length)
    if (shown >= listed.length && next >= total) return undefined
    const before = listed[shown - 1]
    const isWithin = before !== undefined && before.at === listed[shown]?.at
    const after = isWithin ? own`, after: ${before.comment.entry}` : ''
    return `${own`${total - next} of ${total} threads; call again with offset: ${next}`}${after}.`
  }
  return each(
    listed.map(({ item }) => item),
    { rest, least: threadsLeast },
  )
}

function commentItem(comment: Comment, thread: Thread, pr: Pull): Named {
  const { entry } = comment
  const isFirst = entry === thread.thread
  const line = (chars: number) =>
    asItem({
      comment: entry,
      thread: thread.thread,
      ...(isFirst ? threadFacts(thread, chars) : {}),
      ...(isFirst ? placeFacts(comment, thread, pr, chars) : {}),
      ...commentFacts(comment, chars),
      ...textFacts(comment.text, chars),
    })
  return { of: own`comment ${entry}`, lines: [line(shownText), line(shortText)] }
}

function threadFacts({ is_resolved, resolved_by, num_comments }: Thread, chars: number): object {
  return {
    state: is_resolved ? 'resolved' : 'open',
    resolved_by: resolved_by && brief(resolved_by, Math.min(shownName, chars)),
    comments: num_comments,
  }
}

/** The current place of a thread. If it is outdated, the place where it was written. */
function placeFacts({ anchor }: Comment, { is_outdated, place, near }: Thread, pr: Pull, chars: number): object {
  if (anchor === undefined) return {}
  const { commit, path, first_line, num_lines, pointer } = place ?? anchor
  return {
    outdated: is_outdated ? 'the content that it is about is gone' : undefined,
    removed: place !== undefined && place.commit !== pr.source_commit ? 'the proposal removes this content' : undefined,
    path: brief(path, Math.min(shownPath, chars)),
    line: first_line,
    lines: num_lines,
    pointer: pointer && brief(pointer, Math.min(shownPath, chars)),
    ...{ commit, near_line: near?.first_line },
    quote: anchor.quote && brief(anchor.quote.exact, Math.min(shownQuote, chars)),
  }
}

function commentFacts(comment: Comment, chars: number): object {
  const { author, created_at, edited_at, deleted_at, erased_at, via_token, suggestion } = comment
  const { applied_by, applied_commit } = comment
  return {
    author: brief(author, Math.min(shownName, chars)),
    ...{ by_token: via_token || undefined, created_at, edited_at, deleted_at, erased_at },
    suggestion_chars: suggestion !== undefined && suggestion.length > chars ? suggestion.length : undefined,
    suggestion: suggestion && brief(suggestion, chars),
    applied_by: applied_by && brief(applied_by, Math.min(shownName, chars)),
    ...{ applied_commit },
  }
}

/** Reads one comment or review, as much of its text as fits. */
async function readEntry(session: Session, asked: Asked, entry: number): Promise<string> {
  const { org_id, node_id, number, part, from, max_chars } = asked
  const path = { org_id, node_id, number, entry }
  const found = await session.api.getComment({ path }).catch(async (error: unknown) => {
    if (factsOf(session, error).code !== 'comment_not_found') throw error
    return session.api.getReview({ path })
  })
  const text = part === 'text' ? found.text : 'suggestion' in found ? found.suggestion : undefined
  if (text === undefined) throw new ToolError(422, 'invalid', own`Entry ${entry} has no suggestion. Leave out part`)
  if (from > 0 && from >= text.length)
    throw new ToolError(422, 'invalid', own`from is beyond the end of the text, which has ${text.length} characters`)
  const isReview = 'verdict' in found
  const whose = isReview ? own`review ${entry}` : own`comment ${entry}`
  const name = part === 'text' ? whose : `suggestion of ${whose}`
  const known = isReview
    ? { review: entry, ...reviewFacts({ ...found, text: '' }, false, shownText), counts: undefined }
    : { comment: entry, thread: found.thread, ...commentFacts(found, shownText) }
  const page = proposalPage(session, org_id, node_id, number)
  return answer(
    max_chars,
    [own`Entry ${entry} of proposal ${number} of node ${node_id}: ${page}`],
    [
      ...(from === 0 ? [facts('facts', [asItem(known), asItem({ ...known, dismissed_reason: undefined })])] : []),
      ...(text === '' ? [] : [textPart({ of: name, text, from })]),
    ],
  )
}
