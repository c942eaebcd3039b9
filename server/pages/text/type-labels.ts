/** The fields and connections of a type by their names for people. */

import type { AnswerOf } from '../../http/in-process.ts'
import { columnText, type TableColumn } from './property-names.ts'

type Definition = AnswerOf<'getType'>['definition']
type TypeProblem = AnswerOf<'getNode'>['type_problems'][number]

/** The parts of a schema that pages read. The service has checked the whole schema. */
export type FieldSchema = {
  readonly default?: unknown
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
  readonly items?: FieldSchema
}

export interface TypeField {
  readonly name: string
  /** The name for people. */
  readonly label: string
  readonly schema: FieldSchema
  readonly isRequired: boolean
}

export interface TypeConnection {
  /** The type of the connection. */
  readonly name: string
  readonly label: string
  readonly rule: NonNullable<Definition['connections']>[string]
}

/** Returns the fields of a type in the order of its schema. The type itself is not one. */
export function fieldsOf({ schema = {} }: Pick<Definition, 'schema'>): TypeField[] {
  const { properties = {}, required = [] } = schema as FieldSchema // the service has checked it
  return Object.entries(properties)
    .filter(([name]) => name !== 'type')
    .map(([name, one]) => ({ name, label: one.title ?? name, schema: one, isRequired: required.includes(name) }))
}

/** Returns the connections that a type names. */
export function connectionsOf({ connections = {} }: Pick<Definition, 'connections'>): TypeConnection[] {
  return Object.entries(connections).map(([name, rule]) => ({
    ...{ name, rule },
    label: rule.title ?? connectionWords(name),
  }))
}

/** Returns the type of a connection as words. */
export function connectionWords(type: string): string {
  return type.replaceAll('_', ' ')
}

/** Returns the label of a column; undefined if the type does not name it. */
export function labelOfColumn(definition: Definition, column: TableColumn): string | undefined {
  if ('field' in column) return undefined
  if ('connection' in column) return connectionsOf(definition).find(({ name }) => name === column.connection)?.label
  return labelOfPath(definition, column.property)
}

/** Returns the label at the end of a path. Undefined if the schema does not have it. */
function labelOfPath({ schema = {} }: Pick<Definition, 'schema'>, path: readonly string[]): string | undefined {
  let inner: FieldSchema = schema as FieldSchema // the service has checked it
  for (const name of path) {
    while (inner.items) inner = inner.items
    const { properties = {} } = inner
    const next = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (next === undefined) return undefined
    inner = next
  }
  return inner.title ?? path.at(-1)
}

/** Returns the columns of a definition; undefined if it has none. */
export function columnTextsOf({ columns }: Pick<Definition, 'columns'>): string | undefined {
  return columns && columns.length > 0 ? columns.join(',') : undefined
}

/** A problem in words for people. */
export interface SaidProblem {
  /** The field or the connection that has the problem; undefined for the node itself. */
  readonly label: string | undefined
  readonly says: string
}

/** Words a problem. The label of its field replaces the place. */
export function sayProblem(definition: Definition | undefined, { msg, place, pointer }: TypeProblem): SaidProblem {
  const label = labelOfPlace(definition, place, pointer)
  if (label === undefined || !msg.startsWith(`${place} `)) return { label: undefined, says: msg }
  return { label, says: msg.slice(place.length + 1) }
}

/** Returns the field or the connection that a problem belongs to, such as `properties/serves`. */
export function keyOfProblem({ place, pointer }: Pick<TypeProblem, 'place' | 'pointer'>): string {
  if (pointer === undefined) return place.replace('.', '/')
  const [, head = '', name = ''] = pointer.split('/')
  return `${head}/${unescaped(name)}`
}

function labelOfPlace(
  definition: Definition | undefined,
  place: string,
  pointer: string | undefined,
): string | undefined {
  const [, head = '', rest = ''] = /^(\w+)\.?([\s\S]*)$/.exec(place) ?? []
  if (pointer === undefined) {
    if (head === 'parents') return 'Parents'
    const found = definition && connectionsOf(definition).find(({ name }) => name === rest)
    return head === 'connections' ? (found?.label ?? connectionWords(rest)) : undefined
  }
  const names = pointer.split('/').slice(2).map(unescaped)
  if (names.length === 0) return undefined
  const path = names.filter((name) => !/^\d+$/.test(name))
  const known = definition && path.length > 0 ? labelOfPath(definition, path.slice(0, 1)) : undefined
  const inner = names.length > 1 ? ` (${columnText({ property: names.slice(1) })})` : ''
  return `${known ?? names[0]}${inner}`
}

function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
