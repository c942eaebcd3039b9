/** Text from outside as one line that fits: titles, tags, labels. */

/**
 * `text` without control characters and halves of surrogate pairs, white space collapsed, at most `max` characters
 * (UTF-16 units, as the contract counts them).
 */
export function toSingleLine(text: string, max: number): string {
  const clean = text.replace(/\p{Surrogate}/gu, '\ufffd').replace(/[\s\p{Cc}]+/gu, ' ')
  const line = clean.trim().slice(0, max)
  return line.replace(/[\ud800-\udbff]$/, '').trimEnd()
}

/** 'getting-started' → 'Getting started'; spaces, capitals or a date in front show a name that is a title already. */
export function toTitle(name: string): string {
  return toSingleLine(isTitled(name) ? name : wordsOf(name), 500) || 'Untitled'
}

function isTitled(name: string): boolean {
  return /\s|\p{Lu}|^\d{4}-\d\d/u.test(name)
}

/** A hyphen between digits stays, as in v1-2. */
function wordsOf(name: string): string {
  const words = name.replace(/(?<=\p{L})[-_]+|[-_]+(?=\p{L})/gu, ' ').trim()
  return words.replace(/^\p{Ll}(?=\p{Ll}*(\s|$))/u, (letter) => letter.toUpperCase())
}
