/** Comments on pull requests. Each act is one commit of the ledger. */
import { v7 as newId } from 'uuid'
import { findEntryById, findEntryRow } from '../../../index/derived/entries.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { type LedgerAccess, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { requireRoomFor } from '../byte-quota.ts'
import type { AnchorInput } from '../format/anchors.ts'
import { readResult } from '../indexing/index-node.ts'
import { type CommentAnchor, type CommentRecord, parseEntry } from '../ledger/entries.ts'
import { findPullRow } from '../pulls/pulls.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, EntryAt, Path, PullAt } from '../targets.ts'
import { resolveAnchor } from './anchor-input.ts'
import { authorizeOwner, isOfSets, presentHead, reloadOwner } from './conversations.ts'
import { type Comment, commentOf } from './entry-views.ts'
import { resolveMentions } from './mentions.ts'
import {
  anchorOfThread,
  refuseLongSuggestion,
  requireOpen,
  requireSuggestible,
  requireSuggestibleThread,
} from './suggestible.ts'
import { entryAt, findById, type LockedLedger, requireRoom, writeEntries } from './write-entries.ts'

type Loc = readonly (string | number)[]

export interface CommentInput {
  readonly text: string
  /** The first comment of the thread that is answered. */
  readonly thread?: number
  /** The content that a new thread is about. Without it, the thread is about the whole pull request. */
  readonly anchor?: AnchorInput
  /** Replaces the quoted words or the lines of the thread's anchor. An empty one removes them. */
  readonly suggestion?: string
  /** Ids of members. */
  readonly mentions?: readonly string[]
}

export interface NewComment extends CommentInput {
  /** A UUID. A repeated one is refused. */
  readonly id?: string
}

export interface CommentPatch {
  readonly text?: string
  readonly mentions?: readonly string[]
  /** Null removes it. */
  readonly suggestion?: string | null
}

/**
 * Writes a comment. Pull requests that have ended also take comments, without a suggestion.
 *
 * @throws AppError comment_exists (with its location), head_moved, merged, closed, too_many_comments, thread_not_found
 * @throws ValidationError
 */
export async function createComment(
  ctx: Ctx<Person>,
  { path, body }: Path<PullAt> & Body<NewComment>,
): Promise<Comment> {
  const access = await authorizeOwner(ctx, path, 'reader')
  await findPullRow(ctx, path)
  const id = body.id?.toLowerCase() ?? newId()
  // The anchor of a repeated request may be gone by now.
  const written = body.id === undefined ? undefined : await findEntryById(ctx.index.read, path.node_id, id)
  if (written) throw commentExistsError(path, written)
  const checked = await checkComment(ctx, access, path, ['body'], body)
  await requireRoomFor(ctx, path.org_id, '')
  const entry = await writeEntries(ctx, access, path, async (ledger) => {
    const known = body.id === undefined ? undefined : await findById(ctx, access, ledger.commit, id)
    if (known) throw commentExistsError(path, known)
    if (body.suggestion !== undefined) requireOpen(ledger.pull)
    requireRoom(ledger, 1)
    await requireThread(access, ledger, ['body'], body)
    const head = await presentHead(ctx, access, ledger.pull)
    const record = toRecord({ id, ledger, head, actor: ctx.actor, checked, input: body })
    const entries = [{ entry: ledger.next, record }]
    return { value: ledger.next, message: `comment ${path.number} ${ledger.next}`, entries, head }
  })
  return commentAfter(ctx, access, { ...path, entry })
}

function commentExistsError(
  { org_id: orgId, node_id: nodeId }: PullAt,
  { number, entry }: { number: number; entry: number },
): AppError {
  const location = `/orgs/${orgId}/nodes/${nodeId}/pull-requests/${number}/comments/${entry}`
  return new AppError('comment_exists', 'A comment with this id already exists', { location, entry })
}

/** A comment whose text, anchor and mentions were checked against the current state. */
export interface CheckedComment {
  readonly text: string
  readonly anchor?: CommentAnchor
  readonly suggestion?: string
  readonly mentions: readonly string[]
}

/** Checks a comment before the lock is held. @throws ValidationError, AppError head_moved, merged, closed */
export async function checkComment(
  deps: Services,
  access: LedgerAccess,
  at: PullAt,
  loc: Loc,
  { text, thread, anchor, suggestion, mentions }: CommentInput,
): Promise<CheckedComment> {
  if (suggestion === undefined) refuseBlank([...loc, 'text'], text)
  refuseLongComment([...loc, 'text'], text)
  if (isOfSets(access) && (anchor ?? suggestion) !== undefined)
    throw wholeOnly([...loc, anchor ? 'anchor' : 'suggestion'])
  if (thread !== undefined && anchor)
    throw invalid([...loc, 'anchor'], 'Only the first comment of a thread has an anchor; leave out thread or anchor')
  const resolved = anchor && (await resolveAnchor(deps, access, at, [...loc, 'anchor'], anchor))
  if (suggestion !== undefined) {
    const place = [...loc, 'suggestion']
    refuseLongSuggestion(place, suggestion)
    const own = thread === undefined ? { anchor: resolved } : await anchorOfThread(deps, at, place, thread)
    if (own) await requireSuggestible(deps, access, at, place, { ...own, text: suggestion })
  }
  return {
    text,
    ...(resolved && { anchor: resolved }),
    ...(suggestion !== undefined && { suggestion }),
    mentions: await resolveMentions(deps, at, [...loc, 'mentions'], text, mentions),
  }
}

function wholeOnly(loc: Loc): Error {
  return invalid(
    loc,
    'A comment on a change set is about all of it; comment on content at the pull request of its page',
  )
}

function refuseBlank(loc: Loc, text: string): void {
  if (text.trim() === '') throw invalid(loc, 'The text must not be blank')
}

export function refuseLongComment(loc: Loc, text: string): void {
  if (Buffer.byteLength(text) > limits.commentBytes)
    throw invalid(loc, `The text must have at most ${limits.commentBytes} bytes`)
}

/**
 * Checks that an answered thread exists. The caller holds the ledger's lock.
 *
 * @throws AppError thread_not_found
 * @throws ValidationError the named comment is itself an answer, or deleted and without words that a text can replace
 */
export async function requireThread(
  access: LedgerAccess,
  ledger: LockedLedger,
  loc: Loc,
  { thread, suggestion }: Pick<CommentInput, 'thread' | 'suggestion'>,
): Promise<void> {
  if (thread === undefined) return
  const first = await entryAt(access, ledger, thread)
  if (first?.kind !== 'comment') throw new AppError('thread_not_found', 'Thread not found')
  if (first.thread !== undefined && first.thread !== thread)
    throw invalid([...loc, 'thread'], `This comment is an answer; answer its thread ${first.thread}`, thread)
  if (suggestion !== undefined) requireSuggestibleThread([...loc, 'suggestion'], first)
}

interface RecordParts {
  readonly id: string
  readonly ledger: LockedLedger
  readonly head: string
  readonly actor: Person
  readonly checked: CheckedComment
  readonly input: Pick<CommentInput, 'thread'>
}

export function toRecord({ id, ledger, head, actor, checked, input }: RecordParts): CommentRecord {
  const { text, anchor, suggestion, mentions } = checked
  return {
    ...{ kind: 'comment', id, by: ledger.user, at: ledger.at },
    ...(actor.tokenId !== undefined && { via: 'token' as const }),
    ...{ head, text },
    ...(input.thread !== undefined && { thread: input.thread }),
    ...(anchor && { anchor }),
    ...(suggestion !== undefined && { suggestion }),
    ...(mentions.length > 0 && { mentions: [...mentions] }),
  }
}

/** Reads a comment. @throws AppError comment_not_found */
export async function getComment(ctx: Ctx<Person>, { path }: Path<EntryAt>): Promise<Comment> {
  await authorizeOwner(ctx, path, 'reader')
  await findPullRow(ctx, path)
  return findComment(ctx, path)
}

async function findComment(deps: Services, { node_id: nodeId, number, entry }: EntryAt): Promise<Comment> {
  const row = await findEntryRow(deps.index.read, nodeId, number, entry)
  const comment = row && commentOf(row)
  if (!comment) throw commentNotFoundError()
  return comment
}

/** @param entry the number, if the request names several comments */
export function commentNotFoundError(entry?: number): AppError {
  return new AppError('comment_not_found', entry === undefined ? 'Comment not found' : `There is no comment ${entry}`)
}

/** Reads a comment after a change. @throws the errors of readResult */
function commentAfter(deps: Services, access: LedgerAccess, at: EntryAt): Promise<Comment> {
  return readResult(deps, async () => {
    await reloadOwner(deps, access)
    return findComment(deps, at)
  })
}

/**
 * Changes the text, the suggestion or the mentions of a comment. Only its author may. The Git history of the ledger
 * keeps the earlier ones.
 *
 * @throws AppError comment_not_found, comment_deleted, applied, merged, closed, forbidden; ValidationError
 */
export async function updateComment(
  ctx: Ctx<Person>,
  { path, body }: Path<EntryAt> & Body<CommentPatch>,
): Promise<Comment> {
  const access = await authorizeOwner(ctx, path, 'reader')
  await findPullRow(ctx, path)
  const { text } = body
  if (text !== undefined) refuseLongComment(['body', 'text'], text)
  await checkNewSuggestion(ctx, access, path, body)
  await requireRoomFor(ctx, path.org_id, '')
  const isNamed = body.mentions !== undefined || text !== undefined
  const mentions = isNamed
    ? await resolveMentions(ctx, path, ['body', 'mentions'], text ?? '', body.mentions)
    : undefined
  await writeEntries(ctx, access, path, async (ledger) => {
    const before = await requireComment(access, ledger, path.entry)
    if (before.by.id !== ctx.actor.id)
      throw new AppError('forbidden', 'Only the author of a comment can change it; answer it instead')
    if (before.deleted ?? before.erased)
      throw new AppError('comment_deleted', `The comment is ${before.deleted ? 'deleted' : 'erased'}; write a new one`)
    const record = changed(before, body, mentions)
    if (record === undefined) return { value: undefined }
    refuseApplied(before)
    if (record.suggestion === undefined) refuseBlank(['body', 'text'], record.text)
    else if (record.suggestion !== before.suggestion) requireOpen(ledger.pull)
    return {
      value: undefined,
      message: `edit-comment ${path.number} ${path.entry}`,
      entries: [{ entry: path.entry, record: { ...record, edited: { by: ledger.user, at: ledger.at } } }],
    }
  })
  return commentAfter(ctx, access, path)
}

/** The record after a change. Undefined if it stays as it is. @param named the mentions, if they change */
function changed(before: CommentRecord, patch: CommentPatch, named: readonly string[] | undefined) {
  const { mentions: known = [], suggestion: old, ...rest } = before
  const [text, mentions] = [patch.text ?? before.text, named ?? known]
  const suggestion = patch.suggestion === undefined ? old : (patch.suggestion ?? undefined)
  if (text === before.text && suggestion === old && mentions.join() === known.join()) return undefined
  const record: CommentRecord = {
    ...{ ...rest, text },
    ...(suggestion !== undefined && { suggestion }),
    ...(mentions.length > 0 && { mentions: [...mentions] }),
  }
  return record
}

/** Checks a new suggestion of a comment that exists. @throws AppError merged, closed; ValidationError */
async function checkNewSuggestion(
  deps: Services,
  access: LedgerAccess,
  at: EntryAt,
  patch: CommentPatch,
): Promise<void> {
  const row = await findEntryRow(deps.index.read, at.node_id, at.number, at.entry)
  const record = row && parseEntry(row.body)
  const { suggestion } = patch
  if (record?.kind !== 'comment' || typeof suggestion !== 'string' || suggestion === record.suggestion) return
  if (record.deleted || record.applied) return // refused under the lock
  const loc = ['body', 'suggestion']
  refuseLongSuggestion(loc, suggestion)
  const { thread } = record
  const own = thread === undefined ? record : await anchorOfThread(deps, at, loc, thread)
  if (own) await requireSuggestible(deps, access, at, loc, { anchor: own.anchor, text: suggestion })
}

/** @throws AppError applied */
function refuseApplied({ applied }: CommentRecord): void {
  if (applied) throw new AppError('applied', 'The suggestion of this comment is applied, so the comment stays as it is')
}

/**
 * Empties a comment, which keeps its place in the thread. Its author and maintainers may. A deleted comment stays as it
 * is. The Git history of the ledger keeps the text.
 *
 * @throws AppError comment_not_found, applied, forbidden
 */
export async function deleteComment(ctx: Ctx<Person>, { path }: Path<EntryAt>): Promise<void> {
  const access = await authorizeOwner(ctx, path, 'reader')
  await findPullRow(ctx, path)
  await writeEntries(ctx, access, path, async (ledger) => {
    const before = await requireComment(access, ledger, path.entry)
    if (before.by.id !== ctx.actor.id) await recheckAccess(ctx, path.org_id, 'maintainer')
    if (before.deleted ?? before.erased) return { value: undefined }
    refuseApplied(before)
    const record = emptied(before, ledger)
    const message = `delete-comment ${path.number} ${path.entry}`
    return { value: undefined, message, entries: [{ entry: path.entry, record }] }
  })
}

/** The record of a deleted comment, without its text, suggestion, quoted text and mentions. */
function emptied(
  { mentions: _, edited: __, suggestion: ____, anchor, ...rest }: CommentRecord,
  { user, at }: LockedLedger,
): CommentRecord {
  const { quote: ___, ...place } = anchor ?? { commit: '', path: '' }
  return { ...rest, text: '', ...(anchor && { anchor: place }), deleted: { by: user, at } }
}

/** Reads a comment at the locked commit. @throws AppError comment_not_found */
async function requireComment(access: LedgerAccess, ledger: LockedLedger, entry: number): Promise<CommentRecord> {
  const record = await entryAt(access, ledger, entry)
  if (record?.kind !== 'comment') throw commentNotFoundError()
  return record
}
