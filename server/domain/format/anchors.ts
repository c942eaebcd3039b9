/** Anchors of comments: places in a commit, and the same places in later versions. */

import type { Oid } from '../../../gitstore/repo.ts'
import { type LineMap, type LineRange, mapLines, replacedLines, shiftLines } from './line-map.ts'
import { agreement, maxOccurrences, type Occurrence, type Quote, SearchableLines, surroundingsOf } from './quotes.ts'

/** A place as the ledger stores it. Without lines and pointer it is the whole file. */
export interface Anchor {
  readonly commit: Oid
  readonly path: string
  /** Counted from 1. */
  readonly first_line?: number
  readonly num_lines?: number
  /** Words in these lines. */
  readonly quote?: Quote
  /** A JSON pointer. */
  readonly pointer?: string
}

/** A place as a request sends it. */
export interface AnchorInput {
  readonly commit: string
  readonly path: string
  readonly first_line?: number | undefined
  readonly num_lines?: number | undefined
  readonly quote?:
    | { readonly exact: string; readonly prefix?: string | undefined; readonly suffix?: string | undefined }
    | undefined
  readonly pointer?: string | undefined
}

/** Characters above which anchored lines are specific enough to be found where they were moved. */
const movableCharacters = 40

/** Lines of a later version. If they are outdated, the line where they were; undefined if the version is empty. */
export type PlacedLines =
  | { readonly isOutdated: false; readonly lines: LineRange }
  | { readonly isOutdated: true; readonly near: number | undefined }

/** Two versions of a text, prepared to place many anchors. */
export class TextChange {
  readonly map: LineMap
  readonly #before: SearchableLines
  readonly #after: SearchableLines
  #codes: readonly [before: string, after: string] | undefined

  /** @param map of the same texts, if it is known */
  constructor(before: readonly string[], after: readonly string[], map: LineMap = mapLines(before, after)) {
    this.map = map
    this.#before = new SearchableLines(before)
    this.#after = new SearchableLines(after)
  }

  /** The number of lines of the first version. */
  get linesBefore(): number {
    return this.#before.lines.length
  }

  /**
   * Places lines of the first version, which must have them. They are shifted if none of them was replaced. Otherwise the
   * same lines are searched in the whole text, then the quote in the lines that replaced them.
   */
  place(range: LineRange, quote?: Quote): PlacedLines {
    const lines = shiftLines(this.map, range) ?? this.#placeMoved(range) ?? (quote && this.#placeQuote(range, quote))
    return lines ? { isOutdated: false, lines } : { isOutdated: true, near: this.#near(range) }
  }

  /**
   * Finds the quote in the lines that replaced the range. Blank lines do not separate replaced lines. If there are
   * several occurrences, the one counts whose surroundings agree most with the quote's. Equal words may have been next to
   * the quoted words. Then the surroundings must agree more with those of the quoted words.
   */
  #placeQuote(range: LineRange, quote: Quote): LineRange | undefined {
    if (this.map.isRough) return undefined
    const areBlank = ({ from, to }: LineRange) => this.#before.lines.slice(from, to).every((line) => line.trim() === '')
    const { before, after } = replacedLines(this.map, range, areBlank)
    const now = this.#after.find(quote, after)
    const then = this.#before.find(quote, before)
    if (now.length === 0 || Math.max(now.length, then.length) > maxOccurrences) return undefined
    const around = surroundingsOf(quote)
    const [best, ...equals] = bestOf(now, (one) => agreement(around, one))
    const isOne = best && equals.every(({ from, to }) => from === best.from && to === best.to)
    const isInside = ({ from, to }: Occurrence) => from >= range.from && to <= range.to
    const own = bestOf(then.filter(isInside), (one) => agreement(around, one))
    if (!isOne || own.length === 0) return undefined
    const agreeing = (some: readonly Occurrence[]) => Math.max(-1, ...some.map((one) => agreement(one, best)))
    const others = then.filter((one) => !own.includes(one))
    return agreeing(own) > agreeing(others) ? { from: best.from, to: best.to } : undefined
  }

  /** Finds lines that are once in each version: a paragraph that was moved. */
  #placeMoved({ from, to }: LineRange): LineRange | undefined {
    const characters = this.#before.lines.slice(from, to).reduce((sum, line) => sum + line.trim().length, 0)
    if (characters < movableCharacters) return undefined
    this.#codes ??= encoded(this.#before.lines, this.#after.lines)
    const [before, after] = this.#codes
    const lines = before.slice(from, to)
    const at = onlyIndexOf(after, lines)
    if (at === undefined || onlyIndexOf(before, lines) === undefined) return undefined
    return { from: at, to: at + lines.length }
  }

  /** The line of the later version where the range was, or its last line. */
  #near(range: LineRange): number | undefined {
    const last = this.#after.lines.length - 1
    if (last < 0) return undefined
    const { before, after } = replacedLines(this.map, range)
    const part = (range.from - before.from) / (before.to - before.from)
    return Math.min(after.from + Math.floor(part * (after.to - after.from)), last)
  }
}

/** The items with the greatest figure. */
function bestOf<T>(some: readonly T[], figureOf: (one: T) => number): T[] {
  const figures = some.map(figureOf)
  const most = Math.max(...figures)
  return some.filter((_, at) => figures[at] === most)
}

/** Encodes each line as one UTF-16 unit. Equal lines get equal units. The texts have at most 65,536 different lines. */
function encoded(before: readonly string[], after: readonly string[]): [string, string] {
  const units = new Map<string, string>()
  const unitOf = (line: string) => {
    const known = units.get(line)
    if (known !== undefined) return known
    const unit = String.fromCharCode(units.size)
    units.set(line, unit)
    return unit
  }
  return [before.map(unitOf).join(''), after.map(unitOf).join('')]
}

/** The index of `part` if it occurs once. */
function onlyIndexOf(text: string, part: string): number | undefined {
  const at = text.indexOf(part)
  return at >= 0 && text.indexOf(part, at + 1) < 0 ? at : undefined
}
