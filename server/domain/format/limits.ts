/** Limits that a JSON schema cannot state: bytes, where it counts characters, and depth. */
import { ValidationError } from '../../base/errors.ts'
import { depthLimit } from '../../base/json-bounds.ts'

/** Bytes of UTF-8 of a commit message and of a pull request description; of a search query. */
const textLimit = 65_536
const queryLimit = 16_384

/** Bytes of a node's properties as JSON on one line; a page has up to 200 nodes. */
export const propertiesLimit = 65_536

/** @throws ValidationError string_too_long */
export function refuseLongText(loc: readonly string[], text: string): void {
  refuseBeyond(textLimit, loc, text)
}

/** @throws ValidationError string_too_long */
export function refuseLongQuery(query: string): void {
  refuseBeyond(queryLimit, ['body', 'query'], query)
}

function refuseBeyond(bytes: number, loc: readonly string[], text: string): void {
  if (Buffer.byteLength(text) <= bytes) return
  const msg = `String should have at most ${bytes} bytes`
  throw new ValidationError([{ loc, msg, type: 'string_too_long', ctx: { max_length: bytes } }])
}

/** The first `bytes` bytes of a text, without a split character at the end. */
export function cutText(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, bytes), { stream: true })
}

export function isTooDeep(json: unknown, levels: number = depthLimit): boolean {
  if (typeof json !== 'object' || json === null) return false
  return levels === 0 || Object.values(json).some((inner) => isTooDeep(inner, levels - 1))
}
