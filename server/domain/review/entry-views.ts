/** Entries of pull requests as responses show them. */
import type { EntryRow } from '../../../index/derived/entries.ts'
import type { Anchor } from '../format/anchors.ts'
import {
  type CommentAnchor,
  type CommentRecord,
  type EntryUser,
  type Erased,
  type EventRecord,
  parseEntry,
  type VerdictRecord,
} from '../ledger/entries.ts'

export interface Comment {
  readonly entry: number
  /** The first comment of its thread. */
  readonly thread: number
  readonly id: string
  readonly author_id?: string
  readonly author: string
  readonly author_email: string
  readonly created_at: string
  /** The head of the source when it was written. */
  readonly head_commit: string
  readonly text: string
  /** Ids of users. */
  readonly mentions: readonly string[]
  readonly via_token: boolean
  readonly anchor?: Anchor
  /** Replaces the quoted words or the lines of the thread's anchor. Empty: they are removed. */
  readonly suggestion?: string
  readonly applied_at?: string
  readonly applied_by?: string
  readonly applied_commit?: string
  readonly edited_at?: string
  readonly edited_by?: string
  readonly deleted_at?: string
  readonly deleted_by?: string
  /** When its text was erased from the whole history. */
  readonly erased_at?: string
  readonly erased_by?: string
  /** On the first comment of a resolved thread. */
  readonly resolved_at?: string
  readonly resolved_by?: string
}

/** A review without its state, which depends on the current heads. */
export interface ReviewText {
  readonly entry: number
  readonly id: string
  readonly author_id?: string
  readonly author: string
  readonly author_email: string
  readonly created_at: string
  readonly verdict: VerdictRecord['verdict']
  readonly text: string
  readonly head_commit: string
  readonly base_commit?: string
  readonly target_branch: string
  /** The comments that were submitted with it. */
  readonly comments: readonly number[]
  /** The pages that a review of a change set gives its verdict on. */
  readonly items?: readonly string[]
  readonly withdrawn_at?: string
  readonly dismissed_at?: string
  readonly dismissed_by?: string
  readonly dismissed_reason?: string
  readonly erased_at?: string
  readonly erased_by?: string
}

export interface PullEventView {
  readonly event: string
  readonly author_id?: string
  readonly author?: string
  readonly author_email?: string
  readonly created_at: string
  readonly changes?: NonNullable<EventRecord['changes']>
}

export function toComment(entry: number, record: CommentRecord): Comment {
  const { id, at, head, text, thread = entry, anchor, mentions = [], edited, deleted, resolved, erased } = record
  const { suggestion, applied } = record
  return {
    ...{ entry, thread, id, ...authorFields(record.by), created_at: at, head_commit: head },
    ...{ text, mentions, via_token: record.via === 'token' },
    ...(anchor && { anchor: toAnchor(anchor) }),
    ...(suggestion !== undefined && { suggestion }),
    ...(applied && { applied_at: applied.at, applied_by: applied.by.name, applied_commit: applied.commit }),
    ...(edited && { edited_at: edited.at, edited_by: edited.by.name }),
    ...(deleted && { deleted_at: deleted.at, deleted_by: deleted.by.name }),
    ...erasedFields(erased),
    ...(resolved && thread === entry && { resolved_at: resolved.at, resolved_by: resolved.by.name }),
  }
}

/** The anchor without keys of a later version. */
function toAnchor({ commit, path, first_line, num_lines, quote, pointer }: CommentAnchor): Anchor {
  return {
    ...{ commit, path },
    ...(first_line !== undefined && { first_line }),
    ...(num_lines !== undefined && { num_lines }),
    ...(quote && { quote }),
    ...(pointer !== undefined && { pointer }),
  }
}

export function toReviewText(entry: number, record: VerdictRecord): ReviewText {
  const { id, at, verdict, text, head, base, target_branch, comments, items, withdrawn, dismissed, erased } = record
  return {
    ...{ entry, id, ...authorFields(record.by), created_at: at, verdict, text, head_commit: head },
    ...(base !== null && { base_commit: base }),
    ...{ target_branch, comments },
    ...(items && { items }),
    ...(withdrawn && { withdrawn_at: withdrawn.at }),
    ...(dismissed && {
      dismissed_at: dismissed.at,
      dismissed_by: dismissed.by.name,
      dismissed_reason: dismissed.reason,
    }),
    ...erasedFields(erased),
  }
}

function erasedFields(erased: Erased | undefined) {
  return erased && { erased_at: erased.at, erased_by: erased.by.name }
}

export function toEvent({ event, by, at, changes }: EventRecord): PullEventView {
  // Name and e-mail are empty if a branch was moved outside the service.
  const author = by.name === '' && by.email === '' ? {} : authorFields(by)
  return { event, ...author, created_at: at, ...(changes && Object.keys(changes).length > 0 && { changes }) }
}

function authorFields({ id, name, email }: EntryUser) {
  return { ...(id !== undefined && { author_id: id }), author: name, author_email: email }
}

/** The comment of a row; undefined if the entry is not a comment. */
export function commentOf({ entry, body }: Pick<EntryRow, 'entry' | 'body'>): Comment | undefined {
  const record = parseEntry(body)
  return record.kind === 'comment' ? toComment(entry, record) : undefined
}
