/**
 * Quotes untrusted text between marks with a random id.
 *
 * No text can know the id, so a reader can distinguish the service's words from a node's.
 */

import { randomBytes } from 'node:crypto'

export interface Marks {
  readonly open: (attributes: Readonly<Record<string, string | undefined>>) => string
  readonly close: string
}

/** Bytes of the random id: 72 bits. */
const idBytes = 9

/** Creates the marks of one answer. Attributes are the service's own words and ids. */
export function newMarks(): Marks {
  const id = randomBytes(idBytes).toString('base64url')
  return {
    open: (attributes) => {
      const given = Object.entries(attributes).filter(([, value]) => value !== undefined)
      return `<content id="${id}"${given.map(([name, value]) => ` ${name}="${value}"`).join('')}>`
    },
    close: `</content id="${id}">`,
  }
}

/** Values that may appear outside of marks. Ids of Grove and Git, branches of proposals, URLs, and these words. */
const plain =
  /^(?:[\da-f-]{1,64}|(?:users\/[\da-f]{12}\/)?agent\/[\da-f]{12}|(?:grove|https?):\/\/[^\s<>"']{1,2000}|true|false|open|closed|merged|draft)$/i

/**
 * Writes a sentence of the answer itself, outside of marks.
 *
 * Only numbers, booleans and values that match `plain` are inserted. A hostile service cannot put other text there.
 */
export function own(words: TemplateStringsArray, ...values: readonly unknown[]): string {
  const shown = values.map((value) => {
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    return typeof value === 'string' && plain.test(value) ? value : '(left out)'
  })
  return String.raw({ raw: words }, ...shown)
}

/** More invisible characters in a row than any script or emoji needs. The flag of Scotland has seven. */
const hiddenRun = /[\p{Cf}\p{Default_Ignorable_Code_Point}]{9,}/gu
/** Control characters: no text needs them, and terminals obey some. */
const controls = /[^\P{Cc}\t\n\r]/gu

/** Makes a text safe to show. Each long run of invisible characters is replaced by its length. */
export function cleaned(text: string): string {
  return wellFormed(text).replace(hiddenRun, named).replace(controls, '\uFFFD')
}

/** Writes facts as one line of JSON. No value can end the line or look like another field. */
export function asItem(fact: object): string {
  return cleaned(JSON.stringify(fact))
}

/** Shortens a text to its first `chars` UTF-16 units. */
export function brief(text: string, chars: number): string {
  return text.length > chars ? `${wellFormed(text.slice(0, chars))}…` : text
}

/** Replaces lone surrogates, which JSON in UTF-8 cannot carry. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD')
}

/**
 * Finds the end of a part that `cleaned` shows in at most `chars` characters.
 *
 * The part ends at a paragraph, line or word, if possible.
 */
export function endWithin(text: string, chars: number): number {
  let [at, shown] = [0, 0]
  for (const { 0: run, index } of text.matchAll(hiddenRun)) {
    const most = shown + index - at + named(run).length
    if (most > chars) break
    shown = most
    at = index + run.length
  }
  const end = Math.min(text.length, at + chars - shown)
  if (end === text.length) return end
  const part = text.slice(at, end)
  for (const last of ['\n\n', '\n', ' ']) {
    const found = part.lastIndexOf(last)
    if (found > chars / 2) return at + found + last.length
  }
  return /[\uD800-\uDBFF]$/.test(part) ? end - 1 : end
}

/** Names a run by its length, in characters instead of UTF-16 units. */
function named(run: string): string {
  let count = 0
  for (let at = 0; at < run.length; at++) if ((run.charCodeAt(at) & 0xfc00) !== 0xdc00) count++
  return `[${count} invisible characters]`
}
