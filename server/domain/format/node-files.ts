/** The files of a node that the service writes: node.json, content.md and those of edges. */
import { invalid, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { membersOf } from './json-text.ts'
import { type ConnectionEntity, isTitle, type ParentEntity } from './node-format.ts'
import { asJson } from './signatures.ts'

/** A part of a request. */
type Loc = readonly (string | number)[]

/** The fields of node.json. */
export interface NodeFields {
  readonly title: string
  readonly tags?: readonly string[]
  readonly properties?: Readonly<Record<string, unknown>>
}

/** The bytes of a new node.json. It is on one line if it would otherwise be too large. */
export function nodeJson({ title, tags = [], properties = {} }: NodeFields): Buffer {
  const json = { title, tags: [...new Set(tags)], properties }
  const bytes = asJson(json)
  return bytes.length <= limits.nodeJsonBytes ? bytes : Buffer.from(`${JSON.stringify(json)}\n`)
}

/** The bytes of a parent's edge file. */
export function parentJson({ label }: Omit<ParentEntity, 'id'>): Buffer {
  return asJson(label === '' ? {} : { label })
}

/** The bytes of a connection's file. */
export function connectionJson({ target, type, label }: Omit<ConnectionEntity, 'id'>): Buffer {
  return asJson({ target, type, ...(label === '' ? {} : { label }) })
}

/** Properties to change. Null removes one, and the rest stays. */
export type PropertyChanges = Readonly<Record<string, unknown>>

/** The properties of a node that has none yet. */
export function mergedIntoNothing(merge: PropertyChanges): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(merge).filter(([, value]) => value !== null))
}

/** The bytes of node.json with some fields or properties changed. Every other byte of `before`, a JSON object, is kept. */
export function changedJson(before: Buffer, fields: Partial<NodeFields>, merge: PropertyChanges = {}): Buffer {
  const text = new TextDecoder().decode(before)
  const { tags, ...others } = fields
  const changes = Object.entries(tags ? { ...others, tags: [...new Set(tags)] } : others)
  const written = (spaces: number) => Buffer.from(withProperties(withMembers(text, changes, spaces), merge, spaces))
  const indented = written(2)
  return indented.length <= limits.nodeJsonBytes ? indented : written(0)
}

/** Changes single properties in the text of node.json. */
function withProperties(text: string, merge: PropertyChanges, spaces: number): string {
  const changes = Object.entries(merge)
  const added = mergedIntoNothing(merge)
  if (changes.length === 0) return text
  const member = membersOf(text).findLast(({ name }) => name === 'properties')
  const { from = 0, to = 0 } = member ?? {}
  const inner = text.slice(from, to)
  const isFilled = member !== undefined && inner.startsWith('{') && membersOf(inner).length > 0
  if (!isFilled) return Object.keys(added).length === 0 ? text : withMembers(text, [['properties', added]], spaces)
  const removed = changes.map(([name, value]) => [name, value ?? undefined] as const)
  return text.slice(0, from) + withMembers(inner, removed, spaces) + text.slice(to)
}

/**
 * Changes fields in the text. Undefined removes a field. If several fields have the same name, the last one counts, and
 * the others are removed.
 */
function withMembers(text: string, changes: readonly (readonly [string, unknown])[], spaces: number): string {
  const members = membersOf(text)
  const [first] = members
  const last = members.at(-1)
  if (!first || !last) return asJson(Object.fromEntries(changes)).toString()
  const space = text.slice(text.indexOf('{') + 1, first.start)
  const margin = spaces > 0 && space.includes('\n') ? space.slice(space.lastIndexOf('\n')) : ''
  const write = (value: unknown) => JSON.stringify(value, null, margin === '' ? 0 : spaces).replaceAll('\n', margin)
  const wanted = new Map(changes)
  const positions = new Map(members.map(({ name }, at) => [name, at]))
  let changed = ''
  for (const [at, { name, start, from, to }] of members.entries()) {
    const value = wanted.get(name)
    if (wanted.has(name) && (value === undefined || positions.get(name) !== at)) continue
    const old = text.slice(from, to)
    const isSame = !wanted.has(name) || JSON.stringify(JSON.parse(old)) === JSON.stringify(value)
    if (changed !== '') changed += text.slice(members[at - 1]?.to, start)
    changed += text.slice(start, from) + (isSame ? old : write(value))
  }
  for (const [name, value] of changes) {
    if (value === undefined || positions.has(name)) continue
    if (changed !== '') changed += `,${margin}`
    changed += `${JSON.stringify(name)}:${margin === '' ? '' : ' '}${write(value)}`
  }
  return changed === '' ? '{}' : text.slice(0, first.start) + changed + text.slice(last.to)
}

/** Refuses a title that a push could not have. @throws ValidationError */
export function requireTitle(title: string, loc: Loc = ['body', 'title']): void {
  if (!isTitle(title))
    throw invalid(loc, 'The title must not be blank, or contain control characters or invalid Unicode')
}

/** The bytes of content.md. @throws ValidationError over `most` bytes, or not encodable as UTF-8 */
export function textBytes(text: string, loc: Loc = ['body', 'text_content'], most: number = limits.fileBytes): Buffer {
  if (/\p{Surrogate}/u.test(text)) throw invalid(loc, 'The content has an unpaired surrogate, which UTF-8 cannot store')
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= most) return bytes
  const msg = `The content can have at most ${most / 1_048_576} MiB as UTF-8`
  throw new ValidationError([{ loc, msg, type: 'string_too_long', ctx: { max_length: most } }])
}
