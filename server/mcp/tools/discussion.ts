/** The tool that reads the discussion of a proposal: its reviews and its threads. */

import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import { answer, each, facts, list, type Named, type Section, textPart } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { factsOf, ToolError } from '../refusals.ts'
import { proposalPage, type Session } from '../session.ts'
import { entryNumber, maxChars, nodeId, offset, orgId, pageOf, proposalNumber, tool } from '../tool.ts'
import { type At, type Discussed, type Review, readReviews, reviewFacts, textFacts } from './review-facts.ts'
import { readSet } from './set-discussion.ts'

const shownText = 1_000
const shownQuote = 300
const shownPath = 300
const shownName = 120
/** Characters of each text if a whole item does not fit. */
const shortText = 100
const shownReviewers = 20
/** Shares of an answer: the most for reviews and for reviewers, the least for threads. */
const reviewsShare = 0.3
const reviewersShare = 0.1
const threadsLeast = 0.4

type Thread = Output<'listThreads'>['threads'][number]
type Comment = Output<'getComment'>

export const readDiscussion = tool({
  name: 'read_discussion',
  title: 'Read the discussion of a proposal',
  description:
    'Reads the discussion of a proposal (pull request): reviews with their verdicts and states, then threads of comments, oldest first. Each thread has its place in the proposed content. `outdated`: the content is gone, and the place is the old one. A comment with `suggestion` suggests this text for the quoted words or lines. Long texts are shortened, and `entry` reads one of them whole. With `change_set` instead of node_id and number, also the nodes with what each lacks, and their reviews.',
  access: 'read',
  operations: ['getPull', 'getChangeSet', 'listThreads', 'listReviews', 'getComment', 'getReview'],
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId.optional(),
    number: proposalNumber.optional(),
    change_set: proposalNumber.optional(),
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
  run: (session, { node_id, number, change_set, ...asked }) => {
    if (change_set === undefined ? node_id === undefined || number === undefined : number !== undefined)
      throw new ToolError(422, 'invalid', 'Pass either change_set, or node_id and number')
    // The conversation of a change set is that of the organisation.
    const at = change_set === undefined ? { node_id, number } : { node_id: asked.org_id, number: change_set }
    const whole = { ...asked, ...at } as Asked // checked above
    return asked.entry === undefined ? readPage(session, whole) : readEntry(session, whole, asked.entry)
  },
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
  const [found, page, reviews] = await Promise.all([
    node_id === org_id ? readSet(session, at, isFirst) : readPull(session, at),
    session.api.listThreads({ path: at, query: { state, offset, limit } }),
    isFirst ? readReviews(session, at) : undefined,
  ])
  const isCut = page.threads.some(({ comments, num_comments }) => comments.length < num_comments)
  const lead = [
    ...found.lead,
    `${own`Threads: ${page.total}`}${state === 'all' ? '' : ` with the state ${state}`}.`,
    ...(isCut ? ['Of a thread, at most the first 100 comments are listed. The page has all of them.'] : []),
  ]
  return answer(max_chars, lead, [
    ...found.sections,
    ...(reviews === undefined ? [] : [reviewsOf(reviews, found), ...reviewersOf(found)]),
    threadsOf(page, found, { offset, after }),
  ])
}

async function readPull(session: Session, at: At): Promise<Discussed> {
  const { org_id, node_id, number } = at
  const { pr } = await session.api.getPull({ path: at })
  const { approvals, changes_requested, verdicts } = pr.consent
  return {
    lead: [
      own`Proposal ${number} of node ${node_id} is ${pr.status}: ${proposalPage(session, org_id, node_id, number)}`,
      own`Comments: ${pr.comments}; open threads: ${pr.open_threads}. Approvals that count: ${approvals}; requests for changes: ${changes_requested}.`,
    ],
    counting: new Set(verdicts.filter(({ counts }) => counts).map(({ entry }) => entry)),
    ...{ reviewers: pr.reviewers, source_commit: pr.source_commit, sections: [] },
  }
}

/** Lists the standing verdicts, then the other reviews, each the newest first. */
function reviewsOf({ reviews, total }: Output<'listReviews'>, { counting }: Discussed): Section {
  const stands = ({ state, verdict }: Review) => Number(state === 'current' && verdict !== 'comment')
  const sorted = [...reviews].reverse().sort((a, b) => stands(b) - stands(a))
  const items = sorted.map((review): Named => {
    const line = (chars: number) => asItem(reviewFacts(review, counting?.has(review.entry), chars))
    return { of: own`review ${review.entry}`, lines: [line(shownText), line(shortText)] }
  })
  const rest = (shown: number) =>
    shown < total ? `${own`${total - shown} of ${total}`} reviews; the page has all of them.` : undefined
  return each(items, { rest, share: reviewsShare })
}

/** Lists the users who were asked for a review. */
function reviewersOf({ reviewers }: Discussed): Section[] {
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
  pr: Discussed,
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

function commentItem(comment: Comment, thread: Thread, pr: Discussed): Named {
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
function placeFacts({ anchor }: Comment, { is_outdated, place, near }: Thread, pr: Discussed, chars: number): object {
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
    [
      `${own`Entry ${entry} of proposal ${number}`}${node_id === org_id ? '' : own` of node ${node_id}`}: ${own`${page}`}`,
    ],
    [
      ...(from === 0 ? [facts('facts', [asItem(known), asItem({ ...known, dismissed_reason: undefined })])] : []),
      ...(text === '' ? [] : [textPart({ of: name, text, from })]),
    ],
  )
}
