/** The choice of the proposal that a change joins. Without it, the change gets its own. */

import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { plural } from './dates.tsx'

interface Props {
  readonly org: Pick<AnswerOf<'getOrg'>, 'draft_change_sets'>
  /** The form as it was sent. */
  readonly sent: URLSearchParams
  readonly label?: string
  /** The words for no other proposal. */
  readonly alone?: string
}

export function IntoField({ org, sent, label = 'Propose', alone = 'as its own proposal' }: Props) {
  const chosen = sent.get('into') ?? ''
  const option = (value: string, says: string) => (
    <option value={value} selected={chosen === value}>
      {says}
    </option>
  )
  return (
    <div class="into">
      <label>
        {label}
        <select name="into">
          {option('', alone)}
          {(org.draft_change_sets ?? []).map(({ number, title, num_items }) =>
            option(`${number}`, `add to: “${excerpt(title)}” (${plural(num_items, 'page')})`),
          )}
          {option('new', 'add to a new one')}
        </select>
      </label>
      <label class="into-title">
        Name of the new proposal
        <input
          {...{ name: 'into_title', value: sent.get('into_title') ?? '', maxLength: limits.title, autocomplete: 'off' }}
        />
      </label>
    </div>
  )
}
