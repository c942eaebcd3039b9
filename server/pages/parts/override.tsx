/** Merging in spite of rules: the form for it, and its record. */

import { overriddenOf } from '../../base/consent-words.ts'
import type { PageContext } from '../page-context.ts'
import { Hidden, TextArea } from './comment-form.tsx'
import { When } from './dates.tsx'
import { type Pull, viewLink } from './talk.ts'
import { Name } from './thread.tsx'

interface FormProps {
  readonly visit: PageContext
  /** The state that was shown, so that no other is merged. */
  readonly fields: Readonly<Record<string, string>>
  readonly reasons: readonly string[]
}

/** Asks for the reason before it merges. */
export function OverrideForm({ visit, fields, reasons }: FormProps) {
  return (
    <details class="override">
      <summary>Merge anyway…</summary>
      <form method="post" action={viewLink(visit.query)} data-talk="override">
        <Hidden fields={fields} />
        <p>
          As an owner, you can merge in spite of: {overriddenOf(reasons)}. The proposal then shows this, with your name
          and your reason.
        </p>
        <TextArea label="Why the rules are overridden" rows={3} isRequired />
        <button class="btn stop" type="submit" name="act" value="override">
          Merge anyway
        </button>
      </form>
    </details>
  )
}

/** Says what was overridden, by whom and why. */
export function Overridden({ overridden }: { readonly overridden: NonNullable<Pull['overridden']> }) {
  const { by, at, reason, reasons } = overridden
  return (
    <p class="overridden">
      Merged in spite of: {overriddenOf(reasons)}, by <Name>{by.name}</Name>, <When time={at} />:{' '}
      <q>
        <bdi>{reason}</bdi>
      </q>
    </p>
  )
}
