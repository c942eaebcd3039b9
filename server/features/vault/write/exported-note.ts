/** Writes a node as a Markdown file, with everything except its text in front matter. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { Document, isScalar, Scalar, type ScalarTag, visit } from 'yaml'
import type { ConnectionEntity } from '../../../domain/format/node-format.ts'
import { digestOf, type NodeMembers, type StatedNode, statementKey } from '../read/statement.ts'
import { placeholderOf } from '../read/yaml.ts'

export interface ExportedNote extends NodeMembers, StatedNode {
  /** The blob id of the text; '' if there is no text. */
  readonly text: string
}

/** Returns the front matter. The unchanged text follows it. */
export function headOf(note: ExportedNote): Promise<string> {
  const { title, tags, properties, others, parents, connections, files, source } = note
  const own = Object.entries(properties)
  const sayable = own.filter(([key, value]) => !taken.has(key) && isSayable(key, value))
  const unsayable = own.filter(([key, value]) => taken.has(key) || !isSayable(key, value))
  const statement = {
    ...(parents.length > 0 ? { parents: parents.map(({ id, label }) => (label === '' ? id : { id, label })) } : {}),
    ...(connections.length > 0 ? { connections: connections.map(withoutEmptyLabel) } : {}),
    ...(files.size > 0 ? { files: Object.fromEntries(files) } : {}),
    ...(source && isSayable('source', source) ? { source } : {}),
    // JSON in a string can express values that YAML cannot.
    ...(unsayable.length > 0 ? { properties: JSON.stringify(Object.fromEntries(unsayable)) } : {}),
    ...(Object.keys(others).length > 0 ? { node: JSON.stringify(others) } : {}),
    // Same order as an import reads them.
    digest: digestOf({ title, tags, properties: Object.fromEntries([...sayable, ...unsayable]) }, note.text),
  }
  return frontMatter(
    new Map<string, unknown>([
      ['title', title],
      ...(tags.length > 0 ? ([['tags', tags]] as const) : []),
      ...sayable,
      ['id', note.id],
    ]),
    { key: statementKey, members: statement },
  )
}

const taken: ReadonlySet<string> = new Set(['title', 'tags', 'id', statementKey])

function withoutEmptyLabel({ label, ...connection }: ConnectionEntity) {
  return label === '' ? connection : { ...connection, label }
}

/** Levels of JSON that are written as YAML. An import reads some more. */
const maxDepth = 32
/** Longest name, in UTF-16 units. */
const maxKey = 200
/** Items of a long list between two turns of the event loop: about 5 ms. */
const itemsPerTurn = 100

/** Writes front matter with its delimiters. `last` is a key after the others, whose values may be long lists. */
export async function frontMatter(
  members: ReadonlyMap<string, unknown>,
  last?: { readonly key: string; readonly members: Readonly<Record<string, unknown>> },
): Promise<string> {
  const texts = [yamlOf(members)]
  let known = 0
  for (const [name, value] of Object.entries(last?.members ?? {})) {
    for (const part of partsOf(value)) {
      texts.push(withoutLines(yamlOf(new Map([[last?.key ?? '', { [name]: part }]])), known))
      // The next part of this list follows below both keys.
      known = 2
      if (part !== value) await nextTurn()
    }
    known = 1
  }
  return `---\n${texts.join('')}---\n`
}

/** Splits a long list into lists, and a long object into objects. Other values stay whole. */
function partsOf(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [value]
  const items = Array.isArray(value) ? value : Object.entries(value)
  if (items.length <= itemsPerTurn) return [value]
  const parts: unknown[] = []
  for (let from = 0; from < items.length; from += itemsPerTurn) {
    const some = items.slice(from, from + itemsPerTurn)
    parts.push(Array.isArray(value) ? some : Object.fromEntries(some))
  }
  return parts
}

function withoutLines(text: string, count: number): string {
  let from = 0
  for (let line = 0; line < count; line++) from = text.indexOf('\n', from) + 1
  return text.slice(from)
}

/** The `{{date}}` of a template, which other programs replace as text. */
class Placeholder {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const placeholderTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  identify: (value) => value instanceof Placeholder,
  resolve: (text) => text,
  stringify: ({ value }) => (value as Placeholder).text, // identify has checked it
}

function withPlaceholder(_: string, value: unknown): unknown {
  const text = placeholderOf(value)
  return text === undefined ? value : new Placeholder(text)
}

function yamlOf(members: ReadonlyMap<string, unknown>): string {
  // Through JSON, which has no -0.
  const values = new Map(
    [...members].map(([key, value]) => [key, JSON.parse(JSON.stringify(value), withPlaceholder) as unknown]), // JSON's own type
  )
  const document = new Document(values, { aliasDuplicateObjects: false, schema: 'core', customTags: [placeholderTag] })
  visit(document, { Scalar: (_, node) => spell(node) })
  const yaml = document.toString({
    lineWidth: 0,
    minContentWidth: 0,
    nullStr: '',
    doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY,
  })
  return yaml.replace(lineEnds, escaped)
}

/** True if an import reads `key: value` unchanged. YAML cannot contain NUL or an unpaired surrogate. */
export function isSayable(key: string, value: unknown): boolean {
  return key !== '' && key.length <= maxKey && isPlain(key) && isSayableTo(maxDepth, value)
}

function isSayableTo(depth: number, value: unknown): boolean {
  if (typeof value === 'string') return isPlain(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth === 0) return false
  return Object.entries(value).every(([key, member]) => isPlain(key) && isSayableTo(depth - 1, member))
}

function isPlain(text: string): boolean {
  return !/\0|\p{Surrogate}/u.test(text)
}

/** Characters that some programs drop or treat as a line end. They occur only in quoted strings. */
const lineEnds = /[\u007f-\u009f\u2028\u2029\ufeff]/g
const special = /[\0-\x09\x0b-\x1f\u007f-\u009f\u2028\u2029\ufeff]/

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function spell(node: Scalar): void {
  if (!isScalar(node)) return
  if (typeof node.value === 'string' && special.test(node.value)) node.type = Scalar.QUOTE_DOUBLE
  // An integer beyond 2^53 would be read as a string.
  if (typeof node.value === 'number' && Number.isInteger(node.value) && !Number.isSafeInteger(node.value))
    node.format = 'EXP'
}
