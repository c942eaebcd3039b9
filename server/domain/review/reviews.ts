/** Reviews: a verdict with its comments, written as one commit of the ledger. */
import { v7 as newId } from 'uuid'
import { findEntryRow, listLastVerdicts, listReviewRows } from '../../../index/derived/entries.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { authorizeNode, type LedgerAccess, type NodeAccess, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { headMovedError } from '../branches/branch-commits.ts'
import { requireRoomFor } from '../byte-quota.ts'
import type { VerdictState } from '../consent/judge.ts'
import { readVerdicts } from '../consent/verdicts.ts'
import { isOpener, type Opened } from '../format/ownership.ts'
import { readResult } from '../indexing/index-node.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { type EntryRecord, parseEntry, type VerdictRecord } from '../ledger/entries.ts'
import type { PullRecord } from '../ledger/ledger.ts'
import { fromRow } from '../ledger/pull-ledger.ts'
import { type Page, pageOf } from '../pagination.ts'
import { readPresentChange } from '../pulls/present-change.ts'
import { findPullRow } from '../pulls/pulls.ts'
import type { Ctx, Services } from '../services.ts'
import type { Part } from '../sets/set-changes.ts'
import { partsOff, stateOfSetReview } from '../sets/verdicts.ts'
import type { Body, EntryAt, Path, PullAt, Query } from '../targets.ts'
import {
  type CheckedComment,
  type CommentInput,
  checkComment,
  refuseLongComment,
  requireThread,
  toRecord,
} from './comments.ts'
import { authorizeOwner, isOfSets, reloadOwner } from './conversations.ts'
import { type ReviewText, toReviewText } from './entry-views.ts'
import { entryAt, findById, type LockedLedger, requireRoom, writeEntries } from './write-entries.ts'

/** `superseded`: the same user gave a later verdict. A review that only comments is current. */
type ReviewState = VerdictState | 'superseded'

export interface Review extends ReviewText {
  readonly state: ReviewState
}

export interface NewReview {
  /** A UUID. A repeated one is refused. */
  readonly id?: string
  readonly verdict?: 'approve' | 'request_changes' | 'comment'
  readonly text?: string
  readonly comments?: readonly CommentInput[]
  /** The head that was reviewed. */
  readonly expected_source_commit: string
}

export interface ReviewPatch {
  readonly state: 'withdrawn' | 'dismissed'
  readonly reason?: string
}

/**
 * Submits a review with all its comments, in one commit.
 *
 * @throws AppError comment_exists, head_moved, own_pull_request, merged, closed, too_many_comments, thread_not_found
 * @throws ValidationError
 */
export async function submitReview(ctx: Ctx<Person>, { path, body }: Path<PullAt> & Body<NewReview>): Promise<Review> {
  const access = await authorizeNode(ctx, path, 'reader')
  const row = await findPullRow(ctx, path)
  const { verdict = 'comment', text = '', comments = [] } = body
  requireWords(verdict, text, comments)
  requireVerdictAllowed(ctx.actor, verdict, fromRow(row))
  const checked: CheckedComment[] = []
  for (const [n, comment] of comments.entries())
    checked.push(await checkComment(ctx, access, path, ['body', 'comments', n], comment))
  const id = body.id?.toLowerCase() ?? newId()
  await requireRoomFor(ctx, path.org_id, '')
  const entry = await writeEntries(ctx, access, path, async (ledger) => {
    const known = body.id === undefined ? undefined : await findById(ctx, access, ledger.commit, id)
    if (known) throw reviewExistsError(path, known)
    requireVerdictAllowed(ctx.actor, verdict, ledger.pull)
    const { head, base } = await requireReviewed(access, ledger, row, body.expected_source_commit)
    requireRoom(ledger, comments.length + 1)
    const entries: { entry: number; record: EntryRecord }[] = []
    for (const [n, one] of comments.entries()) {
      await requireThread(access, ledger, ['body', 'comments', n], one)
      const parts = {
        id: newId(),
        ledger,
        head,
        actor: ctx.actor,
        checked: checked[n] ?? { text: '', mentions: [] },
        input: one,
      }
      entries.push({ entry: ledger.next + n, record: toRecord(parts) })
    }
    const last = ledger.next + comments.length
    const record: VerdictRecord = {
      ...{ kind: 'verdict', id, by: ledger.user, at: ledger.at, verdict, text, head, base },
      ...{ target_branch: ledger.pull.target_branch, comments: entries.map((one) => one.entry) },
    }
    entries.push({ entry: last, record })
    return { value: last, message: `review ${path.number} ${last}`, entries, head }
  })
  return reviewAfter(ctx, access, { ...path, entry })
}

function reviewExistsError(
  { org_id: orgId, node_id: nodeId }: PullAt,
  { number, entry }: { number: number; entry: number },
): AppError {
  const location = `/orgs/${orgId}/nodes/${nodeId}/pull-requests/${number}/reviews/${entry}`
  return new AppError('comment_exists', 'A review with this id already exists', { location, entry })
}

/** @throws ValidationError a review says nothing */
function requireWords(verdict: string, text: string, comments: readonly CommentInput[]): void {
  refuseLongComment(['body', 'text'], text)
  if (verdict !== 'approve' && comments.length === 0 && text.trim() === '')
    throw invalid(['body', 'text'], 'The review says nothing; add a text or a comment')
}

/** @throws AppError own_pull_request, merged, closed */
function requireVerdictAllowed(actor: Person, verdict: string, pull: Pick<PullRecord, 'status' | keyof Opened>): void {
  if (pull.status !== 'open')
    throw new AppError(pull.status, `The pull request is ${pull.status}; write a comment instead of a review`)
  if (isOpener(actor, pull) && verdict !== 'comment')
    throw new AppError('own_pull_request', 'You cannot give a verdict on your own pull request; write a comment')
}

type Change = Awaited<ReturnType<typeof readPresentChange>>

/**
 * Returns the change as it is under the lock. The head must still be the reviewed one.
 *
 * @throws AppError head_moved
 */
async function requireReviewed(
  access: NodeAccess,
  { pull }: LockedLedger,
  row: PullRow,
  reviewed: string,
): Promise<Change> {
  const { target_branch } = pull
  const present = await readPresentChange(access, { ...row, target_branch })
  if (present.head !== reviewed)
    throw headMovedError('The source branch has moved since you read it; nothing was submitted', present.head)
  return present
}

/** Lists the reviews, oldest first. */
export async function listReviews(ctx: Ctx<Person>, { path, query }: Path<PullAt> & Query<Page>) {
  const access = await authorizeOwner(ctx, path, 'reader')
  const pull = await findPullRow(ctx, path)
  const { rows, total } = await listReviewRows(ctx.index.read, path.node_id, path.number, query)
  const stateOf = await readStates(ctx, access, pull)
  const reviews: Review[] = []
  for (const { entry, body } of rows) {
    const review = await toReview(entry, body, stateOf)
    if (review) reviews.push(review)
  }
  return { reviews, ...pageOf(query, total) }
}

/** Reads a review. @throws AppError review_not_found */
export async function getReview(ctx: Ctx<Person>, { path }: Path<EntryAt>): Promise<Review> {
  return findReview(ctx, await authorizeOwner(ctx, path, 'reader'), path)
}

async function findReview(deps: Services, access: LedgerAccess, at: EntryAt): Promise<Review> {
  const pull = await findPullRow(deps, at)
  const row = await findEntryRow(deps.index.read, at.node_id, at.number, at.entry)
  const review = row && (await toReview(row.entry, row.body, await readStates(deps, access, pull)))
  if (!review) throw reviewNotFoundError()
  return review
}

function reviewNotFoundError(): AppError {
  return new AppError('review_not_found', 'Review not found')
}

/** Reads a review after a change. @throws the errors of readResult */
function reviewAfter(deps: Services, access: LedgerAccess, at: EntryAt): Promise<Review> {
  return readResult(deps, async () => findReview(deps, await reloadOwner(deps, access), at))
}

/** The state of a review, by its entry and record. */
type StateOf = (entry: number, record: VerdictRecord) => ReviewState | Promise<ReviewState>

export async function readStates(deps: Services, access: LedgerAccess, pull: PullRow): Promise<StateOf> {
  if (isOfSets(access)) return (_, record) => offState(record) ?? stateOfSetReview(deps, access, record)
  const rows = await listLastVerdicts(deps.index.read, access.org.id, access.node.id, [pull.number])
  const verdicts = await readVerdicts(deps, access, pull, rows, () => readPresentChange(access, pull))
  const byEntry = new Map(verdicts.map((verdict) => [verdict.row.entry, verdict]))
  return (entry, record) => offState(record) ?? byEntry.get(entry)?.state ?? 'superseded'
}

/** The state of a review that gives no verdict, or no longer. */
function offState({ verdict, withdrawn, dismissed }: VerdictRecord): ReviewState | undefined {
  if (withdrawn) return 'withdrawn'
  if (dismissed) return 'dismissed'
  return verdict === 'comment' ? 'current' : undefined
}

async function toReview(entry: number, body: string, stateOf: StateOf): Promise<Review | undefined> {
  const record = parseEntry(body)
  return record.kind === 'verdict' ? { ...toReviewText(entry, record), state: await stateOf(entry, record) } : undefined
}

/**
 * Withdraws an own review, or dismisses another's, for which a maintainer gives a reason. A review that is off stays as
 * it is. That of a change set takes its verdicts on the pages with it.
 *
 * @throws AppError review_not_found, forbidden, merged, closed; ValidationError
 */
export async function updateReview(
  ctx: Ctx<Person>,
  { path, body }: Path<EntryAt> & Body<ReviewPatch>,
): Promise<Review> {
  const access = await authorizeOwner(ctx, path, 'reader')
  await findPullRow(ctx, path)
  const reason = body.reason?.trim() ?? ''
  if (body.state === 'dismissed' && reason === '') throw invalid(['body', 'reason'], 'Say why the review is dismissed')
  refuseLongComment(['body', 'reason'], reason)
  const event = changedBy(ctx, ctx.actor)
  const { at } = event
  const by = { id: ctx.actor.id, ...event.by }
  const off = body.state === 'withdrawn' ? { withdrawn: { at } } : { dismissed: { by, at, reason } }
  const parts = isOfSets(access) ? await partsOfReview(ctx, access, path, { off, event }) : []
  const decide = async (ledger: LockedLedger) => {
    const before = await entryAt(access, ledger, path.entry)
    if (before?.kind !== 'verdict') throw reviewNotFoundError()
    if (body.state === 'dismissed') await recheckAccess(ctx, path.org_id, 'maintainer')
    else if (before.by.id !== ctx.actor.id)
      throw new AppError('forbidden', 'Only its author can withdraw a review; a maintainer can dismiss it')
    if (before.withdrawn || before.dismissed) return { value: undefined }
    if (ledger.pull.status !== 'open')
      throw new AppError(ledger.pull.status, `The pull request is ${ledger.pull.status}; its reviews are final`)
    const message = `${body.state === 'withdrawn' ? 'withdraw' : 'dismiss'} ${path.number} ${path.entry}`
    return { value: undefined, message, entries: [{ entry: path.entry, record: { ...before, ...off } }] }
  }
  await writeEntries(ctx, access, path, decide, parts)
  return reviewAfter(ctx, access, path)
}

/** The pages of a change set whose verdicts go with a review. Other entries have none. */
async function partsOfReview(
  deps: Services,
  access: LedgerAccess,
  { node_id: nodeId, number, entry }: EntryAt,
  how: Parameters<typeof partsOff>[3],
): Promise<Part[]> {
  const row = await findEntryRow(deps.index.read, nodeId, number, entry)
  const review = row && parseEntry(row.body)
  return review?.kind === 'verdict' ? partsOff(deps, access, review, how) : []
}
