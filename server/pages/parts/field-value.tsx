/** A value of a field, shown by the kind of the field. */

import { kindOf } from '../field-kinds.ts'
import type { FieldSchema } from '../text/type-labels.ts'
import { dayOf, When } from './dates.tsx'
import { type LinkOf, Value } from './property-list.tsx'

/** Items of a list that are shown. */
const mostItems = 50

interface ValueProps {
  readonly schema: FieldSchema
  readonly value: unknown
  /** Absent where links stay text. */
  readonly linkOf?: LinkOf | undefined
}

/** Shows a value of another kind as that of any other property. */
export function FieldValue({ schema, value, linkOf }: ValueProps) {
  const inner = schema.items
  if (Array.isArray(value) && inner !== undefined && value.length > 1 && value.every(isText)) {
    return (
      <ul class="items">
        {value.slice(0, mostItems).map((item) => (
          <li>
            <Single {...{ linkOf }} schema={inner} value={item} />
          </li>
        ))}
        {value.length > mostItems && <li>and {(value.length - mostItems).toLocaleString('en')} more</li>}
      </ul>
    )
  }
  if (Array.isArray(value) && value.length === 1 && inner !== undefined)
    return <Single {...{ linkOf }} schema={inner} value={value[0]} />
  return <Single {...{ schema, value, linkOf }} />
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function Single({ schema, value, linkOf }: ValueProps) {
  const kind = kindOf(schema)?.name
  if (typeof value !== 'string') return <Value {...{ value, linkOf }} />
  if (kind === 'date' && isDay(value))
    return (
      <time datetime={value} title={value}>
        {dayOf(value)}
      </time>
    )
  if (kind === 'date-time' && isInstant(value)) return <When time={value} as="day" />
  if (kind === 'email' && /^[^\s@<>"?&]+@[^\s@<>"?&]+$/.test(value))
    return (
      <a href={`mailto:${value}`}>
        <bdi>{value}</bdi>
      </a>
    )
  return <Value {...{ value, linkOf }} />
}

/** True for a day that exists. */
function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && isInstant(text) && new Date(text).toISOString().startsWith(text)
}

function isInstant(text: string): boolean {
  return /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))
}
