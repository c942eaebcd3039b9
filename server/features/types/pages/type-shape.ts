/** Reads JSON that a form brings back as the definition of a type. The API checks what it means. */

import type { Json, TypeDefinition } from './type-fields.ts'

type Holds = (value: unknown) => boolean

/** Reads a definition that a form can show. Undefined if a member has the wrong form. */
export function shapedDefinition(text: string): TypeDefinition | undefined {
  try {
    const json: unknown = JSON.parse(text)
    return isDefinition(json) ? (json as TypeDefinition) : undefined
  } catch {
    return undefined
  }
}

const isText: Holds = (value) => typeof value === 'string'
const isNumber: Holds = (value) => typeof value === 'number'
const isObject: Holds = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const areTexts: Holds = (value) => Array.isArray(value) && value.every(isText)

const edges = { to: areTexts, types: areTexts, min: isNumber, max: isNumber, title: isText, inverse: isText }
const isEdgeRule = members(edges)
const isDefinition = members({
  ...{ title: isText, plural: isText, enforcement: isText, aliases: areTexts, columns: areTexts, parents: isEdgeRule },
  schema: members({ properties: valuesOf(isObject), required: areTexts }),
  connections: valuesOf(isEdgeRule),
  template: members({ text_content: isText, tags: areTexts, properties: isObject }),
})

/** True for an object whose members, if it has them, hold these. */
function members(checks: Readonly<Record<string, Holds>>): Holds {
  return (value) =>
    isObject(value) &&
    Object.entries(checks).every(([name, holds]) => !Object.hasOwn(value as Json, name) || holds((value as Json)[name]))
}

function valuesOf(holds: Holds): Holds {
  return (value) => isObject(value) && Object.values(value as Json).every(holds)
}
