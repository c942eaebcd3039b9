/** The acts of a conversation as forms send them: comments, threads, reviews and reviewers. */

import { v5 as nameBased } from 'uuid'
import type { Input } from '../../../spec/client/api.ts'
import { AppError, statusOf, ValidationError } from '../../base/errors.ts'
import { withLineEnds } from '../edits.ts'
import type { PageContext } from '../page-context.ts'
import { asSentence, brokenField } from '../text/broken-rules.ts'
import type { PullPath } from './proposal-acts.ts'
import { entryLink, viewLink } from './talk.ts'

type NewComment = Input<'createComment'>['body']
type NewReview = Input<'submitReview'>['body']

/** A namespace for the ids of comments. A form that is sent twice writes one comment. */
const namespace = '6f1b0d52-8a0e-4c53-9a55-3f3a5f0e2b7c'

const reviewActs = [
  'comment',
  'answer',
  'resolve',
  'reopen-thread',
  'edit',
  'delete',
  'erase',
  'review',
  'withdraw',
  'dismiss',
  'ask',
  'apply',
  'override',
] as const
export type ReviewAct = (typeof reviewActs)[number]

export function reviewActOf(form: URLSearchParams): ReviewAct | undefined {
  return reviewActs.find((act) => act === form.get('act'))
}

/** Performs the act of the form. @returns the link to its result @throws AppError, ValidationError */
export async function actOnReview(visit: PageContext, path: PullPath, act: ReviewAct): Promise<string> {
  const { api, form, query } = visit
  const text = withLineEnds(form.get('text') ?? '', false)
  const entry = numberIn(form, 'entry')
  const at = { ...path, entry: entry ?? 0 }
  switch (act) {
    case 'comment':
    case 'answer':
      return linkTo(query, await comment(visit, path, text))
    case 'resolve':
    case 'reopen-thread':
      return setResolved(visit, path, text, act === 'resolve')
    case 'edit':
      await api.updateComment({ path: at, body: { text, ...suggestionIn(form) } })
      return linkTo(query, at.entry)
    case 'delete':
      await api.deleteComment({ path: at })
      return linkTo(query, at.entry)
    case 'erase':
      await api.eraseEntry({ path: at, body: text.trim() === '' ? {} : { reason: text.trim() } })
      return linkTo(query, at.entry)
    case 'review': {
      return entryLink(await submit(visit, path, reviewIn(form, text)))
    }
    case 'withdraw':
      await api.updateReview({ path: at, body: { state: 'withdrawn' } })
      return viewLink(query, {}, 'consent')
    case 'dismiss':
      await api.updateReview({ path: at, body: { state: 'dismissed', reason: text } })
      return viewLink(query, {}, 'consent')
    case 'apply':
      return linkTo(query, await apply(visit, path))
    case 'ask':
      await api.updatePull({ path, body: { reviewers: [...new Set(form.getAll('reviewer'))] } })
      return viewLink(query, {}, 'consent')
    case 'override':
      await override(visit, path, text)
      return viewLink(query, {}, 'merge')
  }
}

/** Merges in spite of rules. */
async function override({ api, form }: PageContext, path: PullPath, reason: string): Promise<void> {
  const [commit, target] = [form.get('commit') ?? '', form.get('target') ?? '']
  const body = { expected_source_commit: commit, expected_target_branch: target, override: { reason } }
  await api.mergePull({ path, body })
}

/** An entry on another page of the conversation is shown there. */
function linkTo(query: URLSearchParams, entry: number): string {
  return query.get('tab') === 'conversation' && !query.has('after')
    ? entryLink(entry)
    : viewLink(query, {}, `c${entry}`)
}

async function setResolved(visit: PageContext, path: PullPath, text: string, resolved: boolean): Promise<string> {
  const { api, form, query } = visit
  const thread = numberIn(form, 'thread') ?? 0
  if (text.trim() !== '') await comment(visit, path, text)
  await api.updateThread({ path: { ...path, entry: thread }, body: { resolved } })
  return viewLink(query, {}, `t${thread}`)
}

/** Writes a comment. @returns its number, also if the same form was sent before */
async function comment({ api, form, person }: PageContext, path: PullPath, text: string): Promise<number> {
  const thread = numberIn(form, 'thread')
  const anchor = anchorIn(form)
  const suggested = suggestionIn(form)
  if (text.trim() === '' && suggested.suggestion === undefined && form.has('suggestion'))
    throw new AppError('bad_request', 'The suggestion is the same as the current text. Change it, or write a comment')
  const said = { text, ...(thread !== undefined && { thread }), ...(anchor && { anchor }), ...suggested }
  const seed = JSON.stringify([person?.id, path, said, form.get('seen')])
  try {
    return (await api.createComment({ path, body: { ...said, id: nameBased(seed, namespace) } })).entry
  } catch (error) {
    if (error instanceof AppError && error.code === 'comment_exists') return Number(error.facts.entry)
    throw error
  }
}

/** The suggested text of a form. A text that was left as it was is not a suggestion. */
function suggestionIn(form: URLSearchParams): { readonly suggestion?: string } {
  const [suggestion, original] = [form.get('suggestion'), form.get('original')]
  if (suggestion === null) return {}
  const text = withLineEnds(suggestion, false)
  return original !== null && text === withLineEnds(original, false) ? {} : { suggestion: text }
}

/** Applies the selected suggestions. @returns the number of the first comment @throws AppError bad_request without one */
async function apply({ api, form }: PageContext, path: PullPath): Promise<number> {
  const comments = form.getAll('chosen').flatMap((sent) => (/^\d{1,9}$/.test(sent) ? Number(sent) : []))
  const [first] = comments
  if (first === undefined) throw new AppError('bad_request', 'Select the suggestions to apply')
  const message = form.get('message') ?? ''
  const body = { comments, expected_source_commit: form.get('commit') ?? '' }
  await api.applySuggestions({ path, body: { ...body, ...(message.trim() !== '' && { message }) } })
  return first
}

/** Submits a review. @returns its number, also if the same form was sent before */
async function submit({ api, form, person }: PageContext, path: PullPath, review: NewReview): Promise<number> {
  const seed = JSON.stringify([person?.id, path, review, form.get('seen')])
  try {
    return (await api.submitReview({ path, body: { ...review, id: nameBased(seed, namespace) } })).entry
  } catch (error) {
    if (error instanceof AppError && error.code === 'comment_exists') return Number(error.facts.entry)
    throw error
  }
}

function anchorIn(form: URLSearchParams): NewComment['anchor'] {
  const [path, commit] = [form.get('path'), form.get('commit')]
  if (!path || !commit) return undefined
  const [first, last] = [numberIn(form, 'first_line'), numberIn(form, 'last_line')]
  const [exact, prefix, suffix, pointer] = ['exact', 'prefix', 'suffix', 'pointer'].map((name) => form.get(name) ?? '')
  return {
    ...{ commit, path },
    ...(first !== undefined && {
      first_line: Math.min(first, last ?? first),
      num_lines: Math.abs((last ?? first) - first) + 1,
    }),
    ...(exact && {
      quote: { exact: withLineEnds(exact, false), ...(prefix && { prefix }), ...(suffix && { suffix }) },
    }),
    ...(pointer && { pointer }),
  }
}

function reviewIn(form: URLSearchParams, text: string): NewReview {
  const verdict = form.get('verdict')
  const comments = collectedIn(form)
  return {
    expected_source_commit: form.get('commit') ?? '',
    text,
    ...(verdict === 'approve' || verdict === 'request_changes' ? { verdict } : { verdict: 'comment' }),
    ...(comments.length > 0 && { comments }),
  }
}

/** Reads the comments that the script collected. The API checks them. @throws AppError bad_request if it is not JSON */
function collectedIn(form: URLSearchParams): NonNullable<NewReview['comments']> {
  const sent = form.get('comments')
  if (!sent) return []
  try {
    const comments: unknown = JSON.parse(sent)
    if (Array.isArray(comments)) return comments
  } catch {
    // The error below says it.
  }
  throw new AppError(
    'bad_request',
    'The collected comments cannot be read. Reload the page and submit the review again',
  )
}

const fieldNames = {
  first_line: 'The first line',
  last_line: 'The last line',
  thread: 'The thread',
  entry: 'The comment',
} as const

/** Reads a number. @throws AppError bad_request */
function numberIn(form: URLSearchParams, name: keyof typeof fieldNames): number | undefined {
  const sent = form.get(name) ?? ''
  if (sent === '') return undefined
  if (/^\d{1,9}$/.test(sent)) return Number(sent)
  throw new AppError('bad_request', `${fieldNames[name]} must be a whole number`)
}

/** A refused form, which the page shows again with its text. */
export interface Refusal {
  readonly act: ReviewAct
  readonly says: string
  readonly status: number
  readonly fields: Readonly<Record<string, string>>
  /** The comments that it was refused for. */
  readonly comments?: readonly number[]
  /** The head that the form was made for, if the source has another one. */
  readonly seen?: string
}

const sentFields = [
  'path',
  'commit',
  'first_line',
  'last_line',
  'exact',
  'prefix',
  'suffix',
  'pointer',
  'thread',
] as const
const otherFields = [
  'suggestion',
  'original',
  'entry',
  'text',
  'seen',
  'verdict',
  'comments',
  'draft',
  'target',
] as const

/**
 * Returns collected comments with anchors on their files and quotes at this head. Without a head they are about the
 * whole proposal.
 */
export function withLooserAnchors(sent: string, head?: string): string {
  try {
    const comments = collectedIn(new URLSearchParams({ comments: sent }))
    const looser = comments.map(({ anchor, ...said }) => {
      if (anchor === undefined || head === undefined) return said
      const { path, quote } = anchor
      return { ...said, anchor: { path, commit: head, ...(quote && { quote }) } }
    })
    return JSON.stringify(looser)
  } catch {
    return sent
  }
}

/** Explains why a form was refused. @throws the error if it is not from the API */
export function refusalOf(form: URLSearchParams, act: ReviewAct, error: unknown): Refusal {
  const fields: Record<string, string> = {}
  for (const name of [...sentFields, ...otherFields]) {
    const value = form.get(name)
    if (value || (value === '' && name === 'suggestion')) fields[name] = value
  }
  if (error instanceof ValidationError) {
    // A place that is not valid would be refused again.
    const isPlace = error.problems.some(({ loc }) => loc.includes('anchor'))
    if (isPlace)
      for (const name of ['path', 'commit', 'first_line', 'last_line', 'exact', 'prefix', 'suffix']) delete fields[name]
    if (isPlace && fields.comments) fields.comments = withLooserAnchors(fields.comments)
    const { says } = brokenField(error.problems)
    return {
      act,
      says: isPlace ? `${says} Sent again, it becomes a comment on the whole proposal.` : says,
      status: 422,
      fields,
    }
  }
  if (!(error instanceof AppError)) throw error
  const seen = error.code === 'head_moved' ? fields.commit : undefined
  const { comments } = error.facts
  if (seen !== undefined && act === 'comment') for (const name of ['first_line', 'last_line']) delete fields[name]
  return {
    act,
    says: asSentence(error.message),
    status: statusOf[error.code],
    fields,
    ...(Array.isArray(comments) && { comments: comments.map(Number) }),
    ...(seen !== undefined && { seen }),
  }
}
