/** Normalises request values by the spec before validation. */

import type { Problem } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { isRecord } from '../../domain/format/json-text.ts'
import { canonicalId } from '../../domain/layout.ts'
import { type Schema, schemaOf, typesOf } from './schemas.ts'
import { extra, inputOf, tooManyItems } from './validation-errors.ts'

type Steps = readonly (string | number)[]

/**
 * Normalises a value. Lowercases UUIDs, removes null if it means absent, and removes unknown fields of objects that
 * ignore them. Values without a schema are not changed.
 */
export function normalizeInput(given: Schema, value: unknown): unknown {
  const schema = schemaOf(given)
  if (typeof value === 'string') return isId(schema) ? canonicalId(value) : value
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? value : value.map((item) => normalizeInput(items, item))
  }
  const object = objectIn(schema)
  if (!isRecord(value) || object === undefined) return value
  const { properties, required = [], additionalProperties } = object
  const names = Object.keys(additionalProperties === undefined ? properties : value)
  const read: [string, unknown][] = []
  for (const name of names) {
    if (!Object.hasOwn(value, name)) continue
    const member = Object.hasOwn(properties, name) ? properties[name] : undefined
    const inner = value[name]
    if (member === undefined) read.push([name, inner])
    else if (inner !== null || required.includes(name) || keepsNull(member))
      read.push([name, normalizeInput(member, inner)])
  }
  return Object.fromEntries(read)
}

/**
 * Finds problems that the validator must not search for. The validator would report every single item and field, or
 * overflow its stack on a long text. Also finds
 * strings that are not valid Unicode, which neither UTF-8 nor SQL can store. Values without a schema are stored as
 * JSON, which can hold such strings.
 */
export function precheck(schema: Schema, body: unknown): Problem[] {
  const found = { problems: [], unknown: [] }
  look(schema, body, ['body'], found)
  return found.unknown.length < limits.problems ? found.problems : found.unknown
}

interface Found {
  readonly problems: Problem[]
  /** Unknown fields of a closed object. If there are only a few, the validator reports them. */
  readonly unknown: Problem[]
}

function look(given: Schema, value: unknown, loc: Steps, found: Found): void {
  if (found.unknown.length >= limits.problems || found.problems.length >= limits.problems) return
  const schema = schemaOf(given)
  if (typeof value === 'string') {
    if (typesOf(schema).includes('string')) lookAtText(schema, value, loc, found)
  } else if (Array.isArray(value)) {
    const { items, maxItems = Number.POSITIVE_INFINITY } = schema
    if (value.length > maxItems) found.problems.push({ loc, ...tooManyItems(maxItems) })
    else if (items !== undefined) for (const [at, item] of value.entries()) look(items, item, [...loc, at], found)
  } else if (isRecord(value)) {
    const object = objectIn(schema)
    if (object !== undefined) lookAtMembers(object, value, loc, found)
  }
}

function lookAtText(schema: Schema, text: string, loc: Steps, found: Found): void {
  if (/\p{Surrogate}/u.test(text)) {
    found.problems.push({
      loc,
      msg: 'The string has an unpaired surrogate, which is not valid Unicode',
      type: 'value_error',
    })
    return
  }
  const { pattern } = schema
  if (pattern === undefined || !isLongText(schema) || matchesInSlices(pattern, text)) return
  const msg = schema['x-pattern-message'] ?? `String should match pattern '${pattern}'`
  found.problems.push({ loc, msg, type: 'string_pattern_mismatch', ctx: { pattern } })
}

function lookAtMembers(
  { properties, additionalProperties }: ObjectSchema,
  value: Record<string, unknown>,
  loc: Steps,
  found: Found,
): void {
  for (const [name, member] of Object.entries(properties)) {
    if (Object.hasOwn(value, name)) look(member, value[name], [...loc, name], found)
  }
  if (additionalProperties !== false) return
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(properties, name)) continue
    if (found.unknown.length >= limits.problems) return
    found.unknown.push({ loc: [...loc, name], ...extra, ...inputOf(value[name]) })
  }
}

type ObjectSchema = Schema & Required<Pick<Schema, 'properties'>>

/** The schema that has properties: the given one, or its first alternative. */
function objectIn(schema: Schema): ObjectSchema | undefined {
  if (hasProperties(schema)) return schema
  const { oneOf, anyOf } = schema
  for (const alternative of oneOf ?? anyOf ?? []) {
    const found = objectIn(schemaOf(alternative))
    if (found !== undefined) return found
  }
  return undefined
}

function hasProperties(schema: Schema): schema is ObjectSchema {
  return schema.properties !== undefined
}

function isId({ format, 'x-any-id': anyId }: Schema): boolean {
  return format === 'uuid' || anyId === true
}

function keepsNull(given: Schema): boolean {
  const schema = schemaOf(given)
  return schema['x-null-is-a-value'] === true || typesOf(schema).length === 0
}

/** UTF-16 units matched at a time. */
const sliceLength = 65_536

/** True if the schema accepts strings that are too long for the validator to match. */
export function isLongText({ type, maxLength = 0 }: Pick<Schema, 'type' | 'maxLength'>): boolean {
  return type === 'string' && maxLength > 1_048_576
}

/**
 * Matches a string slice by slice. One regular expression overflows its stack at millions of characters. This is
 * correct only for patterns `^[…]*$`, which test each character on its own.
 */
function matchesInSlices(pattern: string, text: string): boolean {
  const expression = new RegExp(pattern, 'u')
  for (let at = 0; at < text.length; at += sliceLength) {
    if (!expression.test(text.slice(at, at + sliceLength))) return false
  }
  return true
}
