/** Checks suggested texts when they are written. */
import { findEntryRow } from '../../../index/derived/entries.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { LedgerAccess } from '../access.ts'
import { placeAnchors } from '../anchors/place-anchors.ts'
import { placeEdits } from '../anchors/suggested-edits.ts'
import { type CommentAnchor, type CommentRecord, parseEntry } from '../ledger/entries.ts'
import type { PullRecord } from '../ledger/ledger.ts'
import { readPresentChange } from '../pulls/present-change.ts'
import { findPullRow } from '../pulls/pulls.ts'
import type { Services } from '../services.ts'
import type { PullAt } from '../targets.ts'

type Loc = readonly (string | number)[]

/** @throws AppError merged, closed */
export function requireOpen({ status }: Pick<PullRecord, 'status'>): void {
  if (status !== 'open')
    throw new AppError(status, `The pull request is ${status}; write a comment instead of a suggestion`)
}

export function refuseLongSuggestion(loc: Loc, text: string): void {
  if (Buffer.byteLength(text) > limits.suggestionBytes)
    throw invalid(loc, `A suggestion has at most ${limits.suggestionBytes} bytes`)
}

/** @throws ValidationError the anchor has no lines */
function requireLines(loc: Loc, anchor: CommentAnchor | undefined): asserts anchor is CommentAnchor {
  if (anchor?.pointer !== undefined)
    throw invalid(loc, 'A suggestion replaces lines or quoted words. Send them in the anchor instead of a pointer')
  if (anchor?.first_line === undefined)
    throw invalid(loc, 'A suggestion replaces lines or quoted words. Send an anchor with first_line or quote')
}

/**
 * Checks that a text can replace what the anchor is about.
 *
 * @param loc the place of the suggestion in the request
 * @throws AppError merged, closed
 * @throws ValidationError
 */
export async function requireSuggestible(
  deps: Services,
  access: LedgerAccess,
  at: PullAt,
  loc: Loc,
  { anchor, text }: { readonly anchor: CommentAnchor | undefined; readonly text: string },
): Promise<void> {
  const pull = await findPullRow(deps, at)
  requireOpen(pull)
  requireLines(loc, anchor)
  const { repo, history } = access
  const [edit] = await placeEdits(repo, anchor.commit, [{ anchor, text }])
  if (edit && 'lack' in edit) throw invalid(loc, lacks[edit.lack])
  const { head, base } = await readPresentChange(access, pull)
  if (base === null || head === anchor.commit || !(await history.contains(base, anchor.commit))) return
  const [placed] = await placeAnchors(repo, { head, base: null, isInBase: async () => false }, [anchor])
  if (placed?.outdated)
    throw invalid(
      loc,
      'The proposal removes these lines, so no text can replace them. Suggest a text for lines of its head',
    )
}

const lacks = {
  outdated: 'The file is not text of at most 1 MiB, so no text can replace a part of it',
  not_utf8: 'The file is not UTF-8, so no text can replace a part of it. Change it with Git',
  ambiguous: 'The lines have the quoted words several times. Send a prefix and a suffix that select one of them',
} as const

/**
 * Returns the anchor that a suggestion in an answer uses. It is that of the thread, which never changes. Undefined if
 * the thread is missing, which is refused under the lock.
 *
 * @throws ValidationError the first comment is deleted, or about no lines
 */
export async function anchorOfThread(
  deps: Services,
  { node_id: nodeId, number }: PullAt,
  loc: Loc,
  thread: number,
): Promise<{ readonly anchor: CommentAnchor | undefined } | undefined> {
  const row = await findEntryRow(deps.index.read, nodeId, number, thread)
  const first = row && parseEntry(row.body)
  if (first?.kind !== 'comment' || (first.thread ?? thread) !== thread) return undefined
  requireSuggestibleThread(loc, first)
  return { anchor: first.anchor }
}

/**
 * Checks that an answer in this thread can suggest a text. The quote of a deleted comment is gone, so a text for it would
 * replace its lines.
 *
 * @throws ValidationError
 */
export function requireSuggestibleThread(loc: Loc, first: Pick<CommentRecord, 'deleted' | 'anchor'>): void {
  requireLines(loc, first.anchor)
  if (first.deleted)
    throw invalid(loc, 'The first comment of the thread is deleted, with the words that it quoted. Start a new thread')
}
