/** Rules for text that people write. The spec's patterns say the same for requests; these also apply to pushes. */

/** Titles, tags and labels: no control characters, which break lines and terminals, and only valid UTF-8. */
export function isOneLine(text: string): boolean {
  return !/[\p{Cc}\p{Surrogate}]/u.test(text)
}

/** Text of a header, shown to people: without control characters and halves of surrogate pairs. */
export function stripControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Surrogate}]/gu, '')
}

/** Control characters, ends of lines and of paragraphs, and what turns the direction of the text around it. */
const commanding = /[\p{Cc}\p{Surrogate}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** For a line of a terminal: characters that move its cursor, command it or reorder its text, as escapes. */
export function printable(text: string): string {
  return text.replace(commanding, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A message as git keeps it; git removes each `\r` itself. */
export function normalizeLineEnds(text: string): string {
  return text.replace(/\r\n?/g, '\n')
}

/** At most `limit` characters: code points, as in the spec. */
export function fits(text: string, limit: number): boolean {
  return text.length <= limit || (text.length <= 2 * limit && [...text].length <= limit)
}
