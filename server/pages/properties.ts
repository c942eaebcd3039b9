/** Tags and properties as fields of a form, and back into node.json. The form of a page and its script share it. */

import { hexDigest } from '../markdown/connection-ids.ts'
import { EntryError, jsonOf, type Kind, kinds, type Row, rowsOf } from './property-rows.ts'

export { EntryError }

/** The kinds of a row in a form. A date is stored as text. */
export const formKinds = { ...kinds, date: 'Date' } as const
type FormKind = keyof typeof formKinds

export interface FormRow extends Omit<Row, 'kind'> {
  readonly kind: FormKind
}

/** The fields of a form. */
export interface Panel {
  /** Separated by commas. */
  readonly tags: string
  readonly description: string
  /** Undefined if the form cannot hold the properties, which then stay as they are. */
  readonly rows: readonly FormRow[] | undefined
}

/** Tags and properties that a form says a node has. */
export interface Fields {
  readonly tags: readonly string[]
  /** A JSON object without the description; undefined: the properties stay as they are. */
  readonly properties: string | undefined
  readonly description: string
}

type Properties = Readonly<Record<string, unknown>>

const day = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/

/** Returns the fields that show a node. */
export function panelOf({
  tags,
  properties,
}: {
  readonly tags: readonly string[]
  readonly properties: Properties
}): Panel {
  const { description, ...others } = properties
  const isApart = typeof description === 'string' && !/[\r\n]/.test(description)
  const rows = rowsOf(isApart || description === undefined ? others : properties)
  const isHeld = rows?.every(({ name }) => name === name.trim())
  return {
    tags: tagsText(tags),
    description: isApart ? description : '',
    rows: isHeld ? rows?.map(formRow) : undefined,
  }
}

/** Returns a row as a form shows it. A text that is a day becomes a date. */
export function formRow(row: Row): FormRow {
  return row.kind === 'text' && day.test(row.value) ? { ...row, kind: 'date' } : row
}

interface SentForm {
  has(name: string): boolean
  get(name: string): unknown
  getAll(name: string): unknown[]
}

/** Reads the fields of a sent form; undefined if it has none. */
export function panelIn(form: SentForm): Panel | undefined {
  if (!form.has('tags')) return undefined
  const all = (name: string) => form.getAll(name).map((value) => String(value).replace(/\r\n?/g, '\n'))
  const [kindsSent, values] = [all('property-kind'), all('property-value')]
  const rows = all('property-name').map((name, at) => {
    const kind = kindsSent[at] ?? ''
    return { name: name.trim(), kind: isKind(kind) ? kind : 'text', value: values[at] ?? '' } as const
  })
  const filled = rows.filter(({ name, value }) => name !== '' || value.trim() !== '')
  return {
    tags: String(form.get('tags')),
    description: String(form.get('description') ?? ''),
    rows: form.has('property-name') ? filled : undefined,
  }
}

export function isKind(kind: string): kind is FormKind {
  return Object.hasOwn(formKinds, kind)
}

/** Returns a string that differs if the fields say something else. */
export function panelKey({ tags, description, rows }: Panel): string {
  return hexDigest(
    JSON.stringify([tagsIn(tags), description.trim(), rows?.map(({ name, kind, value }) => [name, kind, value])]),
  )
}

/** Returns what the fields say. @throws EntryError a name is missing or occurs twice, or a value is not of its kind */
export function fieldsOf({ tags, description, rows }: Panel): Fields {
  const said = description.trim()
  if (said !== '' && rows?.some(({ name }) => name === 'description'))
    throw new EntryError('There are two descriptions. Remove the property, or clear the description.')
  return { tags: tagsIn(tags), description: said, properties: rows && jsonOf(rows.map(storedRow)) }
}

/** Returns a row as it is stored. @throws EntryError a date is not a day */
export function storedRow({ name, kind, value }: FormRow): Row {
  if (kind !== 'date') return { name, kind: kind satisfies Kind, value }
  if (!day.test(value.trim())) throw new EntryError(`“${name.slice(0, 40)}” must be a date, such as 2025-07-15.`)
  return { name, kind: 'text', value: value.trim() }
}

/** Returns tags as a line of text. A tag with a comma or a quotation mark is in quotation marks. */
export function tagsText(tags: readonly string[]): string {
  return tags
    .map((tag) => (tag !== tag.trim() || /^#|[",]/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag))
    .join(', ')
}

/** Reads tags that are separated by commas. `#` before a tag is not part of it. */
export function tagsIn(text: string): string[] {
  const tags: string[] = []
  for (const [, quoted, plain = ''] of text.matchAll(/\s*(?:"((?:[^"]|"")*)"[^,]*|([^,]+))(?:,|$)/g)) {
    const tag = quoted === undefined ? plain.trim().replace(/^#+/, '').trim() : quoted.replaceAll('""', '"')
    if (tag !== '' && !tags.includes(tag)) tags.push(tag)
  }
  return tags
}

/** Returns the properties as the text of a JSON object. The description keeps its place among those of `before`. */
export function propertiesJson({ properties = '{}', description }: Fields, before: Properties): string {
  const inner = properties.replace(/^\{\s*|\s*\}$/g, '')
  const members = inner === '' ? [] : [inner]
  if (description === '') return members.length === 0 ? '{}' : properties
  const isLast = Object.keys(before).at(-1) === 'description'
  const said = `"description": ${JSON.stringify(description)}`
  const all = isLast ? [...members, said] : [said, ...members]
  return `{\n    ${all.join(',\n    ')}\n  }`
}

/** Returns node.json with a title and fields. Its other members stay. */
export function nodeJsonOf(content: string, title: string, fields: Fields | undefined): string {
  const before = objectIn(content)
  if (fields === undefined) return asText({ ...before, title })
  const { properties, ...others }: Properties = { ...before, title, tags: fields.tags }
  const old = isObject(properties) ? properties : {}
  if (fields.properties === undefined) return asText({ ...before, title, tags: fields.tags })
  const json = propertiesJson(fields, old)
  if (json === '{}' && properties === undefined) return asText(others)
  // JSON.parse would round numbers, so they stay as typed. The service refuses those that it would change.
  return asText({ ...before, title, tags: fields.tags, properties: {} }).replace(
    /\n {2}"properties": \{\}/,
    () => `\n  "properties": ${json}`,
  )
}

/** True if two texts of node.json say the same. */
export function isSameJson(one: string, other: string): boolean {
  return canonical(objectIn(one)) === canonical(objectIn(other))
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  )
}

function objectIn(content: string): Properties {
  try {
    const value: unknown = JSON.parse(content)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function isObject(value: unknown): value is Properties {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function asText(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
