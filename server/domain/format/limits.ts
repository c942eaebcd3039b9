/** Limits that a JSON schema cannot state: bytes instead of characters, and depth. */
import { ValidationError } from '../../base/errors.ts'
import { depthLimit } from '../../base/json-bounds.ts'

/** The most bytes of UTF-8 of a message or description, and of a search query. */
const textLimit = 65_536
const queryLimit = 16_384

/** The most bytes of a node's properties as JSON on one line. A page has up to 200 nodes. */
export const propertiesLimit = 65_536

/** Refuses a message or description that is too long. @throws ValidationError string_too_long */
export function refuseLongText(loc: readonly string[], text: string): void {
  refuseBeyond(textLimit, loc, text)
}

/** Refuses a search query that is too long. @throws ValidationError string_too_long */
export function refuseLongQuery(query: string): void {
  refuseBeyond(queryLimit, ['body', 'query'], query)
}

function refuseBeyond(bytes: number, loc: readonly string[], text: string): void {
  if (Buffer.byteLength(text) <= bytes) return
  const msg = `String should have at most ${bytes} bytes`
  throw new ValidationError([{ loc, msg, type: 'string_too_long', ctx: { max_length: bytes } }])
}

/** The first `bytes` bytes of a text, without part of a character at the end. */
export function cutText(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, bytes), { stream: true })
}

export function isTooDeep(json: unknown, levels: number = depthLimit): boolean {
  if (typeof json !== 'object' || json === null) return false
  return levels === 0 || Object.values(json).some((inner) => isTooDeep(inner, levels - 1))
}
