/** Matches texts too long for one regular expression, which would overflow its stack at millions of characters. */

import type { Schema } from './schemas.ts'

/** Characters (UTF-16 units) matched at a time. */
const sliceLength = 65_536

/** Whether the schema accepts texts too long for the validator to match. */
export function isLongText({ type, maxLength = 0 }: Pick<Schema, 'type' | 'maxLength'>): boolean {
  return type === 'string' && maxLength > 1_048_576
}

/** Matches slice by slice. Correct for patterns `^[…]*$`, which test each character alone. */
export function matchesInSlices(pattern: string, text: string): boolean {
  const expression = new RegExp(pattern, 'u')
  for (let at = 0; at < text.length; at += sliceLength) {
    if (!expression.test(text.slice(at, at + sliceLength))) return false
  }
  return true
}
