/** Forms of comments: a new thread, an answer, an edit. */

import type { ComponentChildren } from 'preact'
import * as limits from '../../base/limits.ts'
import type { Side } from '../text/diff.tsx'
import { type Comment, type Conversing, isOwn, viewLink } from './talk.ts'

/** The place of a new thread. */
export interface NewPlace {
  readonly path: string
  readonly side: Side
  /** Without lines it is the whole file. */
  readonly first?: number
  readonly last?: number
  /** True if the form suggests a text for the lines. */
  readonly suggests?: boolean
}

/** Reads `at` and `on` of the query, such as `content.md:12-14`. */
export function placeIn(query: URLSearchParams): NewPlace | undefined {
  const at = query.get('at')
  if (!at) return undefined
  const side = query.get('on') === 'base' ? 'base' : 'head'
  const [, path = at, from, to = from] = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/s.exec(at) ?? []
  const [first, last] = [Number(from), Number(to)]
  if (from === undefined || first < 1) return { path, side }
  const suggests = side === 'head' && query.has('suggest')
  return { path, side, first, last: Math.min(Math.max(first, last), first + limits.anchorLines - 1), suggests }
}

/** Returns the link that opens the form at a place. */
export function formLink(query: URLSearchParams, path: string, side: Side, line?: number): string {
  const at = line === undefined ? path : `${path}:${line}`
  return viewLink(query, { at, ...(side === 'base' && { on: 'base' }) }, 'new')
}

interface HiddenProps {
  readonly fields: Readonly<Record<string, string | number | undefined>>
}

export function Hidden({ fields }: HiddenProps) {
  return (
    <>
      {Object.entries(fields).map(([name, value]) =>
        value === undefined || value === '' ? null : <input type="hidden" name={name} value={value} />,
      )}
    </>
  )
}

interface TextProps {
  readonly name?: 'text' | 'suggestion'
  readonly label: string
  readonly rows?: number
  readonly text?: string
  readonly isRequired?: boolean
  readonly hasFocus?: boolean
  readonly isDisabled?: boolean
}

/** The field of a text. The API limits it in bytes, so the field has no limit that would cut a pasted text. */
export function TextArea({ name = 'text', label, rows = 4, text = '', ...is }: TextProps) {
  const { isRequired = false, hasFocus = false, isDisabled = false } = is
  const shown = { 'aria-label': label, placeholder: label, autofocus: hasFocus }
  return (
    <textarea name={name} rows={rows} required={isRequired} disabled={isDisabled} {...shown}>
      {/* HTML parsers drop a newline at the start of a textarea. */}
      {text === '' ? '' : `\n${text}`}
    </textarea>
  )
}

interface NewThreadProps {
  readonly talk: Conversing
  /** Undefined: about the whole proposal. */
  readonly place?: NewPlace
  /** The current text of the lines, if the form suggests another. */
  readonly original?: string | undefined
  /** True for the form that the script copies. */
  readonly isTemplate?: boolean
}

/** Starts a thread. */
export function NewThread({ talk, place, original, isTemplate = false }: NewThreadProps) {
  const { visit, pr, base } = talk
  const commit = place?.side === 'base' ? (base ?? '') : pr.source_commit
  return (
    <form class="comment-form" id="new" method="post" action={viewLink(visit.query)} data-talk={draftOf(place)}>
      <Hidden fields={{ seen: pr.last_activity_at, ...(place && { path: place.path, commit }) }} />
      {place && <About place={place} isFixed={original !== undefined} />}
      {place?.side === 'head' && (original !== undefined || isTemplate) && (
        <SuggestionField text={original ?? ''} isTemplate={isTemplate} />
      )}
      <TextArea
        label={original !== undefined ? 'Why? (optional)' : place ? 'Comment' : 'Comment on the whole proposal'}
        isRequired={original === undefined}
        hasFocus={place !== undefined && original === undefined}
      />
      <p class="form-acts">
        <button class="btn go small" type="submit" name="act" value="comment">
          {original === undefined ? 'Comment' : 'Suggest'}
        </button>
        {place?.side === 'head' && place.first !== undefined && original === undefined && (
          <a class="btn small" data-suggest-link href={suggestLink(visit.query, place)}>
            Suggest instead
          </a>
        )}
        {place && (
          <a class="btn quiet small" href={viewLink(visit.query)}>
            Cancel
          </a>
        )}
        <span class="why">Markdown. @Name mentions a member.</span>
      </p>
    </form>
  )
}

interface FieldProps {
  readonly text: string
  /** True if the script shows the field when it is wanted. */
  readonly isTemplate?: boolean
}

/** The suggested text, which begins as the current one. */
function SuggestionField({ text, isTemplate = false }: FieldProps) {
  return (
    <div class="suggest" data-suggest hidden={isTemplate}>
      <TextArea
        name="suggestion"
        label="Suggested text"
        text={text}
        rows={Math.min(12, Math.max(3, text.split('\n').length + 1))}
        hasFocus={!isTemplate}
        isDisabled={isTemplate}
      />
      <input type="hidden" name="original" value={text} disabled={isTemplate} />
    </div>
  )
}

/** Returns the link that opens the form with a suggestion. */
function suggestLink(query: URLSearchParams, { path, first, last }: NewPlace): string {
  return viewLink(query, { at: `${path}:${first}-${last}`, suggest: '' }, 'new')
}

function draftOf(place: NewPlace | undefined): string {
  if (place === undefined) return 'new'
  return `new ${place.side} ${place.path}:${place.first ?? ''}${place.suggests ? ' suggest' : ''}`
}

interface AboutProps {
  readonly place: NewPlace
  /** True if the lines cannot be changed. */
  readonly isFixed: boolean
}

/** Shows what the thread is about. Lines can be changed without script. */
function About({ place: { path, side, first, last }, isFixed }: AboutProps) {
  const line = (name: string, value: number | undefined, label: string) => (
    <input class="line-number" type="number" name={name} value={value} min={1} required aria-label={label} />
  )
  return (
    <p class="about">
      <span data-about>
        {first === undefined
          ? 'About the file'
          : `About ${side === 'base' ? 'removed ' : ''}${isFixed && first === last ? 'line' : 'lines'}`}
      </span>{' '}
      {first !== undefined && isFixed && (
        <>
          <Hidden fields={{ first_line: first, last_line: last }} />
          {first === last ? first : `${first} to ${last}`} of{' '}
        </>
      )}
      {first !== undefined && !isFixed && (
        <>
          {line('first_line', first, 'First line')} to {line('last_line', last, 'Last line')} of{' '}
        </>
      )}
      <span class="ref">{path}</span>
    </p>
  )
}

interface AnswerProps {
  readonly talk: Conversing
  readonly thread: number
  readonly isResolved: boolean
  readonly mayResolve: boolean
}

/** Answers a thread, and resolves or reopens it. A text that is typed before is also sent. */
export function AnswerForm({ talk: { visit, pr }, thread, isResolved, mayResolve }: AnswerProps) {
  const act = isResolved ? 'reopen-thread' : 'resolve'
  return (
    <form class="answer" method="post" action={viewLink(visit.query)} data-talk={`answer ${thread}`}>
      <Hidden fields={{ thread, seen: pr.last_activity_at }} />
      <TextArea label="Reply" rows={1} />
      <button class="btn small" type="submit" name="act" value="answer">
        Reply
      </button>
      {mayResolve && (
        <button class="btn small" type="submit" name="act" value={act}>
          {isResolved ? 'Reopen' : 'Resolve'}
        </button>
      )}
    </form>
  )
}

interface EditProps {
  readonly talk: Conversing
  readonly comment: Comment
  readonly children?: ComponentChildren
}

/** Changes or deletes a comment. A maintainer can only delete the comments of other users. */
export function EditForm({ talk, comment, children }: EditProps) {
  const { visit } = talk
  const { entry, text, suggestion } = comment
  const mayChange = isOwn(talk, comment)
  return (
    <form class="comment-form" method="post" action={viewLink(visit.query)} data-talk={`edit ${entry}`}>
      <Hidden fields={{ entry }} />
      {mayChange && suggestion !== undefined && <SuggestionField text={suggestion} />}
      {mayChange ? <TextArea label="Comment" text={text} rows={6} hasFocus={suggestion === undefined} /> : children}
      <p class="form-acts">
        {mayChange && (
          <button class="btn go small" type="submit" name="act" value="edit">
            Save
          </button>
        )}
        <a class="btn quiet small" href={viewLink(visit.query, {}, `c${entry}`)}>
          Cancel
        </a>
        <button class="btn stop small" type="submit" name="act" value="delete">
          Delete this comment
        </button>
      </p>
    </form>
  )
}
