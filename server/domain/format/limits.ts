/** Limits that a JSON schema cannot state: bytes instead of characters, and depth. */
import { ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'

/** Refuses a message or description that is too long. @throws ValidationError string_too_long */
export function refuseLongText(loc: readonly string[], text: string): void {
  refuseBeyond(limits.messageBytes, loc, text)
}

/** Refuses a search query that is too long. @throws ValidationError string_too_long */
export function refuseLongQuery(query: string): void {
  refuseBeyond(limits.queryBytes, ['body', 'query'], query)
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

export function isTooDeep(json: unknown, levels: number = limits.jsonLevels): boolean {
  if (typeof json !== 'object' || json === null) return false
  return levels === 0 || Object.values(json).some((inner) => isTooDeep(inner, levels - 1))
}
