/** Turns outside text into a single line that fits: titles, tags, labels. */

/**
 * Replaces lone surrogates, and collapses white space and control characters.
 *
 * @param max largest length in UTF-16 units, as the API counts characters
 */
export function toSingleLine(text: string, max: number): string {
  const clean = text.replace(/\p{Surrogate}/gu, '\ufffd').replace(/[\s\p{Cc}]+/gu, ' ')
  const line = clean.trim().slice(0, max)
  return line.replace(/[\ud800-\udbff]$/, '').trimEnd()
}

/**
 * Turns a name into a title: 'getting-started' → 'Getting started'.
 *
 * Spaces, capitals or a leading date mark a title.
 */
export function toTitle(name: string): string {
  return toSingleLine(isTitled(name) ? name : wordsOf(name), 500) || 'Untitled'
}

function isTitled(name: string): boolean {
  return /\s|\p{Lu}|^\d{4}-\d\d/u.test(name)
}

/** Splits a name into words. A hyphen between digits stays, as in v1-2. */
function wordsOf(name: string): string {
  const words = name.replace(/(?<=\p{L})[-_]+|[-_]+(?=\p{L})/gu, ' ').trim()
  return words.replace(/^\p{Ll}(?=\p{Ll}*(\s|$))/u, (letter) => letter.toUpperCase())
}
