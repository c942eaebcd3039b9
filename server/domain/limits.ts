/** Limits in bytes: a schema counts characters. */
import { Invalid } from '../errors.ts'

/** Bytes of UTF-8 of a commit's message and of a pull request's description (contract §5). */
const textLimit = 65_536

/** @throws Invalid string_too_long */
export function refuseLongText(loc: readonly string[], text: string): void {
  if (Buffer.byteLength(text) <= textLimit) return
  const msg = `String should have at most ${textLimit} bytes`
  throw new Invalid([{ loc, msg, type: 'string_too_long', ctx: { max_length: textLimit } }])
}
