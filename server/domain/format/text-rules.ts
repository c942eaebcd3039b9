/** Rules for text that users write. The spec's patterns say the same for requests; these also apply to pushes. */

/**
 * True if a title, tag or label is valid Unicode without control characters. Control characters break lines and
 * terminals.
 */
export function isOneLine(text: string): boolean {
  return !/[\p{Cc}\p{Surrogate}]/u.test(text)
}

/** The text of a header, to be shown to users. Control characters and unpaired surrogates are removed. */
export function stripControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Surrogate}]/gu, '')
}

/** Control characters, ends of lines and paragraphs, and characters that change the direction of text. */
const commanding = /[\p{Cc}\p{Surrogate}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** Makes text safe for a terminal. Characters that move the cursor, send commands or reorder text become escapes. */
export function printable(text: string): string {
  return text.replace(commanding, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A message as git keeps it. Git itself removes each `\r`. */
export function normalizeLineEnds(text: string): string {
  return text.replace(/\r\n?/g, '\n')
}

/** True if the text has at most `limit` characters: code points, as in the spec. */
export function fits(text: string, limit: number): boolean {
  return text.length <= limit || (text.length <= 2 * limit && [...text].length <= limit)
}
