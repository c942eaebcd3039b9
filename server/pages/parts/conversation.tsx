/** The conversation of a proposal: comments, reviews, events and commits by date. */

import type { ComponentChildren } from 'preact'
import type { AnswerOf } from '../../http/in-process.ts'
import { NewThread } from './comment-form.tsx'
import { VerdictActs } from './consent.tsx'
import { plural, When } from './dates.tsx'
import { EraseForm, EraseLink } from './erase-form.tsx'
import { Icon } from './icons.tsx'
import { Prose } from './prose.tsx'
import { readQuotes } from './quotes.ts'
import { readReplacedOf } from './suggesting.ts'
import { type Comment, type Conversing, isOfPages, nameOf, pageEntries, type Review, type Spoken } from './talk.ts'
import { CommentView, Name, Quoted, TextOf, ThreadView } from './thread.tsx'
import { reviewWords } from './verdict.tsx'
import { ViaLine, ViaName } from './via.tsx'

type Entry = AnswerOf<'getTimeline'>['entries'][number]
type PullEvent = NonNullable<Entry['event']>
type Commit = AnswerOf<'listPullCommits'>['commits'][number]

/** Pages of a review that are named. */
const mostNamed = 5
/** Maximum commits among the entries. */
const mostCommits = 100

export interface Conversation {
  readonly entries: readonly Entry[]
  /** The number after which the next page begins. */
  readonly next: number | undefined
  readonly after: number
  readonly commits: readonly Commit[]
  readonly quotes: ReadonlyMap<number, string>
}

/** Reads a page of the timeline, and the commits of the same time. */
export async function readConversation(
  talk: Pick<Conversing, 'visit' | 'at' | 'pr' | 'suggesting'>,
): Promise<Conversation> {
  const { visit, at, pr } = talk
  const { api, query } = visit
  const path = { ...at.path, number: pr.number }
  const sent = query.get('after') ?? ''
  const after = /^\d{1,6}$/.test(sent) ? Number(sent) : 0
  const [{ entries, next }, { commits }, before] = await Promise.all([
    api.getTimeline({ path, query: { after, limit: pageEntries } }),
    isOfPages(talk) ? { commits: [] } : api.listPullCommits({ path, query: { limit: mostCommits } }),
    after === 0 ? undefined : api.getTimeline({ path, query: { after: after - 1, limit: 1 } }),
  ])
  // Each commit is on one page: after the last entry of the page before, and not after the last entry of this one.
  const from = before?.entries[0]?.created_at
  const to = next === undefined ? undefined : entries.at(-1)?.created_at
  const shown = commits.filter(
    ({ created_at: time }) => (from === undefined || later(time, from)) && (to === undefined || !later(time, to)),
  )
  const firsts = entries.flatMap(({ comment }) => (comment && comment.entry === comment.thread ? [comment] : []))
  const quotes = await readQuotes(api, at.path, firsts)
  await readReplacedOf(
    talk,
    entries.flatMap(({ comment }) => comment ?? []),
  )
  return { entries, next, after, commits: shown, quotes }
}

function later(time: string, other: string): boolean {
  return Date.parse(time) > Date.parse(other)
}

/** Returns the texts that the view shows. */
export function textsIn({ entries }: Conversation): Spoken[] {
  return entries.flatMap(({ comment, review }) => comment ?? review ?? [])
}

interface ConversationProps {
  readonly talk: Conversing
  readonly shown: Conversation
  /** The description as HTML. */
  readonly description: string
}

export function ConversationView({ talk, shown, description }: ConversationProps) {
  const { pr } = talk
  const { after, next } = shown
  return (
    <div class="timeline">
      {after === 0 ? (
        <article class="opening">
          <p class="happened">
            <Icon name="branch" />
            <span>
              <Name>{pr.author}</Name>
              <ViaName via={pr.opened_via} /> opened this proposal, <When time={pr.created_at} />
            </span>
          </p>
          <ViaLine via={pr.opened_via} urls={talk.visit.urls} isOwn={pr.author_id === talk.visit.person?.id} />
          {description !== '' && <Prose urls={talk.visit.urls} html={description} look="card said" />}
        </article>
      ) : (
        <p class="acts">
          <a class="btn" href="?tab=conversation">
            First entries
          </a>
        </p>
      )}
      {itemsOf(talk, shown)}
      {next === undefined ? (
        <NewThread talk={talk} />
      ) : (
        <p class="acts">
          <a class="btn" href={`?tab=conversation&after=${next}`}>
            Later entries
          </a>
        </p>
      )}
    </div>
  )
}

/** Interleaves commits with entries by date. Answers are shown with their threads, if those are on the same page. */
function itemsOf(talk: Conversing, { entries, commits, quotes }: Conversation): ComponentChildren[] {
  const answers = new Map<number, Comment[]>()
  const here = new Set(entries.map(({ entry }) => entry))
  for (const { comment } of entries)
    if (comment && comment.thread !== comment.entry)
      answers.set(comment.thread, [...(answers.get(comment.thread) ?? []), comment])
  const items: ComponentChildren[] = []
  const left = [...commits].reverse()
  const addCommits = (until: string | undefined) => {
    const first = until === undefined ? -1 : left.findIndex(({ created_at }) => later(created_at, until))
    const some = left.splice(0, first < 0 ? left.length : first)
    if (some.length > 0) items.push(<Commits talk={talk} commits={some} />)
  }
  for (const one of entries) {
    const { comment } = one
    if (comment && comment.thread !== comment.entry && here.has(comment.thread)) continue
    if (one.created_at !== undefined) addCommits(one.created_at)
    items.push(
      <EntryView talk={talk} entry={one} answers={answers.get(one.entry) ?? []} quote={quotes.get(one.entry)} />,
    )
  }
  addCommits(undefined)
  return items
}

interface EntryProps {
  readonly talk: Conversing
  readonly entry: Entry
  readonly answers: readonly Comment[]
  readonly quote: string | undefined
}

function EntryView({ talk, entry: { entry, kind, comment, review, event }, answers, quote }: EntryProps) {
  if (comment && comment.thread !== comment.entry) return <LateAnswer talk={talk} comment={comment} />
  if (comment)
    return (
      <ThreadView
        talk={talk}
        comments={[comment, ...answers]}
        about={comment.anchor && <PlaceOf comment={comment} quote={quote} />}
      />
    )
  if (review) return <ReviewView talk={talk} review={review} />
  if (event) return <EventView talk={talk} event={event} entry={entry} />
  return (
    <p class="happened" id={`c${entry}`}>
      <Icon name="clock" />
      <span>
        {kind === 'damaged'
          ? `Entry ${entry} cannot be read, because its file in the ledger is damaged.`
          : `Entry ${entry} was written by a later version of Grove.`}
      </span>
    </p>
  )
}

function PlaceOf({
  comment: { anchor, thread },
  quote,
}: {
  readonly comment: Comment
  readonly quote: string | undefined
}) {
  if (anchor === undefined) return null
  const { path, first_line: first, num_lines: count = 1, pointer } = anchor
  const lines = first === undefined ? '' : count === 1 ? `, line ${first}` : `, lines ${first} to ${first + count - 1}`
  return (
    <>
      <p class="about">
        <a href={`?tab=changes#t${thread}`}>
          <span class="ref">{path}</span>
          {pointer === undefined ? lines : `, ${pointer}`}
        </a>
      </p>
      <Quoted text={quote} />
    </>
  )
}

/** An answer to a thread on an earlier page. */
function LateAnswer({ talk, comment }: { readonly talk: Conversing; readonly comment: Comment }) {
  return (
    <section class="thread" aria-label={`Answer ${comment.entry}`}>
      <p class="about">
        An answer in <a href={`?tab=conversation&after=${comment.thread - 1}#c${comment.thread}`}>an earlier thread</a>
      </p>
      <CommentView talk={talk} comment={comment} />
    </section>
  )
}

function ReviewView({ talk, review }: { readonly talk: Conversing; readonly review: Review }) {
  const { entry, author, verdict, text, created_at, state, comments, dismissed_by, dismissed_reason } = review
  const { erased_at, erased_by } = review
  const hasWords = erased_at === undefined && (text !== '' || dismissed_reason !== undefined)
  const isHeld = talk.pr.status === 'open' && verdict !== 'comment' && (state === 'current' || state === 'stale')
  const mark = verdict === 'approve' ? 'check' : verdict === 'request_changes' ? 'cross' : 'pen'
  return (
    <article class={`review ${verdict} ${state}`} id={`c${entry}`}>
      <p class="happened">
        <Icon name={mark} />
        <span>
          <Name>{author}</Name> {verdict === 'comment' && comments.length > 0 ? 'wrote' : reviewWords[verdict]}
          {pagesOf(talk, review)}
          {comments.length > 0 && (
            <>
              {verdict === 'comment' ? ' ' : ' with '}
              <a href={`#c${comments[0]}`}>{plural(comments.length, 'comment')}</a>
            </>
          )}
          , <When time={created_at} /> <StateOf review={review} isSet={isOfPages(talk)} />{' '}
          {hasWords && <EraseLink talk={talk} entry={entry} what="review" />}
        </span>
      </p>
      <TextOf talk={talk} entry={entry} />
      {hasWords && <EraseForm talk={talk} entry={entry} what="review" />}
      {isOfPages(talk) && isHeld && <VerdictActs talk={talk} verdict={review} />}
      {erased_at !== undefined && (
        <p class="why">
          <Name>{erased_by ?? ''}</Name> erased the text
        </p>
      )}
      {dismissed_reason !== undefined && dismissed_reason !== '' && (
        <p class="why">
          <Name>{dismissed_by ?? ''}</Name> dismissed it: {dismissed_reason}
        </p>
      )}
    </article>
  )
}

/** Names the pages of a review that is about some of the pages: ` of “Whales” and “Krill”`. */
function pagesOf({ pages = [] }: Conversing, { verdict, items = [] }: Review): string {
  const named = pages.filter(({ node_id }) => items.includes(node_id)).map(({ title }) => `“${title}”`)
  if (named.length === 0 || named.length === pages.length) return ''
  const more = named.length - mostNamed
  const shown = more > 0 ? [...named.slice(0, mostNamed), `${more} more`] : named
  return ` ${verdict === 'approve' ? '' : 'of '}${listed(shown)}`
}

const states = {
  stale: 'before the last change',
  withdrawn: 'withdrawn',
  dismissed: 'dismissed',
  superseded: 'replaced by a later one',
} as const

function StateOf({
  review: { state, verdict, head_commit },
  isSet,
}: {
  readonly review: Review
  readonly isSet: boolean
}) {
  if (state === 'current' || verdict === 'comment') return null
  if (state !== 'stale' || isSet) return <span class="state">{states[state]}</span>
  return (
    <a class="state" href={`?since=${head_commit}`}>
      {states.stale}
    </a>
  )
}

interface EventProps {
  readonly talk: Conversing
  readonly event: PullEvent
  readonly entry: number
}

function EventView({ talk, event, entry }: EventProps) {
  const { author, created_at } = event
  const icon = event.event === 'merge' ? 'check' : event.event === 'close' ? 'cross' : 'pen'
  return (
    <p class="happened" id={`c${entry}`}>
      <Icon name={icon} />
      <span>
        {author === undefined ? 'Git' : <Name>{author}</Name>} {wordsOf(talk, event)}, <When time={created_at} />
      </span>
    </p>
  )
}

const plainEvents: Readonly<Record<string, string>> = {
  close: 'closed this proposal',
  reopen: 'reopened this proposal',
  merge: 'merged this proposal',
}

function wordsOf(talk: Conversing, { event, changes = {} }: PullEvent): string {
  const said =
    plainEvents[event] ?? Object.entries(changes).flatMap(([field, values]) => changeWords(talk, field, values))
  if (typeof said === 'string') return said
  return said.length > 0 ? listed(said) : `changed this proposal (${event})`
}

function changeWords(talk: Conversing, field: string, [before, now]: readonly unknown[]): string | string[] {
  switch (field) {
    case 'title':
      return `changed the title from “${before}” to “${now}”`
    case 'target_branch':
      return `changed the target from ${before} to ${now}`
    case 'description':
      return 'changed the description'
    case 'is_draft':
      return now === true ? 'made this a draft' : 'marked this as ready for review'
    case 'reviewers': {
      const [old, present] = [idsIn(before), idsIn(now)]
      const names = (ids: string[]) => listed(ids.map((id) => nameOf(talk, id)))
      const [added, removed] = [present.filter((id) => !old.includes(id)), old.filter((id) => !present.includes(id))]
      return [
        ...(added.length > 0 ? [`asked ${names(added)} for a review`] : []),
        ...(removed.length > 0 ? [`no longer asks ${names(removed)} for a review`] : []),
      ]
    }
    default:
      return `changed ${field}`
  }
}

function idsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

const list = new Intl.ListFormat('en-GB')

function listed(words: readonly string[]): string {
  return list.format(words)
}

function Commits({ talk: { visit, at }, commits }: { readonly talk: Conversing; readonly commits: readonly Commit[] }) {
  const { org_id, node_id } = at.path
  return (
    <div class="pushed">
      {commits.map(({ id, message, author, created_at, via }) => (
        <p class="happened">
          <Icon name="branch" />
          <span>
            <Name>{author}</Name>
            <ViaName via={via} /> committed{' '}
            <a href={visit.urls.commit(org_id, node_id, id)}>
              {message.split('\n', 1)[0]?.slice(0, 200) || 'No message'}
            </a>
            , <When time={created_at} />
          </span>
          <span class="sha">{id.slice(0, 8)}</span>
        </p>
      ))}
    </div>
  )
}
