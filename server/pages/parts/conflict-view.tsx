/** The edit-conflict view: their version, yours and the common base. */

import type { Source } from '../edits.ts'
import { FileDiff } from '../text/diff.tsx'
import { merge3 } from '../text/passages.ts'
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
}

export function readConflict(start: Source, theirs: Source, yours: Written): Conflict {
  const title = yours.title === start.title ? theirs.title : yours.title
  const merged = merge3(start.text, theirs.text, yours.text)
  const isTitleTaken = theirs.title !== start.title && title !== theirs.title
  const next = { ...yours, title, text: merged ?? yours.text }
  return { start, theirs, yours, next, isMerged: merged !== undefined && !isTitleTaken }
}

export function ConflictView({ ways }: { readonly ways: Conflict }) {
  const { start, theirs, yours, isMerged } = ways
  const title = (one: string) => (one === start.title ? '' : ` · title: ${one}`)
  const sides = [
    { path: `Their changes${title(theirs.title)}`, before: start.text, after: theirs.text },
    { path: `Your changes${title(yours.title)}`, before: start.text, after: yours.text },
  ]
  const effort = newEffort()
  return (
    <section id="ways" class="ways" tabIndex={-1} aria-labelledby="ways-title">
      <h2 id="ways-title">This page has changed since you opened it</h2>
      <p>
        {isMerged
          ? 'You changed different lines, so the text above now contains both changes. Check it, then save.'
          : 'The changes overlap, or there are too many to merge. The text above is yours, unchanged. Copy what you need from their version, then save.'}
      </p>
      <div class="ways-sides">
        {sides.map((side) => (
          <FileDiff file={{ ...side, kind: 'modified' }} effort={effort} />
        ))}
      </div>
      <Whole title="Their version" text={theirs.text} data-theirs />
      <Whole title="Your version, as you sent it" text={yours.text} />
      <Whole title="The version you both started from" text={start.text} />
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
