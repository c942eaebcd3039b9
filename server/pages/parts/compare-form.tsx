/** Forms that choose two versions: by name, or in a list of commits. */

import type { Urls } from '../urls.ts'
import { Field } from './forms.tsx'

/** Maximum length of the name of a version, as in the API. */
export const longestRevision = 200

/** The name of a version, and why there is no such version. */
interface Named {
  readonly name: string
  readonly says?: string
}

interface CompareFormProps {
  readonly urls: Urls
  readonly org: string
  readonly node: string
  readonly older: Named
  readonly newer: Named
}

export function CompareForm({ urls, org, node, older, newer }: CompareFormProps) {
  const fields = [
    { name: 'from', label: 'From', ...{ value: older.name, says: older.says } },
    { name: 'to', label: 'To', ...{ value: newer.name, says: newer.says } },
  ]
  return (
    <form class="fields compare-form" action={urls.compare(org, node)}>
      {fields.map(({ name, label, value, says }) => (
        <Field label={label} name={name} trouble={says === undefined ? undefined : { field: name, says }}>
          {(tied) => (
            <input
              {...tied}
              value={value}
              placeholder="Branch, tag or commit"
              required
              autocomplete="off"
              spellcheck={false}
            />
          )}
        </Field>
      ))}
      <p class="compare-acts">
        <button class="btn go" type="submit">
          Compare
        </button>
        {older.name !== '' && newer.name !== '' && (
          <a class="btn" href={urls.compare(org, node, newer.name, older.name)}>
            Swap
          </a>
        )}
      </p>
    </form>
  )
}

interface PickProps {
  readonly id: string
  /** The first line of the message. */
  readonly title: string
  /** The versions that are chosen first. */
  readonly first: Pair
}

/** The ids of two commits. */
export interface Pair {
  readonly from: string
  readonly to: string
}

/** The buttons that choose a commit as one of two versions. */
export function PickVersion({ id, title, first }: PickProps) {
  return (
    <span class="version-choice">
      {(['from', 'to'] as const).map((side) => (
        <label>
          <input
            type="radio"
            name={side}
            value={id}
            checked={first[side] === id}
            aria-label={`Compare ${side}: ${title}, ${id.slice(0, 8)}`}
          />
        </label>
      ))}
    </span>
  )
}

/** The headings of the two columns. */
export function PickHead() {
  return (
    <span class="version-choice" aria-hidden="true">
      <span>From</span>
      <span>To</span>
    </span>
  )
}
