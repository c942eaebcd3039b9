/** Properties of a node as rows of a form, and back. A row that nobody edits keeps its exact value. */

export const kinds = {
  text: 'Text',
  number: 'Number',
  'yes-no': 'Yes or no',
  list: 'List, one item a line',
  json: 'JSON',
} as const

export type Kind = keyof typeof kinds

export interface Row {
  readonly name: string
  readonly kind: Kind
  readonly value: string
}

/** An entry of a form that cannot be saved. */
export class EntryError extends Error {}

/** Rows of a form. A node with more properties has one field with JSON. */
const mostRows = 100
/** A line of text that a form keeps: without control characters other than tabs. */
const plain = /^(?:\t|[^\p{Cc}])*$/u

/** Returns a row for each property; undefined if the form cannot hold them. */
export function rowsOf(properties: Readonly<Record<string, unknown>>): Row[] | undefined {
  const all = Object.entries(properties)
  if (all.length > mostRows || all.some(([name]) => name.trim() === '' || !isLine(name))) return undefined
  return all.map(([name, value]) => ({ name, ...asRow(value) }))
}

function asRow(value: unknown): Omit<Row, 'name'> {
  if (typeof value === 'string' && value.split('\n').every(isLine)) return { kind: 'text', value }
  if (typeof value === 'number') return { kind: 'number', value: JSON.stringify(value) }
  if (typeof value === 'boolean') return { kind: 'yes-no', value: value ? 'yes' : 'no' }
  if (Array.isArray(value) && value.length > 0 && value.every(isItem)) return { kind: 'list', value: value.join('\n') }
  return { kind: 'json', value: JSON.stringify(value, null, 2) }
}

function isItem(item: unknown): boolean {
  return typeof item === 'string' && item.trim() !== '' && isLine(item)
}

function isLine(text: string): boolean {
  return plain.test(text) && !/\p{Surrogate}/u.test(text)
}

/**
 * Returns the rows as the text of a JSON object. Numbers and JSON stay as they were typed, so that the service can refuse
 * those that it would change.
 *
 * @throws EntryError a name is missing or occurs twice, or a value is not of its kind
 */
export function jsonOf(rows: readonly Row[]): string {
  const names = new Set<string>()
  const members: string[] = []
  for (const { name, kind, value } of rows) {
    if (name.trim() === '' && value.trim() === '') continue
    if (name.trim() === '')
      throw new EntryError(`The value “${excerpt(value)}” has no name. Enter a name, or clear it.`)
    if (names.has(name)) throw new EntryError(`There are two properties named “${excerpt(name)}”. Rename one of them.`)
    names.add(name)
    members.push(`${JSON.stringify(name)}: ${jsonValue(name, kind, value.replaceAll('\r\n', '\n'))}`)
  }
  return members.length === 0 ? '{}' : `{\n${members.map((member) => `    ${member}`).join(',\n')}\n  }`
}

function jsonValue(name: string, kind: Kind, value: string): string {
  const refuse = (rule: string): never => {
    throw new EntryError(`“${excerpt(name)}” ${rule}`)
  }
  switch (kind) {
    case 'text':
      return JSON.stringify(value)
    case 'number':
      return /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(value.trim())
        ? value.trim()
        : refuse('must be a number, such as 12 or 0.5.')
    case 'yes-no':
      if (/^(yes|true)$/i.test(value.trim())) return 'true'
      return /^(no|false)$/i.test(value.trim()) ? 'false' : refuse('must be yes or no.')
    case 'list':
      return JSON.stringify(value.split('\n').filter((item) => item.trim() !== ''))
    case 'json':
      return isJson(value) ? value.trim() : refuse('must be valid JSON, such as {"depth": 200}.')
  }
}

/** Returns the text if it is a JSON object. @throws EntryError */
export function jsonObject(text: string): string {
  if (!isJson(text)) throw new EntryError('This must be valid JSON, such as {"depth": 200}.')
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new EntryError('This must be a JSON object: names and values in braces.')
  return text.trim()
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function excerpt(text: string): string {
  const letters = [...text.trim()]
  return letters.length > 40 ? `${letters.slice(0, 40).join('')}…` : text.trim()
}
