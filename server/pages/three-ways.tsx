/** What a person sees whose text was overtaken: what others wrote since, what they wrote themselves, and where both began. */

import { applyPatch, structuredPatch } from 'diff'
import { FileDiff } from './diff.tsx'
import type { Written } from './editor-form.tsx'
import type { Source } from './edits.ts'

/** Lines that may differ before merging is left to the person. */
const mostEdits = 2_000

export interface ThreeWays {
  readonly start: Source
  readonly theirs: Source
  readonly yours: Written
  /** Both together; undefined where they changed the same lines. */
  readonly both: Written | undefined
}

export function threeWays(start: Source, theirs: Source, yours: Written): ThreeWays {
  const title = yours.title === start.title ? theirs.title : yours.title
  const text = mergedText(start.text, theirs.text, yours.text)
  const isTitleTaken = theirs.title !== start.title && title !== theirs.title
  const both = text === undefined || isTitleTaken ? undefined : { ...yours, title, text }
  return { start, theirs, yours, both }
}

function mergedText(start: string, theirs: string, yours: string): string | undefined {
  if (start === theirs || theirs === yours) return yours
  const patch = structuredPatch('', '', start, yours, '', '', { context: 3, maxEditLength: mostEdits })
  const merged = patch && applyPatch(theirs, patch, { autoConvertLineEndings: false })
  return merged === false ? undefined : merged
}

export function ThreeWaysView({ ways: { start, theirs, yours, both } }: { readonly ways: ThreeWays }) {
  const title = (one: string) => (one === start.title ? '' : ` · title: ${one}`)
  const sides = [
    { path: `What others changed${title(theirs.title)}`, before: start.text, after: theirs.text },
    { path: `What you changed${title(yours.title)}`, before: start.text, after: yours.text },
  ]
  return (
    <section id="ways" class="ways" tabIndex={-1} aria-labelledby="ways-title">
      <h2 id="ways-title">Others have changed it meanwhile</h2>
      <p>
        {both
          ? 'You changed other lines than they did, so the text above now has both. Read it, then save.'
          : 'You both changed the same place. The text above is yours, letter by letter; take over what they wrote, then save.'}
      </p>
      <div class="ways-sides">
        {sides.map((side) => (
          <FileDiff file={{ ...side, kind: 'modified' }} />
        ))}
      </div>
      <Whole title="Their text" text={theirs.text} data-theirs />
      <Whole title="Your text, as you sent it" text={yours.text} />
      <Whole title="Where both began" text={start.text} />
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
