/** Makes an example of properties that a definition accepts. */

import { checkProperties, checkValue, newPatternWork } from './checker.ts'
import type { Schema } from './vocabulary.ts'

/** An example of the properties of a node. */
export interface Example {
  readonly properties: Readonly<Record<string, unknown>>
  /** Required fields without a known value. A pattern without `examples` makes one. */
  readonly lacks: readonly string[]
}

/** The most values that are tried for one example, those in lists and objects included. */
const mostValues = 2_000
/** The most items of a list, and characters of a text, that are made up. */
const mostItems = 20
const mostChars = 200

const textOf = {
  date: '2026-12-31',
  'date-time': '2026-12-31T18:00:00Z',
  uri: 'https://example.org/',
  email: 'ann@example.org',
} as const

/**
 * Makes an example of the type `name`. Values come from `const`, `examples`, `default` and `enum`, or are made up. Each
 * value is checked. Optional fields are left out if the example would have more than `chars` characters as JSON.
 */
export function exampleOf(name: string, schema: Schema, chars: number): Example {
  const maker = new Maker()
  const { properties = {}, required = [] } = schema
  const fields = Object.entries(properties).filter(([field]) => field !== 'type')
  const values = new Map<string, unknown>([['type', name]])
  const lacks = checkType(name, schema) ? [] : ['type']
  for (const [field, inner] of fields.filter(([field]) => required.includes(field))) {
    const value = maker.valueOf(inner)
    if (value === undefined) lacks.push(field)
    else values.set(field, value)
  }
  let length = JSON.stringify(Object.fromEntries(values)).length
  for (const [field, inner] of fields.filter(([field]) => !required.includes(field))) {
    const value = isDeprecated(inner) ? undefined : maker.valueOf(inner)
    if (value === undefined) continue
    length += JSON.stringify({ [field]: value }).length
    if (length > chars) break
    values.set(field, value)
  }
  const inOrder = ['type', ...fields.map(([field]) => field)].filter((field) => values.has(field))
  return { properties: Object.fromEntries(inOrder.map((field) => [field, values.get(field)])), lacks }
}

/** True if the schema lets the property `type` have the name of the type. */
function checkType(name: string, { properties = {} }: Schema): boolean {
  const type = Object.hasOwn(properties, 'type') ? properties.type : undefined
  let holds = true
  if (type)
    checkProperties({ properties: { type } }, { type: name }, () => {
      holds = false
    })
  return holds
}

function isDeprecated(schema: Schema): boolean {
  return (schema as { readonly deprecated?: unknown }).deprecated === true
}

class Maker {
  private left = mostValues
  private readonly work = newPatternWork()

  /** Returns a value that the schema accepts. Undefined if none was found. */
  valueOf(schema: Schema): unknown {
    for (const value of this.candidates(schema)) {
      if (this.left-- <= 0) return undefined
      if (value !== undefined && this.isAccepted(schema, value)) return value
    }
    return undefined
  }

  private isAccepted(schema: Schema, value: unknown): boolean {
    let holds = true
    checkValue(schema, value, [], this.work, () => {
      holds = false
    })
    return holds
  }

  /** Yields values that the schema may accept, the most telling first. Null is the last one. */
  private *candidates(schema: Schema): Generator<unknown> {
    const { examples = [] } = schema as { readonly examples?: readonly unknown[] }
    const given = [schema.const, ...examples, schema.default, ...(schema.enum ?? [])]
    yield* given.filter((value) => value !== null)
    const kind = [schema.type ?? 'string'].flat().find((one) => one !== 'null')
    if (kind === 'boolean') yield* [true, false]
    else if (kind === 'integer' || kind === 'number') yield* numbers(schema, kind === 'integer')
    else if (kind === 'array') yield this.list(schema)
    else if (kind === 'object') yield this.object(schema)
    else yield* texts(schema)
    yield null
  }

  private list({ items = {}, minItems = 0, maxItems = Infinity, uniqueItems = false }: Schema): unknown {
    const count = Math.min(Math.max(minItems, 1), maxItems)
    if (count > mostItems) return undefined
    if (uniqueItems) {
      const found = this.distinct(items, count)
      return found.length < minItems ? undefined : found
    }
    const item = this.valueOf(items)
    if (item === undefined) return minItems > 0 ? undefined : []
    return Array.from({ length: count }, () => item)
  }

  /** Returns up to `count` different values. */
  private distinct(schema: Schema, count: number): unknown[] {
    const found = new Set<unknown>()
    for (const value of this.candidates(schema)) {
      if (found.size >= count || this.left-- <= 0) break
      if (value !== undefined && value !== null && this.isAccepted(schema, value)) found.add(value)
    }
    return [...found]
  }

  private object({ properties = {}, required = [] }: Schema): unknown {
    const pairs: [string, unknown][] = []
    for (const [name, inner] of Object.entries(properties)) {
      const value = this.valueOf(inner)
      if (value !== undefined) pairs.push([name, value])
      else if (required.includes(name)) return undefined
    }
    return Object.fromEntries(pairs)
  }
}

/** Yields texts of the format, or of a length between the limits. Several differ, for lists. */
function* texts({ format, minLength = 0, maxLength = Infinity }: Schema): Generator<string> {
  if (format) yield textOf[format]
  const fitted = (text: string) => text.padEnd(Math.min(minLength, mostChars), 'x')
  yield fitted('text').slice(0, maxLength)
  // The ends of these differ.
  for (let n = 2; maxLength > 0 && n <= mostItems; n++) yield fitted(`text ${n}`).slice(-maxLength)
}

/** Yields numbers near 1 and near the limits. */
function* numbers(schema: Schema, isWhole: boolean): Generator<number> {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity, exclusiveMaximum = Infinity } = schema
  const [low, high] = [Math.max(minimum, exclusiveMinimum), Math.min(maximum, exclusiveMaximum)]
  const step = schema.multipleOf ?? 1
  const first = Math.max(step, Math.ceil(low / step) * step)
  for (let n = 0; n <= mostItems; n++) yield first + n * step
  const last = Math.min(0, Math.floor(high / step) * step)
  for (let n = 0; n <= mostItems; n++) yield last - n * step
  if (!isWhole) yield* [(low + high) / 2, low, high].filter(Number.isFinite)
}
