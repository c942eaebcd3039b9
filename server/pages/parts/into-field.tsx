/** The choice of the proposal that a change joins. The newest own draft is chosen before. */

import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { plural } from './dates.tsx'

interface Props {
  readonly org: Pick<AnswerOf<'getOrg'>, 'draft_change_sets'>
  /** The form as it was sent. */
  readonly sent: URLSearchParams
  /** The words for no proposal, which is then the default. */
  readonly alone?: string
}

export function IntoField({ org, sent, alone }: Props) {
  const [draft] = alone === undefined ? (org.draft_change_sets ?? []) : []
  const chosen = sent.get('into') ?? `${draft?.number ?? ''}`
  const name = 'Name of the new proposal'
  const option = (value: string, says: string) => (
    <option value={value} selected={chosen === value}>
      {says}
    </option>
  )
  return (
    <span class="into">
      <select name="into" aria-label="Proposal">
        {option('', alone ?? 'As its own proposal')}
        {(org.draft_change_sets ?? []).map(({ number, title, num_items }) =>
          option(`${number}`, `Add to: “${excerpt(title)}” (${plural(num_items, 'page')})`),
        )}
        {option('new', 'Add to a new one')}
      </select>
      <input
        {...{ name: 'into_title', value: sent.get('into_title') ?? '', maxLength: limits.title, autocomplete: 'off' }}
        {...{ 'aria-label': name, placeholder: name }}
      />
    </span>
  )
}
