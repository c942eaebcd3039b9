/** The files of a node that Grove writes itself: node.json and content.md. */
import { Invalid, invalid } from '../errors.ts'
import { asJson } from './authors.ts'
import { isTitle, textLimit } from './entities.ts'

/** What node.json says of a node. */
export interface NodeFields {
  readonly title: string
  readonly tags?: readonly string[]
  readonly properties?: Readonly<Record<string, unknown>>
}

/** The bytes of node.json, unknown keys of an earlier one kept. */
export function nodeJson(fields: NodeFields, before: Readonly<Record<string, unknown>> = {}): Buffer {
  return asJson({
    ...before,
    title: fields.title,
    tags: [...new Set(fields.tags ?? [])],
    properties: fields.properties ?? {},
  })
}

/** @throws Invalid. The spec has seen its length: what is left is what neither UTF-8 nor SQL can hold, and blanks of other kinds. */
export function requireTitle(title: string): void {
  if (!isTitle(title)) throw invalid(['body', 'title'], 'is blank, or holds NUL or half of a surrogate pair')
}

/** The bytes of content.md. @throws Invalid over 10 MiB, or what UTF-8 cannot hold */
export function textBytes(text: string): Buffer {
  const loc = ['body', 'text_content']
  if (/\p{Surrogate}/u.test(text)) throw invalid(loc, 'holds half of a surrogate pair')
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= textLimit) return bytes
  const msg = 'A text has at most 10 MiB as UTF-8'
  throw new Invalid([{ loc, msg, type: 'string_too_long', ctx: { max_length: textLimit } }])
}
