/** The edit-conflict view: their version, yours and the common base. */

import type { Source } from '../edits.ts'
import { FileDiff } from '../text/diff.tsx'
import { merge3 } from '../text/merge3.ts'
import { newEffort } from '../text/word-diff.ts'
import type { Written } from './editor-form.tsx'

export interface Conflict {
  readonly start: Source
  readonly theirs: Source
  readonly yours: Written
  /** The content of the form from here. */
  readonly next: Written
  /** True if `next` contains the changes of both. */
  readonly isMerged: boolean
  /** The number of the proposal that `yours` comes from; undefined: from a form. */
  readonly proposal?: number
}

/** The words for both sides: of an edit, or of a proposal and main. */
function wordsOf(proposal: number | undefined) {
  if (proposal === undefined)
    return {
      heading: 'This page has changed since you opened it',
      merged: 'You changed different lines, so the text above now contains both changes. Check it, then save.',
      overlapping:
        'The changes overlap, or there are too many to merge. The text above is yours, unchanged. Copy what you need from their version, then save.',
      changes: ['Their changes', 'Your changes'],
      versions: ['Their version', 'Your version, as you sent it', 'The version you both started from'],
    } as const
  return {
    heading: `This page has changed since proposal #${proposal} began`,
    merged: 'The changes are on different lines, so the text above contains both. Check it, then propose it.',
    overlapping:
      'The changes overlap, or there are too many to merge. The text above is that of the proposal. Copy what you need from the current page, then propose it.',
    changes: ['Changes of the page', `Changes of proposal #${proposal}`],
    versions: ['The current page', `The text of proposal #${proposal}`, 'The version where the proposal began'],
  } as const
}

export function readConflict(start: Source, theirs: Source, yours: Written): Conflict {
  const title = yours.title === start.title ? theirs.title : yours.title
  const merged = merge3(start.text, theirs.text, yours.text)
  const isTitleTaken = theirs.title !== start.title && title !== theirs.title
  const next = { ...yours, title, text: merged ?? yours.text }
  return { start, theirs, yours, next, isMerged: merged !== undefined && !isTitleTaken }
}

export function ConflictView({ ways }: { readonly ways: Conflict }) {
  const { start, theirs, yours, isMerged, proposal } = ways
  const words = wordsOf(proposal)
  const title = (one: string) => (one === start.title ? '' : ` · title: ${one}`)
  const sides = [
    { path: `${words.changes[0]}${title(theirs.title)}`, before: start.text, after: theirs.text },
    { path: `${words.changes[1]}${title(yours.title)}`, before: start.text, after: yours.text },
  ]
  const effort = newEffort()
  return (
    <section id="ways" class="ways" tabIndex={-1} aria-labelledby="ways-title">
      <h2 id="ways-title">{words.heading}</h2>
      <p>{isMerged ? words.merged : words.overlapping}</p>
      <div class="ways-sides">
        {sides.map((side) => (
          <FileDiff file={{ ...side, kind: 'modified' }} effort={effort} />
        ))}
      </div>
      <Whole title={words.versions[0]} text={theirs.text} data-theirs />
      <Whole title={words.versions[1]} text={yours.text} />
      <Whole title={words.versions[2]} text={start.text} />
    </section>
  )
}

interface WholeProps {
  readonly title: string
  readonly text: string
  readonly 'data-theirs'?: boolean
}

function Whole({ title, text, ...data }: WholeProps) {
  return (
    <details class="whole">
      <summary>{title}</summary>
      <pre {...data}>{`\n${text}`}</pre>
    </details>
  )
}
