/** A field above a list that shows only the items with some words. Works without script. */

import type { ComponentChildren } from 'preact'

interface FilterFormProps {
  /** The list without a filter. */
  readonly action: string
  readonly label: string
  readonly words: string
  readonly maxLength: number
  /** Further controls in the same line. */
  readonly children?: ComponentChildren
}

export function FilterForm({ action, label, words, maxLength, children }: FilterFormProps) {
  return (
    <form class="filter" action={action}>
      <label class="vh" for="filter">
        {label}
      </label>
      <input
        id="filter"
        type="search"
        name="filter"
        value={words}
        placeholder={label}
        maxLength={maxLength}
        autocomplete="off"
      />
      <button class="btn" type="submit">
        Filter
      </button>
      {words !== '' && (
        <a class="btn quiet" href={action}>
          Show all
        </a>
      )}
      {children}
    </form>
  )
}
