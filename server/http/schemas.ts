/** JSON Schemas of the spec, with their references followed. */

import document from '../../spec/openapi.json' with { type: 'json' }

/** As much of a JSON Schema as requests are read by. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
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
  /** What breaks the pattern, in words. */
  readonly 'x-pattern-message'?: string
  /** An id whose form is not judged; a UUID in either case is the same. */
  readonly 'x-any-id'?: boolean
  /** Null is a value of its own, not absence. */
  readonly 'x-null-is-a-value'?: boolean
}

/** The object that a reference, or a chain of them, leads to. */
export function resolve<T extends object>(value: T): T {
  let target: unknown = value
  while (isReference(target)) {
    const names = target.$ref.slice(2).split('/')
    target = names.reduce<unknown>((place, name) => (place as Record<string, unknown>)[name], document) // lint checks that it leads somewhere
  }
  return target as T // the spec's lint says so
}

function isReference(value: unknown): value is { $ref: string } {
  return typeof value === 'object' && value !== null && '$ref' in value && typeof value.$ref === 'string'
}

/** Schemas that hold references, each with what they lead to. They are part of the document, so there are only so many. */
const merged = new WeakMap<Schema, Schema>()

/** The schema with what stands beside its references, which goes before what they lead to. */
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

/** The types that a value may have, those of all alternatives. */
export function typesOf(given: Schema): readonly string[] {
  const { type, oneOf, anyOf } = schemaOf(given)
  if (type !== undefined) return typeof type === 'string' ? [type] : type
  return (oneOf ?? anyOf ?? []).flatMap(typesOf)
}

/** The schema of a member; undefined for one that the schema does not name. */
export function memberOf(given: Schema, name: string | number): Schema | undefined {
  const { properties, items, oneOf, anyOf } = schemaOf(given)
  if (typeof name === 'number') return items ?? firstOf(oneOf ?? anyOf, name)
  if (properties !== undefined) return Object.hasOwn(properties, name) ? properties[name] : undefined
  return firstOf(oneOf ?? anyOf, name)
}

function firstOf(alternatives: readonly Schema[] | undefined, name: string | number): Schema | undefined {
  for (const alternative of alternatives ?? []) {
    const member = memberOf(alternative, name)
    if (member !== undefined) return member
  }
  return undefined
}

/** The schema that lies at these steps below another; `{}` where nothing is said of it. */
export function schemaAt(root: Schema, steps: readonly (string | number)[]): Schema {
  let schema: Schema | undefined = root
  for (const step of steps) schema = schema && memberOf(schema, step)
  return schema === undefined ? {} : schemaOf(schema)
}
