/**
 * Definitions of types: schema, connections, parents, and the content that a new node begins with. `types/<name>.json` in `org.git` has one. A definition that is read and written again is the same JSON.
 */

import { foldCase } from '../../../index/fold-case.ts'
import { FilterError } from '../../../index/properties/filter.ts'
import { parseSort } from '../../../index/properties/text-sort.ts'
import { exceededBound } from '../../base/json-bounds.ts'
import * as limits from '../../base/limits.ts'
import { parseJson } from '../format/json-text.ts'
import { asJson } from '../format/signatures.ts'
import { checkValue, newPatternWork } from './checker.ts'
import { type Fault, Faults } from './faults.ts'
import { readSchema } from './schema-reader.ts'
import type { Schema } from './vocabulary.ts'
import { counted, describe, didYouMean, quote, type Steps } from './wording.ts'

/**
 * A definition as JSON. Members that are absent have the defaults of the functions that use them. These are type aliases,
 * because an interface cannot be read as a record.
 */
export type TypeDefinition = {
  readonly title: string
  readonly plural?: string
  /** Further names of the type, compared without case. */
  readonly aliases?: readonly string[]
  /** `strict` refuses writes that break a rule. `advisory`, the default, lists what they break. */
  readonly enforcement?: Enforcement
  readonly schema?: Schema
  /** Rules for connections, by the type of the connection. */
  readonly connections?: Readonly<Record<string, ConnectionRule>>
  /** False: only the connections of `connections` are allowed. */
  readonly other_connections?: boolean
  readonly parents?: ParentRule
  readonly template?: Template
  /** Columns of a table: fields, paths such as `a.b`, and connections such as `->written_by`. */
  readonly columns?: readonly string[]
}

export type Enforcement = (typeof enforcements)[number]

export type ConnectionRule = {
  readonly title?: string
  /** The name of the connection at its target. */
  readonly inverse?: string
  /** The types of targets. Absent: all. */
  readonly to?: readonly string[]
  readonly min?: number
  readonly max?: number
}

export type ParentRule = {
  /** The types of parents. Absent: all. */
  readonly types?: readonly string[]
  readonly min?: number
  readonly max?: number
}

type Template = {
  readonly text_content?: string
  readonly tags?: readonly string[]
  readonly properties?: Readonly<Record<string, unknown>>
}

/** A definition, or the reasons why it cannot be used. */
export type DefinitionRead = { readonly definition: TypeDefinition } | { readonly faults: readonly Fault[] }

const enforcements = ['advisory', 'strict'] as const
const members = [
  ...['title', 'plural', 'aliases', 'enforcement', 'schema', 'connections', 'other_connections', 'parents', 'template'],
  'columns',
]
const typeName = /^[a-z][a-z0-9_-]{0,63}$/
const connectionName = /^[a-z][a-z0-9_]{0,63}$/
/** Levels of JSON: those of a schema, with room for values. */
const mostLevels = 50

/** True for a name that a type can have. */
export function isTypeName(name: string): boolean {
  return typeName.test(name)
}

/** Reads the text of a definition. */
export function parseDefinition(text: string): DefinitionRead {
  const bytes = Buffer.from(text)
  if (bytes.length > limits.typeBytes || exceededBound(bytes, { levels: mostLevels })) return tooLarge()
  const json = parseJson(text)
  return json === undefined ? withFault('must be JSON') : readDefinition(json)
}

/** Reads a definition from JSON that is not nested too deep for a recursive reader. */
export function readDefinition(json: unknown): DefinitionRead {
  const bytes = oneLine(json)
  if (bytes.length > limits.typeBytes || exceededBound(bytes, { levels: mostLevels })) return tooLarge()
  const faults = new Faults()
  const object = faults.object(json, [])
  if (object) readMembers(object, faults)
  return faults.list.length > 0 ? { faults: faults.list } : { definition: json as TypeDefinition }
}

/** Writes a definition as its file has it. It is on one line if it would otherwise be too large. */
export function definitionJson(definition: TypeDefinition): Buffer {
  const bytes = asJson(definition)
  return bytes.length <= limits.typeBytes ? bytes : oneLine(definition)
}

function oneLine(json: unknown): Buffer {
  return Buffer.from(JSON.stringify(json))
}

function tooLarge(): DefinitionRead {
  return withFault(`must have at most ${limits.typeBytes} bytes and ${mostLevels} levels as JSON on one line`)
}

function withFault(says: string): DefinitionRead {
  const faults = new Faults()
  faults.add([], says)
  return { faults: faults.list }
}

type Json = Readonly<Record<string, unknown>>

function readMembers(json: Json, faults: Faults): void {
  faults.checkNames(json, [], members)
  if (json.title === undefined) faults.add(['title'], 'is missing: it is the name of the type for people', 'missing')
  else faults.line(json.title, ['title'], 100)
  if (json.plural !== undefined) faults.line(json.plural, ['plural'], 100)
  if (json.aliases !== undefined) readAliases(json.aliases, faults)
  if (json.enforcement !== undefined) faults.choice(json.enforcement, ['enforcement'], enforcements)
  const schema = json.schema === undefined ? {} : readSchema(json.schema, ['schema'], faults)
  if (json.connections !== undefined) readConnections(json.connections, faults)
  if (json.other_connections !== undefined) faults.boolean(json.other_connections, ['other_connections'])
  if (json.parents !== undefined) readEdgeRule(json.parents, ['parents'], faults, 'types', [])
  if (json.template !== undefined) readTemplate(json.template, schema, faults)
  if (json.columns !== undefined) readColumns(json.columns, schema, json.connections, faults)
}

function readAliases(json: unknown, faults: Faults): void {
  const folded = new Set<string>()
  faults.items(json, ['aliases'], limits.typeAliases, (alias, place) => {
    const line = faults.line(alias, place, 64)
    if (line === undefined) return
    if (folded.has(foldCase(line))) faults.add(place, 'must differ from the other aliases not only in case')
    folded.add(foldCase(line))
  })
}

function readConnections(json: unknown, faults: Faults): undefined {
  const rules = faults.object(json, ['connections'])
  if (!rules) return
  const count = Object.keys(rules).length
  if (count > limits.typeConnections)
    return faults.add(
      ['connections'],
      `must have at most ${counted(limits.typeConnections, 'connection')}; it has ${count}`,
    )
  for (const [name, rule] of Object.entries(rules)) {
    const place = ['connections', name]
    if (!connectionName.test(name))
      faults.add(place, 'must have a name of 1 to 64 small letters, digits and `_`, which begins with a letter')
    else readEdgeRule(rule, place, faults, 'to', ['title', 'inverse'])
  }
}

/** Reads a rule for edges. @param types the member that lists the types of the other ends */
function readEdgeRule(json: unknown, place: Steps, faults: Faults, types: string, lines: readonly string[]): void {
  const rule = faults.object(json, place)
  if (!rule) return
  faults.checkNames(rule, place, [...lines, types, 'min', 'max'])
  for (const name of lines) if (rule[name] !== undefined) faults.line(rule[name], [...place, name], 100)
  if (rule[types] !== undefined)
    faults.items(rule[types], [...place, types], limits.typeTargets, (name, at) => {
      if (typeof name !== 'string' || !isTypeName(name))
        faults.wrong(at, 'be the name of a type, such as "recipe"', name)
    })
  const min = rule.min === undefined ? 0 : faults.count(rule.min, [...place, 'min'])
  const max = rule.max === undefined ? Infinity : faults.count(rule.max, [...place, 'max'])
  if (min !== undefined && max !== undefined && min > max)
    faults.add([...place, 'min'], `must not be above \`max\`, which is ${max}; it is ${min}`)
}

/** Reads a template. Its properties may lack required ones, which the user of the template fills in. */
function readTemplate(json: unknown, schema: Schema | undefined, faults: Faults): void {
  const template = faults.object(json, ['template'])
  if (!template) return
  faults.checkNames(template, ['template'], ['text_content', 'tags', 'properties'])
  const { text_content, tags, properties } = template
  const text = text_content === undefined ? '' : faults.text(text_content, ['template', 'text_content'])
  if (text !== undefined && /\p{Surrogate}/u.test(text))
    faults.add(['template', 'text_content'], 'has an unpaired surrogate, which UTF-8 cannot store')
  if (tags !== undefined)
    faults.items(tags, ['template', 'tags'], 100, (tag, place) => void faults.line(tag, place, 100))
  if (properties === undefined) return
  const place = ['template', 'properties']
  const values = faults.object(properties, place)
  if (!values || !schema) return
  if (Object.hasOwn(values, 'type')) faults.add([...place, 'type'], 'is not needed: a node has the type already')
  checkValue(schema, values, place, newPatternWork(), ({ steps, word }) => {
    const { msg, rule } = word()
    if (rule !== 'required') faults.put(msg, steps)
  })
}

function readColumns(json: unknown, schema: Schema | undefined, connections: unknown, faults: Faults): void {
  const names = typeof connections === 'object' && connections !== null ? Object.keys(connections) : []
  faults.items(json, ['columns'], limits.typeColumns, (column, place) => {
    if (typeof column !== 'string')
      return faults.wrong(place, 'be the name of a field, or `->` and a connection', column)
    if (column.startsWith('->')) {
      const name = column.slice(2)
      if (!names.includes(name))
        faults.add(place, `must name a connection of \`connections\`${didYouMean(name, names)}`)
      return
    }
    readColumn(column, place, schema, faults)
  })
}

function readColumn(column: string, place: Steps, schema: Schema | undefined, faults: Faults): undefined {
  const path = readPath(column)
  const unknown = schema && path && findUnknown(schema, path)
  if (path !== undefined && unknown === undefined) return
  const names = Object.keys(schema?.properties ?? {})
  if (names.includes(column))
    return faults.add(
      place,
      `must have this name in double quotes, because it has spaces or signs: \`"${column.replaceAll('"', '""')}"\``,
    )
  if (unknown)
    return faults.add(
      place,
      `must name a field of the schema; ${quote(unknown.name)} is not one${didYouMean(unknown.name, unknown.known)}`,
    )
  const must = 'be the name of a field, or a path such as `a.b`, with double quotes around a name with spaces: `"a b"`'
  faults.add(place, `must ${must}; it is ${describe(column)}${didYouMean(column, names)}`)
}

/** Returns the names of a path in the text form of filters. Empty for a field of every node, such as `title`. */
function readPath(column: string): readonly string[] | undefined {
  try {
    const [key, ...others] = parseSort(column)
    if (!key || others.length > 0 || key.isDescending) return undefined
    const { subject } = key
    return 'property' in subject ? [subject.property].flat() : []
  } catch (error) {
    if (error instanceof FilterError) return undefined
    throw error
  }
}

/** Returns the first name that the schema lacks, and the names that it has there. */
function findUnknown(schema: Schema, path: readonly string[]): { name: string; known: readonly string[] } | undefined {
  let inner: Schema = schema
  for (const name of path) {
    while (inner.items) inner = inner.items
    const { properties = {} } = inner
    const next = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (!next) return { name, known: Object.keys(properties) }
    inner = next
  }
  return undefined
}
