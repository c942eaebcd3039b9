/** The content that a new node of a type begins with. It is written once, and never added when content is read. */

import { isRecord } from '../format/json-text.ts'
import type { TypeDefinition } from './definition.ts'
import type { Schema } from './vocabulary.ts'

/** The fields of a new node that a template can fill in. */
export interface NewContent {
  readonly text_content?: string
  readonly tags?: readonly string[]
  readonly properties?: Readonly<Record<string, unknown>>
}

/**
 * Fills in absent fields: first from the template, then with the defaults of the schema. Null is a value. A property that is an object also gets the defaults of its fields.
 */
export function fillIn(
  { template = {}, schema = {} }: Pick<TypeDefinition, 'template' | 'schema'>,
  content: NewContent,
): NewContent {
  const { properties, ...others } = template
  const own = content.properties ?? {}
  const added = Object.entries(properties ?? {}).filter(([name]) => !Object.hasOwn(own, name))
  const filled = withDefaults(schema, withFields(own, added))
  const isEmpty = content.properties === undefined && Object.keys(filled).length === 0
  const given = Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined))
  return { ...structuredClone(others), ...given, ...(!isEmpty && { properties: filled }) }
}

function withDefaults(schema: Schema, value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const added: [string, unknown][] = []
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    if (!Object.hasOwn(value, name)) {
      if (Object.hasOwn(inner, 'default')) added.push([name, inner.default])
    } else if (inner.properties && isRecord(value[name])) added.push([name, withDefaults(inner, value[name])])
  }
  return withFields(value, added)
}

/** Returns a copy with further fields, or other values of fields. Any name is an own one, also `__proto__`. */
function withFields(value: Readonly<Record<string, unknown>>, fields: readonly (readonly [string, unknown])[]) {
  return Object.fromEntries([
    ...Object.entries(value),
    ...fields.map(([name, one]) => [name, structuredClone(one)] as const),
  ])
}
