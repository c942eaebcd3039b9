/** Threads and comments of a proposal. */

import type { ComponentChildren } from 'preact'
import { AnswerForm, EditForm } from './comment-form.tsx'
import { plural, When } from './dates.tsx'
import { EraseForm, EraseLink } from './erase-form.tsx'
import { Prose } from './prose.tsx'
import { SuggestionView } from './suggestion.tsx'
import { type Comment, type Conversing, entryLink, isMaintainer, isOwn, mayResolve, viewLink } from './talk.ts'

/** `answers`: the most that are not folded. `last`: answers that stay shown otherwise. */
const most = { answers: 6, last: 3 } as const

/** A name. Its characters do not change the direction of the text around it. */
export function Name({ children }: { readonly children: string }) {
  return <bdi class="name">{children}</bdi>
}

interface ThreadProps {
  readonly talk: Conversing
  /** The first comment and its answers. */
  readonly comments: readonly Comment[]
  /** The comments of the thread, with those that are not shown. */
  readonly count?: number
  /** The content that the thread is about. */
  readonly about?: ComponentChildren
}

export function ThreadView({ talk, comments, count = comments.length, about }: ThreadProps) {
  const [first, ...answers] = comments
  if (first === undefined) return null
  const { thread, resolved_at, resolved_by } = first
  const isResolved = resolved_at !== undefined
  if (comments.every(isGone) && count === comments.length)
    return (
      <>
        {comments.map((comment) => (
          <CommentView talk={talk} comment={comment} />
        ))}
      </>
    )
  const folded = answers.length > most.answers ? answers.slice(0, -most.last) : []
  const view = (comment: Comment) => <CommentView talk={talk} comment={comment} />
  const body = (
    <>
      {about}
      {view(first)}
      {folded.length > 0 && (
        <details>
          <summary>{plural(folded.length, 'earlier answer')}</summary>
          {folded.map(view)}
        </details>
      )}
      {answers.slice(folded.length).map(view)}
      {count > comments.length && (
        <p class="more">
          <a href={entryLink((comments.at(-1)?.entry ?? 0) + 1)}>
            {plural(count - comments.length, 'later answer')} in the conversation
          </a>
        </p>
      )}
      <AnswerForm talk={talk} thread={thread} isResolved={isResolved} mayResolve={mayResolve(talk, first)} />
    </>
  )
  if (!isResolved)
    return (
      <section class="thread" id={`t${thread}`} aria-label={`Thread ${thread}, open`} tabIndex={-1} data-open>
        {body}
      </section>
    )
  return (
    <details class="thread resolved" id={`t${thread}`}>
      <summary>
        <strong>Resolved</strong> by <Name>{resolved_by ?? ''}</Name>: {shortened(first.text)}
      </summary>
      {body}
    </details>
  )
}

/** Characters of a text in one line. */
const shortCharacters = 80

function shortened(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return line.length <= shortCharacters ? line : `${line.slice(0, shortCharacters)}…`
}

interface CommentProps {
  readonly talk: Conversing
  readonly comment: Comment
}

export function CommentView({ talk, comment }: CommentProps) {
  const { entry, author, created_at, edited_at, via_token, applied_at } = comment
  const { query } = talk.visit
  if (isGone(comment)) return <GoneComment talk={talk} comment={comment} />
  const isEditing = query.get('edit') === String(entry)
  const mayChange = isOwn(talk, comment)
  return (
    <article class="comment" id={`c${entry}`}>
      <header>
        <span>
          <Name>{author}</Name>
          {via_token && ', by a token'}
        </span>
        <a href={`#c${entry}`}>
          <When time={created_at} />
        </a>
        {edited_at !== undefined && <span>edited</span>}
        {!isEditing && <EraseLink talk={talk} entry={entry} what="comment" />}
        {!isEditing && applied_at === undefined && (mayChange || isMaintainer(talk)) && (
          <a class="r" href={viewLink(query, { edit: String(entry) }, `c${entry}`)}>
            {mayChange ? 'Edit' : 'Delete'}
          </a>
        )}
      </header>
      {isEditing && (mayChange || isMaintainer(talk)) ? (
        <EditForm talk={talk} comment={comment}>
          <TextOf talk={talk} entry={entry} />
        </EditForm>
      ) : (
        <TextOf talk={talk} entry={entry} />
      )}
      {!isEditing && <SuggestionView talk={talk} comment={comment} />}
      <EraseForm talk={talk} entry={entry} what="comment" />
    </article>
  )
}

/** True if it has lost its text. */
function isGone({ deleted_at, erased_at }: Comment): boolean {
  return deleted_at !== undefined || erased_at !== undefined
}

/** A comment without text. An owner may erase a deleted one from the history. */
function GoneComment({ talk, comment }: CommentProps) {
  const { entry, deleted_by, erased_at, erased_by } = comment
  const isErased = erased_at !== undefined
  return (
    <>
      <p class="comment gone" id={`c${entry}`}>
        <Name>{(isErased ? erased_by : deleted_by) ?? ''}</Name> {isErased ? 'erased' : 'deleted'} this comment{' '}
        {!isErased && <EraseLink talk={talk} entry={entry} what="comment" />}
      </p>
      {!isErased && <EraseForm talk={talk} entry={entry} what="comment" />}
    </>
  )
}

/** Shows the rendered text of an entry. */
export function TextOf({ talk, entry }: { readonly talk: Conversing; readonly entry: number }) {
  const html = talk.html.get(entry)
  return html === undefined ? null : <Prose urls={talk.visit.urls} html={html} look="said" />
}

/** Quoted lines of a file. */
export function Quoted({ text }: { readonly text: string | undefined }) {
  return text === undefined || text.trim() === '' ? null : <blockquote class="quoted">{text}</blockquote>
}
