/** Comments on pull requests. Each act is one commit of the ledger. */
import { v7 as newId } from 'uuid'
import { findEntryById, findEntryRow } from '../../../index/derived/entries.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { authorizeNode, type NodeAccess, recheckAccess, reloadNode } from '../access.ts'
import type { Person } from '../actor.ts'
import type { AnchorInput } from '../format/anchors.ts'
import { readResult } from '../indexing/index-node.ts'
import type { CommentAnchor, CommentRecord } from '../ledger/entries.ts'
import { findPullRow } from '../pulls/pulls.ts'
import type { EntryAt, PullAt } from '../targets.ts'
import { resolveAnchor } from './anchor-input.ts'
import { type Comment, commentOf } from './entry-views.ts'
import { resolveMentions } from './mentions.ts'
import { entryAt, findById, type LockedLedger, requireRoom, sourceHead, writeEntries } from './write-entries.ts'

type Loc = readonly (string | number)[]

export interface CommentInput {
  readonly text: string
  /** The first comment of the thread that is answered. */
  readonly thread?: number
  /** The content that a new thread is about. Without it, the thread is about the whole pull request. */
  readonly anchor?: AnchorInput
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
}

/** The most bytes of a comment. */
const maxTextBytes = 16_384

/**
 * Writes a comment. Pull requests that have ended also take comments.
 *
 * @throws AppError comment_exists (with its location), head_moved, too_many_comments, thread_not_found
 * @throws ValidationError
 */
export async function createComment(deps: Deps, actor: Person, at: PullAt, input: NewComment): Promise<Comment> {
  const access = await authorizeNode(deps, actor, at, 'reader')
  await findPullRow(deps, at)
  const id = input.id?.toLowerCase() ?? newId()
  // The anchor of a repeated request may be gone by now.
  const written = input.id === undefined ? undefined : await findEntryById(deps.index.read, at.nodeId, id)
  if (written) throw commentExistsError(at, written)
  const checked = await checkComment(deps, access, at, ['body'], input)
  const entry = await writeEntries(deps, actor, access, at, async (ledger) => {
    const known = input.id === undefined ? undefined : await findById(deps, access, ledger.commit, id)
    if (known) throw commentExistsError(at, known)
    requireRoom(ledger, 1)
    await requireThread(access, ledger, ['body'], input)
    const head = sourceHead(access, ledger.pull)
    const record = toRecord({ id, ledger, head, actor, checked, input })
    const entries = [{ entry: ledger.next, record }]
    return { value: ledger.next, message: `comment ${at.number} ${ledger.next}`, entries, head }
  })
  return commentAfter(deps, access, { ...at, entry })
}

function commentExistsError({ orgId, nodeId }: PullAt, { number, entry }: { number: number; entry: number }): AppError {
  const location = `/orgs/${orgId}/nodes/${nodeId}/pull-requests/${number}/comments/${entry}`
  return new AppError('comment_exists', 'A comment with this id exists already', { location, entry })
}

/** A comment whose text, anchor and mentions were checked against the present state. */
export interface CheckedComment {
  readonly text: string
  readonly anchor?: CommentAnchor
  readonly mentions: readonly string[]
}

/** Checks a comment before the lock is held. @throws ValidationError, AppError head_moved */
export async function checkComment(
  deps: Deps,
  access: NodeAccess,
  at: PullAt,
  loc: Loc,
  { text, thread, anchor, mentions }: CommentInput,
): Promise<CheckedComment> {
  refuseText([...loc, 'text'], text)
  if (thread !== undefined && anchor)
    throw invalid([...loc, 'anchor'], 'Only the first comment of a thread has an anchor; leave out thread or anchor')
  return {
    text,
    ...(anchor && { anchor: await resolveAnchor(deps, access, at, [...loc, 'anchor'], anchor) }),
    mentions: await resolveMentions(deps, at, [...loc, 'mentions'], text, mentions),
  }
}

/** @throws ValidationError the text is blank or too long */
function refuseText(loc: Loc, text: string): void {
  if (text.trim() === '') throw invalid(loc, 'The text must not be blank')
  refuseLongComment(loc, text)
}

export function refuseLongComment(loc: Loc, text: string): void {
  if (Buffer.byteLength(text) > maxTextBytes) throw invalid(loc, `The text must have at most ${maxTextBytes} bytes`)
}

/**
 * Checks that an answered thread exists. The caller holds the ledger's lock.
 *
 * @throws AppError thread_not_found; ValidationError the named comment is itself an answer
 */
export async function requireThread(
  access: NodeAccess,
  ledger: LockedLedger,
  loc: Loc,
  { thread }: Pick<CommentInput, 'thread'>,
): Promise<void> {
  if (thread === undefined) return
  const first = await entryAt(access, ledger, thread)
  if (first?.kind !== 'comment') throw new AppError('thread_not_found', 'Thread not found')
  if (first.thread !== undefined && first.thread !== thread)
    throw invalid([...loc, 'thread'], `This comment is an answer; answer its thread ${first.thread}`, thread)
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
  const { text, anchor, mentions } = checked
  return {
    ...{ kind: 'comment', id, by: ledger.user, at: ledger.at },
    ...(actor.tokenId !== undefined && { via: 'token' as const }),
    ...{ head, text },
    ...(input.thread !== undefined && { thread: input.thread }),
    ...(anchor && { anchor }),
    ...(mentions.length > 0 && { mentions: [...mentions] }),
  }
}

/** Reads a comment. @throws AppError comment_not_found */
export async function readComment(deps: Deps, actor: Person, at: EntryAt): Promise<Comment> {
  await authorizeNode(deps, actor, at, 'reader')
  await findPullRow(deps, at)
  return findComment(deps, at)
}

async function findComment(deps: Deps, { nodeId, number, entry }: EntryAt): Promise<Comment> {
  const row = await findEntryRow(deps.index.read, nodeId, number, entry)
  const comment = row && commentOf(row)
  if (!comment) throw commentNotFoundError()
  return comment
}

function commentNotFoundError(): AppError {
  return new AppError('comment_not_found', 'Comment not found')
}

/** Reads a comment after a change. @throws the errors of readResult */
function commentAfter(deps: Deps, access: NodeAccess, at: EntryAt): Promise<Comment> {
  return readResult(deps, async () => {
    await reloadNode(deps, access, 'reader')
    return findComment(deps, at)
  })
}

/**
 * Changes the text or the mentions of a comment. Only its author may. The Git history of the ledger keeps the earlier
 * text.
 *
 * @throws AppError comment_not_found, comment_deleted, forbidden; ValidationError
 */
export async function updateComment(deps: Deps, actor: Person, at: EntryAt, patch: CommentPatch): Promise<Comment> {
  const access = await authorizeNode(deps, actor, at, 'reader')
  await findPullRow(deps, at)
  const { text } = patch
  if (text !== undefined) refuseText(['body', 'text'], text)
  const isNamed = patch.mentions !== undefined || text !== undefined
  const mentions = isNamed
    ? await resolveMentions(deps, at, ['body', 'mentions'], text ?? '', patch.mentions)
    : undefined
  await writeEntries(deps, actor, access, at, async (ledger) => {
    const before = await requireComment(access, ledger, at.entry)
    if (before.by.id !== actor.id)
      throw new AppError('forbidden', 'Only the author of a comment can change it; answer it instead')
    if (before.deleted) throw new AppError('comment_deleted', 'The comment is deleted; write a new one')
    const { mentions: known = [], ...rest } = before
    const now = mentions ?? known
    if ((text ?? before.text) === before.text && now.join() === known.join()) return { value: undefined }
    const record: CommentRecord = {
      ...rest,
      text: text ?? before.text,
      ...(now.length > 0 && { mentions: [...now] }),
      edited: { by: ledger.user, at: ledger.at },
    }
    return {
      value: undefined,
      message: `edit-comment ${at.number} ${at.entry}`,
      entries: [{ entry: at.entry, record }],
    }
  })
  return commentAfter(deps, access, at)
}

/**
 * Empties a comment, which keeps its place in the thread. Its author and maintainers may. A deleted comment stays as it
 * is. The Git history of the ledger keeps the text.
 *
 * @throws AppError comment_not_found, forbidden
 */
export async function deleteComment(deps: Deps, actor: Person, at: EntryAt): Promise<void> {
  const access = await authorizeNode(deps, actor, at, 'reader')
  await findPullRow(deps, at)
  await writeEntries(deps, actor, access, at, async (ledger) => {
    const before = await requireComment(access, ledger, at.entry)
    if (before.by.id !== actor.id) await recheckAccess(deps, actor, at.orgId, 'maintainer')
    if (before.deleted) return { value: undefined }
    const record = emptied(before, ledger)
    const message = `delete-comment ${at.number} ${at.entry}`
    return { value: undefined, message, entries: [{ entry: at.entry, record }] }
  })
}

/** The record of a deleted comment, without its text, the quoted text and mentions. */
function emptied(
  { mentions: _, edited: __, anchor, ...rest }: CommentRecord,
  { user, at }: LockedLedger,
): CommentRecord {
  const { quote: ___, ...place } = anchor ?? { commit: '', path: '' }
  return { ...rest, text: '', ...(anchor && { anchor: place }), deleted: { by: user, at } }
}

/** Reads a comment at the locked commit. @throws AppError comment_not_found */
async function requireComment(access: NodeAccess, ledger: LockedLedger, entry: number): Promise<CommentRecord> {
  const record = await entryAt(access, ledger, entry)
  if (record?.kind !== 'comment') throw commentNotFoundError()
  return record
}
