/** Reads the JSON Schemas of the spec and resolves references. */

import document from '../../../spec/openapi.json' with { type: 'json' }

/** The parts of JSON Schema that are used here. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  /** The message for a string that does not match the pattern. */
  readonly 'x-pattern-message'?: string
  /** An id of any form. UUIDs are compared case-insensitively. */
  readonly 'x-any-id'?: boolean
  /** True if null is a value and does not mean absent. */
  readonly 'x-null-is-a-value'?: boolean
}

/** Resolves a reference, or a chain of references, to its object. */
export function resolve<T extends object>(value: T): T {
  let target: unknown = value
  while (isReference(target)) {
    const names = target.$ref.slice(2).split('/')
    target = names.reduce<unknown>((place, name) => (place as Record<string, unknown>)[name], document) // lint checks references
  }
  return target as T // lint checks references
}

function isReference(value: unknown): value is { $ref: string } {
  return typeof value === 'object' && value !== null && '$ref' in value && typeof value.$ref === 'string'
}

/**
 * Resolved schemas, by the schema with the reference. Their number is limited, because the schemas are part of the
 * document.
 */
const merged = new WeakMap<Schema, Schema>()

/** The resolved schema. Keywords next to a reference override the referenced ones. */
export function schemaOf(given: Schema): Schema {
  const { $ref } = given
  if ($ref === undefined) return given
  const known = merged.get(given)
  if (known !== undefined) return known
  const { $ref: _, ...beside } = given
  const schema = { ...schemaOf(resolve<Schema>({ $ref })), ...beside }
  merged.set(given, schema)
  return schema
}

/** The types that a value may have, in all alternatives. */
export function typesOf(given: Schema): readonly string[] {
  const { type, oneOf, anyOf } = schemaOf(given)
  if (type !== undefined) return typeof type === 'string' ? [type] : type
  return (oneOf ?? anyOf ?? []).flatMap(typesOf)
}

/** The schema of a field or item; undefined if the schema does not name it. */
export function memberOf(given: Schema, name: string | number): Schema | undefined {
  const { properties, additionalProperties, items, oneOf, anyOf } = schemaOf(given)
  if (typeof name === 'number') return items ?? firstOf(oneOf ?? anyOf, name)
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name]
  if (typeof additionalProperties === 'object') return additionalProperties
  if (properties !== undefined) return undefined
  return firstOf(oneOf ?? anyOf, name)
}

function firstOf(alternatives: readonly Schema[] | undefined, name: string | number): Schema | undefined {
  for (const alternative of alternatives ?? []) {
    const member = memberOf(alternative, name)
    if (member !== undefined) return member
  }
  return undefined
}

/** The schema at these steps below another schema; `{}` if it is not defined. */
export function schemaAt(root: Schema, steps: readonly (string | number)[]): Schema {
  let schema: Schema | undefined = root
  for (const step of steps) schema = schema && memberOf(schema, step)
  return schema === undefined ? {} : schemaOf(schema)
}
