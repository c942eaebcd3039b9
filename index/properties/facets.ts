/** Counts how many of the marked nodes have each value of a property or field. */

import type { Scalar, Subject } from './filter.ts'
import type { PropertyTable } from './table.ts'
import { compareValues, KIND, shownText, type Value } from './values.ts'

export interface FacetQuestion {
  readonly subject: Subject
  /** The most values that are listed. */
  readonly limit: number
}

export interface Facet {
  /** The most frequent first. Values with the same number are in their order. */
  readonly values: { readonly value: Scalar; readonly count: number }[]
  /** The nodes without a value. */
  readonly missing: number
  /** The distinct values that are not listed. */
  readonly more: number
}

export function facetOf(table: PropertyTable, mask: Uint8Array, { subject, limit }: FacetQuestion): Facet {
  const [column] = table.columnsOf([subject])
  const { counts, missing } = column?.count(mask) ?? { counts: [], missing: 0 }
  const scalars = counts.flatMap(({ value, count }) => {
    const scalar = scalarIn(value)
    return scalar === undefined ? [] : [{ scalar, value, count }]
  })
  const listed = scalars.sort((a, b) => b.count - a.count || compareAll(a.value, b.value)).slice(0, limit)
  return {
    values: listed.map(({ scalar, count }) => ({ value: scalar, count })),
    missing,
    more: scalars.length - listed.length,
  }
}

function scalarIn({ kind, order, text }: Value): Scalar | undefined {
  if (kind === KIND.boolean) return order === 1
  if (kind === KIND.number) return order
  return kind === KIND.object ? undefined : shownText(text)
}

/** Orders all values. Texts that differ only in case go by their characters. */
function compareAll(one: Value, other: Value): number {
  return compareValues(one, other) || (one.text < other.text ? -1 : 1)
}
