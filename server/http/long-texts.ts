/** Texts too long for one regular expression: over millions of characters its engine runs out of stack. */

import type { Schema } from './schemas.ts'

/** Characters (UTF-16 units) that are matched at once. */
const sliceLength = 65_536

/** Whether the schema takes texts that the validator must not match against its pattern. */
export function isLongText({ type, maxLength = 0 }: Pick<Schema, 'type' | 'maxLength'>): boolean {
  return type === 'string' && maxLength > 1_048_576
}

/** Whether each slice matches; of a pattern `^[…]*$`, which asks the same of every character, that says it of the whole. */
export function matchesInSlices(pattern: string, text: string): boolean {
  const expression = new RegExp(pattern, 'u')
  for (let at = 0; at < text.length; at += sliceLength) {
    if (!expression.test(text.slice(at, at + sliceLength))) return false
  }
  return true
}
