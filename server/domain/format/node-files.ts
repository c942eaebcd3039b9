/** The files of a node that the service writes: node.json, content.md and those of edges. */
import { invalid, ValidationError } from '../../base/errors.ts'
import { membersOf } from './json-text.ts'
import { type ConnectionEntity, isTitle, jsonLimit, type ParentEntity, textLimit } from './node-format.ts'
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
  return bytes.length <= jsonLimit ? bytes : Buffer.from(`${JSON.stringify(json)}\n`)
}

/** The bytes of a parent's edge file. */
export function parentJson({ label }: Omit<ParentEntity, 'id'>): Buffer {
  return asJson(label === '' ? {} : { label })
}

/** The bytes of a connection's file. */
export function connectionJson({ target, type, label }: Omit<ConnectionEntity, 'id'>): Buffer {
  return asJson({ target, type, ...(label === '' ? {} : { label }) })
}

/** The bytes of node.json with some fields changed. Every other byte of `before`, a JSON object, is kept. */
export function changedJson(before: Buffer, fields: Partial<NodeFields>): Buffer {
  const text = new TextDecoder().decode(before)
  const { tags, ...others } = fields
  const changes = Object.entries(tags ? { ...others, tags: [...new Set(tags)] } : others)
  const indented = Buffer.from(withMembers(text, changes, 2))
  return indented.length <= jsonLimit ? indented : Buffer.from(withMembers(text, changes, 0))
}

/**
 * Changes fields in the text. If several fields have the same name, the last one counts, and the others are removed.
 */
function withMembers(text: string, changes: readonly [string, unknown][], spaces: number): string {
  let changed = text
  for (const [name, value] of changes) {
    const members = membersOf(changed)
    const [first] = members
    if (!first) return asJson(Object.fromEntries(changes)).toString()
    const space = changed.slice(changed.indexOf('{') + 1, first.start)
    const margin = spaces > 0 && space.includes('\n') ? space.slice(space.lastIndexOf('\n')) : ''
    const written = JSON.stringify(value, null, margin === '' ? 0 : spaces).replaceAll('\n', margin)
    const at = members.findLastIndex((member) => member.name === name)
    const { from, to } = members[at] ?? { from: members.at(-1)?.to ?? 0, to: members.at(-1)?.to ?? 0 }
    const isSame = at >= 0 && JSON.stringify(JSON.parse(changed.slice(from, to))) === JSON.stringify(value)
    if (!isSame) {
      const added = at < 0 ? `,${margin}${JSON.stringify(name)}:${margin === '' ? '' : ' '}` : ''
      changed = changed.slice(0, from) + added + written + changed.slice(to)
    }
    for (let earlier = at - 1; earlier >= 0; earlier--) {
      const { name: other, start } = members[earlier] ?? first
      if (other === name) changed = changed.slice(0, start) + changed.slice(members[earlier + 1]?.start)
    }
  }
  return changed
}

/** Refuses a title that a push could not have. @throws ValidationError */
export function requireTitle(title: string, loc: Loc = ['body', 'title']): void {
  if (!isTitle(title))
    throw invalid(loc, 'The title must not be blank, or contain control characters or invalid Unicode')
}

/** The bytes of content.md. @throws ValidationError over 10 MiB, or not encodable as UTF-8 */
export function textBytes(text: string, loc: Loc = ['body', 'text_content']): Buffer {
  if (/\p{Surrogate}/u.test(text)) throw invalid(loc, 'The content has an unpaired surrogate, which UTF-8 cannot store')
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= textLimit) return bytes
  const msg = 'The content can have at most 10 MiB as UTF-8'
  throw new ValidationError([{ loc, msg, type: 'string_too_long', ctx: { max_length: textLimit } }])
}
