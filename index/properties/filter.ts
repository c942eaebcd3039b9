/** Filters of nodes by properties, fields and connections. Reads their JSON form. */

import * as limits from '../limits.ts'

export type Scalar = boolean | number | string

const operators = [
  'eq',
  'ne',
  'in',
  'not_in',
  'lt',
  'le',
  'gt',
  'ge',
  'is',
  'starts_with',
  'contains',
  'exists',
] as const

export type Operator = (typeof operators)[number]

const fields = ['type', 'title', 'tag', 'id', 'created_at', 'updated_at', 'parent', 'under'] as const

export type Field = (typeof fields)[number]

/** The subject of a condition. A path has at least two names. */
export type Subject =
  | { readonly property: string | readonly string[] }
  | { readonly field: Field }
  | { readonly connection: string }

/** `is` takes one value or several. `in` and `not_in` take several, `exists` a boolean, and the others one. */
export type Condition = Subject & { readonly op: Operator; readonly value: Scalar | readonly Scalar[] }

/** Two-valued: a condition is true or false of a node, and `not` flips it. Missing values make a condition false. */
export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | Condition

/** Names of a path. */
export const mostNames = 4

type Place = readonly (string | number)[]

/** A filter that cannot be used. */
export class FilterError extends Error {
  override readonly name = 'FilterError'
  readonly code: 'filter_syntax' | 'filter_too_large'
  /** The names and numbers that lead to the fault in a JSON form. */
  readonly place: Place
  /** The position of the fault in a text form. */
  readonly at: number | undefined

  constructor(
    code: FilterError['code'],
    message: string,
    where: { readonly place?: Place; readonly at?: number } = {},
  ) {
    super(message)
    this.code = code
    this.place = where.place ?? []
    this.at = where.at
  }
}

/** Reads a filter from JSON. @throws FilterError */
export function readFilter(json: unknown): Filter {
  const filter = readAt(json, [], 0)
  checkSize(filter)
  return filter
}

/** Checks the number of conditions. @throws FilterError filter_too_large */
export function checkSize(filter: Filter): void {
  const count = conditionsOf(filter).length
  if (count <= limits.filterConditions) return
  throw tooLarge(`A filter has at most ${limits.filterConditions} conditions, and this one has ${count}`)
}

/** Lists the conditions of a filter in their order. */
export function conditionsOf(filter: Filter): Condition[] {
  if ('all' in filter) return filter.all.flatMap(conditionsOf)
  if ('any' in filter) return filter.any.flatMap(conditionsOf)
  return 'not' in filter ? conditionsOf(filter.not) : [filter]
}

function readAt(json: unknown, place: Place, level: number): Filter {
  if (!isRecord(json)) throw wrong('A filter is a JSON object', place)
  const [name, ...others] = Object.keys(json).filter((key) => key === 'all' || key === 'any' || key === 'not')
  if (name === undefined) return readCondition(json, place)
  if (others.length > 0 || Object.keys(json).length > 1)
    throw wrong(`\`${name}\` is the only member of its object; put what is beside it into its list`, place)
  if (level >= limits.filterLevels)
    throw tooLarge(`\`all\`, \`any\` and \`not\` have at most ${limits.filterLevels} levels`, place)
  const within = json[name]
  if (name === 'not') return { not: readAt(within, [...place, name], level + 1) }
  if (!Array.isArray(within)) throw wrong(`\`${name}\` takes a list of filters`, [...place, name])
  if (within.length > limits.filterConditions)
    throw tooLarge(`\`${name}\` has at most ${limits.filterConditions} filters`, [...place, name])
  const filters = within.map((one, n) => readAt(one, [...place, name, n], level + 1))
  return name === 'all' ? { all: filters } : { any: filters }
}

function readCondition(json: Record<string, unknown>, place: Place): Condition {
  const unknown = Object.keys(json).find((key) => !['property', 'field', 'connection', 'op', 'value'].includes(key))
  if (unknown !== undefined)
    throw wrong('A condition has `property`, `field` or `connection`, and `op` and `value`', [...place, unknown])
  const op = operators.find((one) => one === json.op)
  if (op === undefined) throw wrong(`\`op\` is one of ${operators.join(', ')}`, [...place, 'op'])
  const subject = readSubject(json, place)
  checkOperator(subject, op, [...place, 'op'])
  return { ...subject, op, value: readValue(op, json.value, [...place, 'value']) }
}

function readSubject(json: Record<string, unknown>, place: Place): Subject {
  const { property, field, connection } = json
  if ([property, field, connection].filter((one) => one !== undefined).length !== 1)
    throw wrong('A condition has exactly one of `property`, `field` and `connection`', place)
  if (connection !== undefined) return { connection: readName(connection, [...place, 'connection']) }
  if (field !== undefined) {
    const known = fields.find((one) => one === field)
    if (known === undefined) throw wrong(`\`field\` is one of ${fields.join(', ')}`, [...place, 'field'])
    return { field: known }
  }
  const at = [...place, 'property']
  if (!Array.isArray(property)) return { property: readName(property, at) }
  if (property.length < 2 || property.length > mostNames) throw wrong(`A path has 2 to ${mostNames} names`, at)
  return { property: property.map((name, n) => readName(name, [...at, n])) }
}

function readName(json: unknown, place: Place): string {
  if (typeof json !== 'string' || json === '') throw wrong('A name is a text that is not empty', place)
  if (isTooLong(json)) throw tooLarge(`A name has at most ${limits.countedCharacters} characters`, place)
  return json
}

const edgeFields: readonly Field[] = ['parent', 'under']

function checkOperator(subject: Subject, op: Operator, place: Place): void {
  if ('connection' in subject && !['eq', 'in', 'exists'].includes(op))
    throw wrong('A connection takes `eq`, `in` and `exists`', place)
  if ('field' in subject && edgeFields.includes(subject.field) && op !== 'eq')
    throw wrong(`\`${subject.field}\` takes \`eq\` with the id of a node`, place)
}

function readValue(op: Operator, json: unknown, place: Place): Condition['value'] {
  if (op === 'exists') {
    if (typeof json !== 'boolean') throw wrong('`exists` takes true or false', place)
    return json
  }
  if ((op === 'starts_with' || op === 'contains') && typeof json !== 'string')
    throw wrong(`\`${op}\` takes a text`, place)
  const takesList = op === 'in' || op === 'not_in'
  if (!Array.isArray(json)) {
    if (takesList) throw wrong(`\`${op}\` takes a list of values`, place)
    return readScalar(json, place)
  }
  if (!takesList && op !== 'is') throw wrong(`\`${op}\` takes one value, not a list`, place)
  if (json.length > limits.filterValues) throw tooLarge(`A list has at most ${limits.filterValues} values`, place)
  return json.map((value, n) => readScalar(value, [...place, n]))
}

function readScalar(json: unknown, place: Place): Scalar {
  if (typeof json === 'string' && isTooLong(json))
    throw tooLarge(`A value has at most ${limits.countedCharacters} characters`, place)
  if (typeof json === 'string' || typeof json === 'number' || typeof json === 'boolean') return json
  throw wrong('A value is a text, a number, true or false', place)
}

/** Counts characters as JSON Schema does. */
export function isTooLong(text: string): boolean {
  return text.length > limits.countedCharacters && Array.from(text).length > limits.countedCharacters
}

function isRecord(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

function wrong(message: string, place: Place): FilterError {
  return new FilterError('filter_syntax', message, { place })
}

function tooLarge(message: string, place: Place = []): FilterError {
  return new FilterError('filter_too_large', message, { place })
}
