/**
 * The words of a schema. They are the part of JSON Schema 2020-12 that a form can show. JSON Schema ignores words that it does not know. Here they are refused, because they may be misspelt.
 */

import type { FormatName } from './formats.ts'
import { didYouMean } from './wording.ts'

export const dialect = 'https://json-schema.org/draft/2020-12/schema'

export const typeNames = ['string', 'integer', 'number', 'boolean', 'array', 'object'] as const
type TypeName = (typeof typeNames)[number]

export type Scalar = string | number | boolean | null

/** A schema that was read. Annotations and words of users, `x-…`, are kept but have no effect. */
export type Schema = {
  /** One type, also in a list with `null`. Absent: any. */
  readonly type?: TypeName | readonly (TypeName | 'null')[]
  readonly title?: string
  readonly default?: unknown
  readonly enum?: readonly Scalar[]
  readonly const?: Scalar
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: FormatName
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
}

/** The form of a keyword's value. The reader of schemas checks those that are not named here. */
type Form = 'text' | 'boolean' | 'number' | 'count' | 'list' | 'any' | 'schema'

interface Keyword {
  readonly form: Form
  /** The types of values that the keyword is for. Absent: all. */
  readonly types?: readonly TypeName[]
}

const text: readonly TypeName[] = ['string']
const numbers: readonly TypeName[] = ['number', 'integer']
const array: readonly TypeName[] = ['array']
const object: readonly TypeName[] = ['object']

export const keywords: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ['$schema', { form: 'schema' }],
  ['$comment', { form: 'text' }],
  ['type', { form: 'schema' }],
  ['title', { form: 'text' }],
  ['description', { form: 'text' }],
  ['default', { form: 'any' }],
  ['examples', { form: 'list' }],
  ['deprecated', { form: 'boolean' }],
  ['enum', { form: 'schema' }],
  ['const', { form: 'schema' }],
  ['properties', { form: 'schema', types: object }],
  ['required', { form: 'schema', types: object }],
  ['additionalProperties', { form: 'boolean', types: object }],
  ['items', { form: 'schema', types: array }],
  ['minItems', { form: 'count', types: array }],
  ['maxItems', { form: 'count', types: array }],
  ['uniqueItems', { form: 'boolean', types: array }],
  ['minLength', { form: 'count', types: text }],
  ['maxLength', { form: 'count', types: text }],
  ['pattern', { form: 'schema', types: text }],
  ['format', { form: 'schema', types: text }],
  ['minimum', { form: 'number', types: numbers }],
  ['maximum', { form: 'number', types: numbers }],
  ['exclusiveMinimum', { form: 'number', types: numbers }],
  ['exclusiveMaximum', { form: 'number', types: numbers }],
  ['multipleOf', { form: 'schema', types: numbers }],
])

/** Other keywords of JSON Schema. No form shows them, or no bound holds for them. */
const leftOut: ReadonlySet<string> = new Set([
  ...['$id', '$anchor', '$ref', '$defs', 'definitions', '$dynamicRef', '$dynamicAnchor', '$vocabulary'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependentRequired'],
  ...['patternProperties', 'propertyNames', 'minProperties', 'maxProperties', 'prefixItems', 'contains'],
  ...['minContains', 'maxContains', 'unevaluatedItems', 'unevaluatedProperties', 'readOnly', 'writeOnly'],
  ...['contentEncoding', 'contentMediaType', 'contentSchema'],
])

/** True for words of users, which have no effect. */
export function isOwnWord(name: string): boolean {
  return name.startsWith('x-')
}

/** Explains why a name is not a keyword, after its place. */
export function unknownKeyword(name: string): string {
  if (leftOut.has(name)) return 'is not supported: the schema of a type has only keywords that a form can show'
  return `is not a keyword${didYouMean(name, [...keywords.keys()])}`
}

/** Words for the types of values. */
const typeWords: Readonly<Record<TypeName | 'null', string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
}

/** Names the types of values that a schema allows, such as `a whole number or null`. */
export function typePhrase(type: NonNullable<Schema['type']>): string {
  return [type]
    .flat()
    .map((one) => typeWords[one as TypeName | 'null'])
    .join(' or ')
}

/** True if the value has one of the types. A number without a fraction is whole, also as 1.0. */
export function hasType(value: unknown, type: NonNullable<Schema['type']>): boolean {
  return typeof type === 'string' ? isOfType(value, type) : type.some((one) => isOfType(value, one))
}

function isOfType(value: unknown, type: TypeName | 'null'): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'null':
      return value === null
    case 'integer':
      return Number.isInteger(value)
    case 'number':
      return Number.isFinite(value)
    default:
      return typeof value === type
  }
}
