/** Generates requests that break the spec in one place, from the spec itself. */

import { type Schema, schemaOf } from '../../server/http/contract/schemas.ts'

export type { Schema }

type Steps = readonly (string | number)[]

/** A value at `at` that is wrong at `loc`. `loc` is the same place, or a field of it. */
export interface Wrong {
  readonly what: string
  readonly at: Steps
  readonly value: unknown
  readonly loc: Steps
}

/** Resolves the references of a schema. Takes the first of several alternatives. */
export function resolved(given: Schema): Schema {
  const schema = schemaOf(given)
  return schema.anyOf === undefined ? schema : { ...resolved(schema.anyOf[0] ?? {}), anyOf: schema.anyOf }
}

/** Lists wrong JSON values of a schema, including wrong nested values. Each has one fault. */
export function wrongValues(given: Schema, at: Steps = [], optional = false): Wrong[] {
  const schema = resolved(given)
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  const wrong = (what: string, value: unknown, loc: Steps = at): Wrong => ({ what, at, value, loc })
  const takesNull = optional || types.includes('null') || schema.anyOf !== undefined
  const found = takesNull ? [] : [wrong('null', null)]
  if (types.includes('string')) found.push(...wrongTexts(schema).map(([what, value]) => wrong(what, value)))
  if (types.includes('integer')) found.push(...wrongNumbers(schema).map(([what, value]) => wrong(what, value)))
  if (types.includes('boolean')) found.push(wrong('a text', 'yes'), wrong('a number', 1), wrong('a list', []))
  if (types.includes('array')) {
    found.push(wrong('a text', 'a'), wrong('an object', {}), wrong('a number', 5))
    const { items = {}, maxItems } = schema
    if (maxItems !== undefined)
      found.push(
        wrong(
          'too many',
          Array.from({ length: maxItems + 1 }, (_, n) => `${n}`),
        ),
      )
    found.push(...wrongValues(items, [...at, 0]))
  }
  if (schema.properties !== undefined) {
    found.push(wrong('a text', 'a'), wrong('a list', []), wrong('a number', 5))
    for (const name of schema.required ?? [])
      found.push({ what: 'nothing', at: [...at, name], value: undefined, loc: [...at, name] })
    for (const [name, member] of Object.entries(schema.properties)) {
      found.push(...wrongValues(member, [...at, name], !schema.required?.includes(name)))
    }
    if (schema.additionalProperties === false)
      found.push({ what: 'unknown', at: [...at, 'no_such_member'], value: 1, loc: [...at, 'no_such_member'] })
  }
  return found
}

function wrongTexts({ minLength = 0, maxLength, enum: values, format, pattern = '' }: Schema): [string, unknown][] {
  const found: [string, unknown][] = [
    ['a number', 5],
    ...(values?.includes(true) ? [] : [['a boolean', true] as [string, unknown]]),
    ['a list', []],
    ['an object', {}],
    ['half a character', 'a\ud800'],
  ]
  if (minLength > 0) found.push(['too short', ''])
  if (maxLength !== undefined && maxLength < 100_000) found.push(['too long', 'x'.repeat(maxLength + 1)])
  if (values !== undefined) found.push(['out of the set', 'no such value'])
  if (format === 'uuid' || format === 'date-time' || format === 'email') found.push([`no ${format}`, 'no such thing'])
  if (pattern.includes('\\x00'))
    found.push(['NUL', 'a\0b'], ['an escape', 'a\u001b[31m'], ['a control of Unicode', 'a\u009bb'])
  if (!new RegExp(pattern, 'u').test('-/-')) found.push(['against the pattern', '-/-'])
  return found
}

function wrongNumbers({ minimum, maximum }: Schema): [string, unknown][] {
  const found: [string, unknown][] = [
    ['a text', '5'],
    ['a fraction', 1.5],
    ['a boolean', true],
    ['a list', []],
  ]
  if (minimum !== undefined) found.push(['too small', minimum - 1])
  if (maximum !== undefined) found.push(['too large', maximum + 1])
  return found
}

/** Lists wrong values of a parameter. */
export function wrongParameters(given: Schema): string[] {
  const { type, format, enum: values, minimum, maximum } = resolved(given)
  if (type === 'integer') {
    const beyond = [minimum === undefined ? [] : [minimum - 1], maximum === undefined ? [] : [maximum + 1]].flat()
    return ['x', '1.5', '1e2', '0x10', '%00', ...beyond.filter(Number.isSafeInteger).map(String)]
  }
  if (format === 'uuid')
    return ['x', '%00', 'org', '01980a5e7c417d028c1b5e2f7a9b4c02', 'urn:uuid:01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02']
  if (values !== undefined) return ['x', 'OPEN', '%00']
  return []
}

/** Copies the value with the objects that `steps` leads through. A missing one gets strings as its required fields. */
export function withObjects(value: unknown, given: Schema, [step, ...rest]: Steps): unknown {
  const { properties, required = [] } = resolved(given)
  if (typeof step !== 'string' || properties === undefined) return value
  const object = (value ?? Object.fromEntries(required.map((name) => [name, 'x']))) as Record<string, unknown> // its schema says so
  const inner = properties[step]
  return inner === undefined || rest.length === 0
    ? object
    : { ...object, [step]: withObjects(object[step], inner, rest) }
}

/** Copies the value with another one at `steps`. Makes values that are missing on the way. */
export function withValue(value: unknown, [step, ...rest]: Steps, other: unknown): unknown {
  if (step === undefined) return other
  if (typeof step === 'number') {
    const list = Array.isArray(value) ? [...value] : []
    list[step] = withValue(list[step], rest, other)
    return list
  }
  const object = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  return { ...object, [step]: withValue((object as Record<string, unknown>)[step], rest, other) }
}
