/**
 * Text of others, quoted: it stands between marks with a random id that no text can know, so that who reads an answer can
 * tell what the service says from what a node says.
 */

import { randomBytes } from 'node:crypto'

export interface Marks {
  readonly open: (attributes: Readonly<Record<string, string | undefined>>) => string
  readonly close: string
}

/** 72 bits. */
const idBytes = 9

/** Of one answer. Attributes are the service's own words and ids. */
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

/** What an answer names outside of marks: ids of Grove and Git, branches of proposals, addresses, and these words. */
const plain =
  /^(?:[\da-f-]{1,64}|agent\/[\da-f]{12}|(?:grove|https?):\/\/[^\s<>"']{1,2000}|true|false|open|closed|merged|draft)$/i

/**
 * A sentence of the answer's own, outside of marks. It names numbers, ids and addresses; any other value that a service
 * gives for one is left out.
 */
export function own(words: TemplateStringsArray, ...values: readonly unknown[]): string {
  const shown = values.map((value) => {
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    return typeof value === 'string' && plain.test(value) ? value : '(left out)'
  })
  return String.raw({ raw: words }, ...shown)
}

/** More invisible characters in a row than any script or emoji needs; a flag of Scotland has seven. */
const hiddenRun = /[\p{Cf}\p{Default_Ignorable_Code_Point}]{9,}/gu
/** No text needs them, and terminals obey some. */
const controls = /[^\P{Cc}\t\n\r]/gu

/** The text as it is shown: long runs of what cannot be seen give way to their number. */
export function cleaned(text: string): string {
  return wellFormed(text).replace(hiddenRun, named).replace(controls, '\uFFFD')
}

/** A fact on one line: no text in it can end the line or look like another field. */
export function asItem(fact: object): string {
  return cleaned(JSON.stringify(fact))
}

/** The beginning of a text that may be long. */
export function brief(text: string, chars: number): string {
  return text.length > chars ? `${wellFormed(text.slice(0, chars))}…` : text
}

/** Without halves of characters, which JSON in UTF-8 cannot carry. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD')
}

/** Where a part of the text ends that `cleaned` shows in at most `chars` characters; at a paragraph, a line or a word if it can. */
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

/** Counts characters, not the units of UTF-16. */
function named(run: string): string {
  let count = 0
  for (let at = 0; at < run.length; at++) if ((run.charCodeAt(at) & 0xfc00) !== 0xdc00) count++
  return `[${count} invisible characters]`
}
