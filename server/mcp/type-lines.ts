/** Writes a type as lines of JSON: fields, connections, parents, and an example. */

import type { Output } from '../../spec/client/api.ts'
import { readDefinition, type TypeDefinition } from '../domain/types/definition.ts'
import { exampleOf } from '../domain/types/example.ts'
import { asItem, brief } from './quoted.ts'
import { shortened } from './read-filter.ts'
import { sourceOfType } from './session.ts'

type NodeType = Output<'listTypes'>['types'][number]
type Schema = NonNullable<TypeDefinition['schema']>

const shownName = 64
const shownLabel = 100
const shownDescription = 200
const shownChoices = 20
const shownChoice = 60
const shownPattern = 200
/** Characters of the JSON of an example, if it has optional fields. */
const exampleChars = 1_000

/** Lengths of the shorter forms of a type, in characters. */
const shorter = [16_000, 8_000, 4_000, 2_000, 1_000] as const

/** Writes a type on lines. The forms that follow the first one are shorter, and say so. */
export function typeForms(orgId: string, type: NodeType): [string, ...string[]] {
  const read = readDefinition(type.definition)
  const head = headLine(type, 'definition' in read ? read.definition : undefined)
  const source = sourceOfType(orgId, brief(type.name, shownName))
  if (!('definition' in read))
    return [`${head}\n${asItem({ left_out: `the definition; read the resource ${source}` })}`]
  const lines = [
    ...fieldLines(read.definition.schema ?? {}),
    ...edgeLines(read.definition),
    exampleLine(type.name, read),
  ]
  const whole = [head, ...lines].join('\n')
  const forms = shorter.filter((most) => most < whole.length).map((most) => cut(head, lines, most, source))
  return [whole, ...forms]
}

/** Writes at least the head, and the lines that fit into `most` characters. */
function cut(head: string, lines: readonly string[], most: number, source: string): string {
  const restOf = (count: number) =>
    asItem({ left_out: `${count} of ${lines.length} lines; call list_types with this type, or read ${source}` })
  let text = head
  let count = 0
  for (const line of lines) {
    if (text.length + line.length + restOf(lines.length).length + 2 > most) break
    text += `\n${line}`
    count++
  }
  return `${text}\n${restOf(lines.length - count)}`
}

function headLine({ name, num_nodes: nodes }: NodeType, definition: TypeDefinition | undefined): string {
  const { title = '', aliases = [], enforcement = 'advisory', schema, other_connections } = definition ?? {}
  return asItem({
    type: brief(name, shownName),
    title: brief(title, shownLabel),
    aliases: aliases.length === 0 ? undefined : aliases.slice(0, 3).map((alias) => brief(alias, shownName)),
    enforcement: definition && enforcement,
    nodes,
    other_properties: schema?.additionalProperties === false ? false : undefined,
    other_connections: other_connections === false ? false : undefined,
  })
}

/** One line a field, also for those within objects. */
function fieldLines({ properties = {}, required = [] }: Schema, path: readonly string[] = []): string[] {
  return Object.entries(properties).flatMap(([name, inner]) => {
    const names = [...path, name]
    const fields = inner.properties ? inner : inner.items?.properties ? inner.items : {}
    return [fieldLine(names, inner, required.includes(name)), ...fieldLines(fields, names)]
  })
}

function fieldLine(names: readonly string[], schema: Schema, isRequired: boolean): string {
  const { description, deprecated } = schema as { readonly description?: string; readonly deprecated?: boolean }
  const field = names.join('.')
  const filter = filterName(names)
  const { values, ranges, pattern } = limitsOf(schema)
  return asItem({
    field,
    kind: kindOf(schema),
    required: isRequired || undefined,
    choices: values.length === 0 ? undefined : values.slice(0, shownChoices).map(shownValue),
    more_choices: values.length > shownChoices ? values.length - shownChoices : undefined,
    range: ranges.length === 0 ? undefined : ranges.join('; '),
    pattern: pattern === undefined ? undefined : brief(pattern, shownPattern),
    label: schema.title === undefined ? undefined : brief(schema.title, shownLabel),
    description: description === undefined ? undefined : brief(description, shownDescription),
    deprecated: deprecated || undefined,
    where: filter === field ? undefined : filter,
  })
}

function shownValue(value: unknown): unknown {
  return typeof value === 'string' ? brief(value, shownChoice) : shortened(value)
}

const formatKinds = { date: 'date', 'date-time': 'date and time', uri: 'URI', email: 'e-mail address' } as const
const typeKinds = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  array: 'list',
  object: 'object',
  null: 'null',
} as const

/** Names the kind of values, such as `list of date` or `text or null`. */
function kindOf({ type, format, items }: Schema): string {
  if (type === undefined) return format ? formatKinds[format] : 'any'
  const kinds = [type].flat().map((one) => {
    if (one === 'array' && items) return `list of ${kindOf(items)}`
    return one === 'string' && format ? formatKinds[format] : typeKinds[one]
  })
  return kinds.join(' or ')
}

interface Limits {
  readonly values: readonly unknown[]
  readonly ranges: readonly string[]
  readonly pattern: string | undefined
}

/** The limits of a field, or of the items of a list. */
function limitsOf(schema: Schema): Limits {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, items } = schema
  const inner = items && limitsOf(items)
  const ranges = [
    rangeOf(minimum, maximum),
    exclusiveMinimum === undefined ? '' : `above ${exclusiveMinimum}`,
    exclusiveMaximum === undefined ? '' : `below ${exclusiveMaximum}`,
    multipleOf === undefined ? '' : `multiples of ${multipleOf}`,
    rangeOf(schema.minLength, schema.maxLength, ' characters'),
    rangeOf(schema.minItems, schema.maxItems, ' items'),
    schema.uniqueItems ? 'items differ' : '',
    ...(inner?.ranges ?? []).map((range) => `each ${range}`),
  ]
  return {
    values: schema.enum ?? (schema.const === undefined ? (inner?.values ?? []) : [schema.const]),
    ranges: ranges.filter((range) => range !== ''),
    pattern: schema.pattern ?? inner?.pattern,
  }
}

function rangeOf(least: number | undefined, most: number | undefined, unit = ''): string {
  if (least === undefined) return most === undefined ? '' : `at most ${most}${unit}`
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`
}

/** Names of every node, which a filter reads before properties. */
const nodeFields = /^(?:type|title|tags?|id|created(?:_at)?|updated(?:_at)?|parent|under)$/

/** Writes the path of a field as filters take it. Names with signs or spaces have quotes. */
function filterName(names: readonly string[]): string {
  const words = names.map((name) =>
    /^[\p{L}\p{N}_][^\s()",:=!<>~.]*$/u.test(name) && name !== 'OR' ? name : `"${name.replaceAll('"', '""')}"`,
  )
  return names.length === 1 && nodeFields.test(names[0] ?? '') ? `.${words[0]}` : words.join('.')
}

function edgeLines({ connections = {}, parents }: TypeDefinition): string[] {
  const lines = Object.entries(connections).map(([connection, { title, inverse, to, min, max }]) =>
    asItem({
      connection,
      to: to ?? 'any type',
      ...countsOf(min, max),
      label: title === undefined ? undefined : brief(title, shownLabel),
      inverse: inverse === undefined ? undefined : brief(inverse, shownLabel),
    }),
  )
  if (parents) lines.push(asItem({ parents: parents.types ?? 'any type', ...countsOf(parents.min, parents.max) }))
  return lines
}

function countsOf(least: number | undefined, most: number | undefined): object {
  const range = rangeOf(least, most)
  return range === '' ? {} : { number: range }
}

function exampleLine(name: string, { definition }: { readonly definition: TypeDefinition }): string {
  const { properties, lacks } = exampleOf(name, definition.schema ?? {}, exampleChars)
  return asItem({
    example: { properties },
    example_lacks: lacks.length === 0 ? undefined : lacks.map((field) => brief(field, shownName)),
  })
}
