/**
 * Replaces lines and words of a text. Line ends of the text are kept, and so is the lack of one at its end. Offsets are
 * UTF-16 units.
 */

import type { LineRange } from './line-map.ts'
import { agreement, maxOccurrences, type Quote, SearchableLines, surroundingsOf, wordsIn } from './quotes.ts'

/** Replaces the text from `start` to `end`, which is excluded. */
export interface TextEdit {
  readonly start: number
  readonly end: number
  readonly text: string
  /** True if it removes the last lines, and the last one had no line end. */
  readonly removesEnd?: boolean
}

/** A text with the offsets of its lines. */
export class EditableText {
  readonly text: string
  readonly search: SearchableLines
  readonly #starts: readonly number[]

  constructor(text: string) {
    this.text = text
    const starts = [0]
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
    if (starts.at(-1) === text.length) starts.pop()
    this.#starts = starts
    this.search = new SearchableLines(starts.map((_, line) => this.line(line)))
  }

  /** A line without its end. */
  line(at: number): string {
    return this.#whole(at).replace(/\r?\n$/, '')
  }

  /** Returns the edit that replaces lines by those of `text`. An empty text removes the lines. */
  replaceLines({ from, to }: LineRange, text: string): TextEdit {
    const span = { start: this.#starts[from] ?? this.text.length, end: this.#starts[to] ?? this.text.length }
    const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
    const ends = lines.map((_, at) => this.#endOf(Math.min(from + at, to - 1)))
    const isEnd = endOf(this.#whole(to - 1)) === ''
    if (lines.length === 0) return { ...span, text: '', removesEnd: isEnd }
    if (isEnd) ends[lines.length - 1] = ''
    return { ...span, text: lines.map((line, at) => line + ends[at]).join('') }
  }

  /**
   * Returns the edit that replaces words within lines. Undefined if the words are not there, or there several times.
   *
   * @param ordinal which of the occurrences in the lines it is, if that is known
   */
  replaceWords({ from, to }: LineRange, quote: Quote, text: string, ordinal?: number): TextEdit | undefined {
    const base = this.#starts[from] ?? 0
    const raw = this.text.slice(base, this.#starts[to] ?? this.text.length).replace(/\r?\n$/, '')
    const at = ordinal ?? this.ordinalOf({ from, to }, quote)
    const core = at === undefined ? undefined : wordsIn(raw, quote)[at]
    if (!core) return undefined
    const lead = withSpace(quote.exact, raw.slice(0, core.start), 'before')
    const trail = withSpace(quote.exact, raw.slice(core.end), 'after')
    let words = text
    if (lead === undefined) words = words.trimStart()
    if (trail === undefined) words = words.trimEnd()
    const start = base + core.start - (lead ?? 0)
    const end = base + core.end + (trail ?? 0)
    return { start, end, text: words.replace(/\r?\n/g, this.#endOf(from)) }
  }

  /** The index of the quoted words among their occurrences in the lines. Undefined if several are equally likely. */
  ordinalOf(range: LineRange, quote: Quote): number | undefined {
    const found = this.search.find(quote, range)
    if (found.length === 0 || found.length > maxOccurrences) return undefined
    const around = surroundingsOf(quote)
    const figures = found.map((one) => agreement(around, one))
    const most = Math.max(...figures)
    const at = figures.indexOf(most)
    return figures.indexOf(most, at + 1) < 0 ? at : undefined
  }

  #whole(line: number): string {
    return this.text.slice(this.#starts[line] ?? this.text.length, this.#starts[line + 1] ?? this.text.length)
  }

  /** The end of the line. The last line may have none, and is treated as the line before it. */
  #endOf(line: number): string {
    return endOf(this.#whole(line)) || endOf(this.#whole(line - 1)) || '\n'
  }
}

function endOf(line: string): string {
  return /\r?\n$/.exec(line)?.[0] ?? ''
}

/**
 * The length of the white space next to the words that the quote includes. It must be the same as in the quote, apart
 * from CR. Undefined if it differs: then it stays, because it may separate paragraphs.
 */
function withSpace(exact: string, raw: string, side: 'before' | 'after'): number | undefined {
  const quoted = (side === 'before' ? /^\s*/u : /\s*$/u).exec(exact)?.[0] ?? ''
  for (const space of [quoted, quoted.replace(/\r?\n/g, '\r\n'), quoted.replace(/\r\n/g, '\n')])
    if (side === 'before' ? raw.endsWith(space) : raw.startsWith(space)) return space.length
  return undefined
}

/** A passage of a text, and the text that replaces it. */
export interface PassageEdit {
  readonly old: string
  readonly new: string
}

/**
 * Replaces passages of a text. Each is found exactly once, and no two overlap. In a text with CRLF, their line ends may
 * also be LF.
 *
 * @returns the problem if a passage cannot be replaced, with its index
 */
export function replacePassages(
  text: string,
  passages: readonly PassageEdit[],
): { readonly text: string } | { readonly at: number; readonly problem: string } {
  const edits: TextEdit[] = []
  for (const [at, passage] of passages.entries()) {
    const isCrlf = !text.includes(passage.old) && text.includes('\r\n')
    const [old, words] = [passage.old, passage.new].map((one) => (isCrlf ? one.replace(/\r?\n/g, '\r\n') : one))
    const start = old ? text.indexOf(old) : -1
    if (start < 0 || !old) return { at, problem: 'The file does not have this text. Read the file again and copy it' }
    if (text.indexOf(old, start + 1) >= 0)
      return { at, problem: 'The file has this text more than once. Add the words or lines around it' }
    edits.push({ start, end: start + old.length, text: words ?? '' })
  }
  const [overlapping] = overlapsIn(edits)
  if (overlapping !== undefined) return { at: overlapping, problem: 'It overlaps with another edit. Join the two' }
  return { text: applyEdits(text, edits) }
}

/** The indexes of edits that overlap with another. Edits that only touch do not overlap. */
export function overlapsIn(edits: readonly TextEdit[]): Set<number> {
  const sorted = [...edits.entries()].sort(([, a], [, b]) => a.start - b.start || a.end - b.end)
  const overlapping = new Set<number>()
  let last: (typeof sorted)[number] | undefined
  for (const one of sorted) {
    if (last && one[1].start < last[1].end) overlapping.add(last[0]).add(one[0])
    if (!last || one[1].end > last[1].end) last = one
  }
  return overlapping
}

/** Applies edits that do not overlap. If they remove the last lines of a text without a line end, it gets none. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const parts: string[] = []
  let at = 0
  for (const { start, end, text: words } of [...edits].sort((a, b) => a.start - b.start)) {
    parts.push(text.slice(at, start), words)
    at = end
  }
  parts.push(text.slice(at))
  const edited = parts.join('')
  return edits.some(({ removesEnd }) => removesEnd) ? edited.replace(/\r?\n$/, '') : edited
}
