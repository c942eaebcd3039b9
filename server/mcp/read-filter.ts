/** Sections that say how a filter was read, and what it counted. */

import type { Output } from '../../spec/client/api.ts'
import { list, type Section } from './answer.ts'
import { asItem, brief } from './quoted.ts'

/** Share of an answer for all facets. */
const facetsShare = 0.4
/** Characters of a value, as JSON. */
const shownValue = 300

type Read = Partial<Pick<Output<'queryNodes'>, 'conditions' | 'unknown' | 'facets'>>

/** Lists the conditions of a filter, unknown names, and facets. */
export function readAs({ conditions = [], unknown = {}, facets = [] }: Read): Section[] {
  const parts = [
    { of: 'conditions', items: conditions.map(({ text }) => asItem({ condition: text })) },
    {
      of: 'unknown properties',
      items: Object.entries(unknown).map(([name, nearest]) => asItem({ unknown: name, nearest: nearest ?? undefined })),
    },
    {
      of: 'facets',
      share: facetsShare,
      items: facets.map(({ property, field, values, missing, more }) =>
        asItem({
          facet: property ?? field,
          values: values.map(({ value, count }) => [shortened(value), count]),
          missing,
          more: more === 0 ? undefined : more,
        }),
      ),
    },
  ]
  return parts.filter(({ items }) => items.length > 0).map(list)
}

/** Returns a value, or the beginning of its JSON. */
export function shortened(value: unknown): unknown {
  if (typeof value === 'string') return brief(value, shownValue)
  const json = JSON.stringify(value)
  return json.length > shownValue ? brief(json, shownValue) : value
}
