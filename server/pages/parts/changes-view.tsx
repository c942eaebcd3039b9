/** The changes of a proposal with the threads about them. */

import type { ComponentChildren, VNode } from 'preact'
import { type FileChange, FileDiffs, type FileNotes, lineKey, readText, type Side } from '../text/diff.tsx'
import { formLink, type NewPlace, NewThread, placeIn } from './comment-form.tsx'
import { plural } from './dates.tsx'
import { readQuotes } from './quotes.ts'
import { readReplaced } from './suggesting.ts'
import { type Comment, type Talk, type Thread, viewLink } from './talk.ts'
import { Quoted, ThreadView } from './thread.tsx'

/** Threads of each state on a page. */
const most = { open: 200, resolved: 100 } as const

export interface ThreadsShown {
  readonly threads: readonly Thread[]
  readonly open: number
  readonly resolved: number
  /** Open threads that are skipped. */
  readonly offset: number
  /** The old lines of outdated threads, by first comment. */
  readonly quotes: ReadonlyMap<number, string>
  /** The current text of the lines for which the visitor suggests another. */
  readonly original: string | undefined
}

/** Reads the threads that have an anchor. Outdated ones come with their old lines. */
export async function readThreads(talk: Pick<Talk, 'visit' | 'at' | 'pr' | 'suggesting'>): Promise<ThreadsShown> {
  const { visit, at, pr } = talk
  const path = { ...at.path, number: pr.number }
  const sent = visit.query.get('threads') ?? ''
  const offset = /^\d{1,5}$/.test(sent) ? Number(sent) : 0
  const [open, resolved] = await Promise.all([
    visit.api.listThreads({ path, query: { state: 'open', limit: most.open, offset } }),
    visit.api.listThreads({ path, query: { state: 'resolved', limit: most.resolved } }),
  ])
  const threads = [...open.threads, ...resolved.threads].filter(({ comments }) => comments[0]?.anchor)
  const outdated = threads.filter(({ is_outdated }) => is_outdated).flatMap(({ comments }) => comments[0] ?? [])
  const quotes = await readQuotes(visit.api, at.path, outdated)
  await readReplaced(talk, threads)
  return { threads, open: open.total, resolved: resolved.total, offset, quotes, original: await readOriginal(talk) }
}

/** Reads the lines of the form that suggests a text. */
async function readOriginal({ visit, at, pr }: Pick<Talk, 'visit' | 'at' | 'pr'>): Promise<string | undefined> {
  const place = placeIn(visit.query)
  if (!place?.suggests || place.first === undefined || place.last === undefined) return undefined
  const text = await readText(visit.api, at.path, pr.source_commit, place.path).catch(() => undefined)
  const lines = text?.split(/\r?\n/).slice(place.first - 1, place.last)
  return lines?.join('\n')
}

/** Returns the comments that the view shows. */
export function commentsIn({ threads }: ThreadsShown): Comment[] {
  return threads.flatMap(({ comments }) => comments)
}

interface ChangesProps {
  readonly talk: Talk
  readonly files: readonly FileChange[]
  /** The files that differ, with those that are not shown. */
  readonly total: number
  readonly shown: ThreadsShown
  /** False if the versions that are compared are not those of the proposal. */
  readonly canComment?: boolean
}

export function ChangesView({ talk, files, total, shown, canComment = true }: ChangesProps) {
  const place = canComment ? placeIn(talk.visit.query) : undefined
  const notes = new Notes(talk, files, shown, place)
  return (
    <>
      <FileDiffs files={files} notesOf={(file) => notes.of(file, canComment)} />
      {total > files.length && <p class="why">and {plural(total - files.length, 'more file')}</p>}
      {notes.elsewhere()}
      {canComment && (
        <template data-new>
          <NewThread talk={talk} place={{ path: '', side: 'head', first: 1, last: 1 }} isTemplate />
        </template>
      )}
      <MoreThreads talk={talk} shown={shown} />
    </>
  )
}

/** Sorts threads and the form of a new one into files. */
class Notes {
  readonly #talk: Talk
  readonly #shown: ThreadsShown
  readonly #place: NewPlace | undefined
  readonly #paths: ReadonlySet<string>

  constructor(talk: Talk, files: readonly FileChange[], shown: ThreadsShown, place: NewPlace | undefined) {
    this.#talk = talk
    this.#shown = shown
    this.#place = place
    this.#paths = new Set(files.map(({ path }) => path))
  }

  of({ path, before, after }: FileChange, canComment: boolean): FileNotes {
    const lines = { head: countLines(after), base: countLines(before) }
    const below = new Map<string, VNode[]>()
    const above: VNode[] = []
    const put = (side: Side, line: number | undefined, note: VNode) => {
      const key = line === undefined || lines[side] === 0 ? undefined : lineKey(side, Math.min(line, lines[side]))
      if (key === undefined) above.push(note)
      else below.set(key, [...(below.get(key) ?? []), note])
    }
    const here = this.#shown.threads.filter((thread) => pathOf(thread) === path)
    for (const thread of here) {
      const { place, is_outdated } = thread
      if (is_outdated || place === undefined) continue
      const side = place.commit === this.#talk.base && place.commit !== this.#talk.pr.source_commit ? 'base' : 'head'
      put(side, lastLine(place), this.#thread(thread))
    }
    const place = this.#place
    if (place?.path === path) put(place.side, place.last, this.#form(place))
    const outdated = here.filter(({ is_outdated }) => is_outdated)
    const { query } = this.#talk.visit
    return {
      below,
      above,
      ...(canComment && {
        hrefOf: (side: Side, line: number) => formLink(query, path, side, line),
        links: (
          <a href={formLink(query, path, before === undefined || after !== undefined ? 'head' : 'base')}>
            Comment on file
          </a>
        ),
      }),
      end: outdated.length > 0 && this.#outdated(outdated),
    }
  }

  /** Threads, and the form, on files that are not among the changes. */
  elsewhere(): ComponentChildren {
    const threads = this.#shown.threads.filter((thread) => !this.#paths.has(pathOf(thread)))
    const paths = new Set(threads.map(pathOf))
    const place = this.#place
    if (place && !this.#paths.has(place.path)) paths.add(place.path)
    return [...paths].map((path) => (
      <section class="card">
        <header>
          <h2>{path}</h2>
          <span class="r">not changed here</span>
        </header>
        {threads.filter((thread) => pathOf(thread) === path).map((thread) => this.#thread(thread, true))}
        {place?.path === path && this.#form(place)}
      </section>
    ))
  }

  #form(place: NewPlace): VNode {
    return <NewThread talk={this.#talk} place={place} original={this.#shown.original} />
  }

  #outdated(threads: readonly Thread[]) {
    return (
      <details class="outdated" open={threads.some(({ is_resolved }) => !is_resolved)}>
        <summary>{plural(threads.length, 'comment')} on text that was since changed</summary>
        {threads.map((thread) => this.#thread(thread))}
      </details>
    )
  }

  #thread(thread: Thread, isElsewhere = false) {
    const { comments, num_comments, is_outdated, thread: entry, place } = thread
    const quote = comments[0]?.anchor?.quote?.exact
    return (
      <ThreadView
        talk={this.#talk}
        comments={comments}
        count={num_comments}
        about={
          <>
            {place?.pointer !== undefined && (
              <p class="about">
                About <span class="ref">{place.pointer || '/'}</span>
              </p>
            )}
            {isElsewhere && place?.first_line !== undefined && <p class="about">Line {place.first_line}</p>}
            <Quoted text={is_outdated ? this.#shown.quotes.get(entry) : quote} />
          </>
        }
      />
    )
  }
}

/** Returns the path where a thread is shown. An outdated one may have only its old path. */
function pathOf({ place, near, comments }: Thread): string {
  return place?.path ?? near?.path ?? comments[0]?.anchor?.path ?? ''
}

function lastLine({ first_line, num_lines = 1 }: NonNullable<Thread['place']>): number | undefined {
  return first_line === undefined ? undefined : first_line + num_lines - 1
}

function countLines(text = ''): number {
  return text.split('\n').length - (text.endsWith('\n') || text === '' ? 1 : 0)
}

function MoreThreads({
  talk,
  shown: { open, resolved, offset },
}: {
  readonly talk: Talk
  readonly shown: ThreadsShown
}) {
  const { query } = talk.visit
  const link = (from: number, text: string) => (
    <a class="btn" href={viewLink(query, { threads: String(from) })}>
      {text}
    </a>
  )
  return (
    <>
      {(open > most.open || offset > 0) && (
        <p class="acts">
          {offset > 0 && link(Math.max(0, offset - most.open), 'Earlier threads')}
          {offset + most.open < open && link(offset + most.open, plural(open - offset - most.open, 'more open thread'))}
        </p>
      )}
      {resolved > most.resolved && (
        <p class="why">
          <a href="?tab=conversation">The conversation</a> has all {resolved} resolved threads.
        </p>
      )}
    </>
  )
}
