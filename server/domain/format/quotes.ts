/**
 * Finds quoted words in the lines of a text. Runs of white space are equal, also if they contain line ends. So are
 * canonically equivalent characters, such as é and e with U+0301.
 */

import type { LineRange } from './line-map.ts'

/** Selects words. Source: W3C Web Annotation Data Model, TextQuoteSelector. */
export interface Quote {
  readonly exact: string
  readonly prefix?: string
  readonly suffix?: string
}

/** The text directly before and after some words. Runs of white space are one space. */
interface Surroundings {
  readonly prefix: string
  readonly suffix: string
}

/** An occurrence of the words: the lines that it is on, and its surroundings. */
export interface Occurrence extends LineRange, Surroundings {}

/** Occurrences that are compared. Beyond that, words are not specific. */
export const maxOccurrences = 1_000

/** UTF-16 units of surroundings. A prefix of 64 characters may have 128. */
const surroundingUnits = 128

/** The lines of a text, prepared for several searches. */
export class SearchableLines {
  readonly lines: readonly string[]
  readonly #spaced: string[] = []

  constructor(lines: readonly string[]) {
    this.lines = lines
  }

  /**
   * Returns the occurrences within the range, in order. They may overlap. Stops one above `maxOccurrences`. A part of a
   * character with its combining marks does not count.
   */
  find({ exact }: Quote, range: LineRange): Occurrence[] {
    const words = spaced(exact)
    const core = words.trim()
    if (core === '' || /\p{Surrogate}/u.test(core)) return []
    const lead = words.indexOf(core)
    const { text, starts, first, begin, end } = this.#window(range)
    const found: Occurrence[] = []
    for (let at = text.indexOf(words); at >= 0 && found.length <= maxOccurrences; at = text.indexOf(words, at + 1)) {
      const [from, to] = [at + lead, at + lead + core.length]
      if (to > end) break
      if (from < begin || isInsideCharacter(text, from, to)) continue
      found.push({
        from: first + lineAt(starts, from),
        to: first + lineAt(starts, to - 1) + 1,
        prefix: text.slice(Math.max(0, at - surroundingUnits), at),
        suffix: text.slice(at + words.length, at + words.length + surroundingUnits),
      })
    }
    return found
  }

  /**
   * The range as one text, with surroundings. `starts` has the offset of each line, from the line `first`. The range is
   * from `begin` to `end`. A space is before, between and after lines.
   */
  #window(range: LineRange) {
    let first = range.from
    for (let units = 0; first > 0 && units < surroundingUnits; first--) units += this.#line(first - 1).length + 1
    const starts: number[] = []
    const parts = [' ']
    let length = 1
    let [begin, end] = [1, 1]
    for (let at = first, units = 0; at < this.lines.length && (at < range.to || units < surroundingUnits); at++) {
      if (at === range.from) begin = length
      starts.push(length)
      const line = this.#line(at)
      if (line !== '') parts.push(line, ' ')
      length += line === '' ? 0 : line.length + 1
      if (at < range.to) end = length
      else units += line.length + 1
    }
    return { text: parts.join(''), starts, first, begin, end }
  }

  #line(at: number): string {
    this.#spaced[at] ??= spaced(this.lines[at] ?? '').trim()
    return this.#spaced[at]
  }
}

function spaced(text: string): string {
  return text.normalize('NFC').replace(/\s+/gu, ' ')
}

/** The index of the last start at or before the offset. */
function lineAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

const joined = /[\p{M}\p{Emoji_Modifier}\u200d]/uy

/** True if a character begins before `from` or ends after `to`. Marks, modifiers and joiners continue one. */
function isInsideCharacter(text: string, from: number, to: number): boolean {
  joined.lastIndex = to
  return joined.test(text) || text[from - 1] === '\u200d'
}

/** A part of a text, in UTF-16 units. The end is excluded. */
interface Span {
  readonly start: number
  readonly end: number
}

/** A character with its marks, or a run of white space. Canonical composition does not cross its ends. */
const chunk = /\s+|[^\s](?:[\p{M}\p{Emoji_Modifier}\u1160-\u11ff]|\u200d)*/gu

/**
 * Finds quoted words in a text as it is, without white space around them. The spans are those of `SearchableLines.find`
 * in the lines of the text, in the same order. A span is undefined if it does not begin and end with a character.
 */
export function wordsIn(raw: string, { exact }: Quote): (Span | undefined)[] {
  const words = spaced(exact)
  const core = words.trim()
  if (core === '' || /\p{Surrogate}/u.test(core)) return []
  const offsets = new Map<number, number>()
  const parts = [' ']
  let length = 1
  for (const { 0: part, index } of raw.matchAll(chunk)) {
    const isSpace = /^\s/u.test(part)
    if (isSpace && (index === 0 || index + part.length === raw.length)) continue
    offsets.set(length, index)
    const shown = isSpace ? ' ' : part.normalize('NFC')
    parts.push(shown)
    length += shown.length
  }
  offsets.set(length, raw.trimEnd().length)
  const text = `${parts.join('')} `
  const found: (Span | undefined)[] = []
  for (let at = text.indexOf(words); at >= 0 && found.length <= maxOccurrences; at = text.indexOf(words, at + 1)) {
    const from = at + words.indexOf(core)
    if (isInsideCharacter(text, from, from + core.length)) continue
    const [start, end] = [offsets.get(from), offsets.get(from + core.length)]
    const isWhole = start !== undefined && end !== undefined && spaced(raw.slice(start, end)) === core
    found.push(isWhole ? { start, end } : undefined)
  }
  return found
}

/** The prefix and suffix of a quote as surroundings. */
export function surroundingsOf({ prefix = '', suffix = '' }: Quote): Surroundings {
  return { prefix: spaced(prefix), suffix: spaced(suffix) }
}

/** The number of UTF-16 units in which two surroundings agree, outwards from the words. */
export function agreement(one: Surroundings, other: Surroundings): number {
  let before = 0
  const most = Math.min(one.prefix.length, other.prefix.length)
  while (before < most && one.prefix.at(-1 - before) === other.prefix.at(-1 - before)) before++
  let after = 0
  while (after < one.suffix.length && one.suffix[after] === other.suffix[after]) after++
  return before + after
}
