/** The values of one property, for the rows of a table. */

import { RankedTexts } from './ranked-texts.ts'
import { type Counted, Tally } from './tally.ts'
import { KIND, type Kind, type Value } from './values.ts'

/** The kind of a row with several values, whose place is in `orders`. */
const LIST = 6
/** The length of a list is below its place. Properties of a node have less than 64 KiB. */
const lengths = 65_536

/** A value in a column, which is reused for the next one. */
interface Scratch {
  kind: Kind
  order: number
  text: string
  folded: string
}

export class Column {
  /** The version of the organisation up to which the column has the changes of nodes. */
  version = 0
  readonly texts = new RankedTexts()
  private kinds = new Uint8Array(64)
  /** A number, an instant, the code of a text, or the place of a list. */
  private orders = new Float64Array(64)
  private listKinds = new Uint8Array(0)
  private listOrders = new Float64Array(0)
  private listEnd = 0
  /** The number of texts and elements when the column was first complete. */
  private filled: number | undefined
  /** The instants of dates by the codes of their texts. */
  private readonly instants = new Map<number, number>()
  private readonly scratch: Scratch = { kind: KIND.boolean, order: 0, text: '', folded: '' }

  /** Estimates the memory in bytes. */
  get bytes(): number {
    return 9 * (this.kinds.length + this.listKinds.length) + this.texts.bytes + 60 * this.instants.size
  }

  /** True if earlier values have left more than the current ones. Texts and elements of lists stay in a column. */
  get isWasteful(): boolean {
    return this.filled !== undefined && this.texts.size + this.listEnd > 2 * this.filled + 1_000
  }

  /** Records that the column has the changes up to a version. */
  settle(version: number): void {
    this.version = version
    this.filled ??= this.texts.size + this.listEnd
  }

  set(row: number, values: readonly Value[]): void {
    this.makeRoom(row)
    const [only] = values
    if (only === undefined || values.length === 1) {
      this.kinds[row] = only?.kind ?? 0
      this.orders[row] = only === undefined ? 0 : this.coded(only)
      return
    }
    this.kinds[row] = LIST
    this.orders[row] = this.listEnd * lengths + values.length
    this.makeListRoom(values.length)
    for (const value of values) {
      this.listKinds[this.listEnd] = value.kind
      this.listOrders[this.listEnd++] = this.coded(value)
    }
  }

  clear(row: number): void {
    if (row < this.kinds.length) this.kinds[row] = 0
  }

  /** Marks the rows of which one value passes. Each distinct text is tested once. */
  mark(size: number, test: (value: Value) => boolean): Uint8Array {
    const marks = new Uint8Array(size)
    const passes = this.testTexts(test)
    const { kinds, orders } = this
    const end = Math.min(size, kinds.length)
    for (let row = 0; row < end; row++) {
      const kind = kinds[row] ?? 0
      if (kind === 0) continue
      const order = orders[row] ?? 0
      if (kind === KIND.text || kind === KIND.date) marks[row] = passes[order] ?? 0
      else if (kind === LIST ? this.passesList(order, passes, test) : test(this.read(kind, order))) marks[row] = 1
    }
    return marks
  }

  /**
   * Returns the keys by which a list sorts. They are the kind and the number of each row's smallest value, or of its
   * largest. The kind is 0 without a value.
   */
  keys(size: number, isDescending: boolean): { readonly kinds: Uint8Array; readonly numbers: Float64Array } {
    const kinds = new Uint8Array(size)
    const numbers = new Float64Array(size)
    const ranks = this.texts.size === 0 ? [] : this.texts.ranked()
    const end = Math.min(size, this.kinds.length)
    for (let row = 0; row < end; row++) {
      const kind = this.kinds[row] ?? 0
      const order = this.orders[row] ?? 0
      if (kind === LIST) {
        const place = this.keyPlace(order, isDescending, ranks)
        kinds[row] = this.listKinds[place] ?? 0
        numbers[row] = this.numberOf(this.listKinds[place] ?? 0, this.listOrders[place] ?? 0, ranks)
      } else {
        kinds[row] = kind
        numbers[row] = kind === KIND.number ? order : this.numberOf(kind, order, ranks)
      }
    }
    return { kinds, numbers }
  }

  /** Returns the place of a list's smallest element, or of its largest. */
  private keyPlace(list: number, isDescending: boolean, ranks: readonly number[]): number {
    const [first, last] = this.rangeOf(list)
    let best = first
    for (let place = first + 1; place < last; place++) {
      const [kind, bestKind] = [this.listKinds[place] ?? 0, this.listKinds[best] ?? 0]
      const order =
        kind - bestKind ||
        this.numberOf(kind, this.listOrders[place] ?? 0, ranks) -
          this.numberOf(bestKind, this.listOrders[best] ?? 0, ranks)
      if (isDescending ? order > 0 : order < 0) best = place
    }
    return best
  }

  /** Counts the marked rows that have each value, and those without one. */
  count(mask: Uint8Array): { readonly counts: Counted[]; readonly missing: number } {
    const texts = new Tally(this.texts.size)
    const others = new Map<number, Tally>()
    let missing = 0
    const add = (row: number, kind: number, order: number) => {
      if (kind === KIND.text || kind === KIND.date) texts.add(row, order)
      else {
        const tally = others.get(kind) ?? new Tally(0)
        others.set(kind, tally)
        tally.add(row, tally.placeOf(order))
      }
    }
    for (let row = 0; row < mask.length; row++) {
      if (mask[row] !== 1) continue
      const kind = this.kinds[row] ?? 0
      if (kind === 0) missing++
      else if (kind !== LIST) add(row, kind, this.orders[row] ?? 0)
      else {
        const [first, last] = this.rangeOf(this.orders[row] ?? 0)
        for (let n = first; n < last; n++) add(row, this.listKinds[n] ?? 0, this.listOrders[n] ?? 0)
      }
    }
    const counts = texts.list((code) => ({ ...this.read(this.instants.has(code) ? KIND.date : KIND.text, code) }))
    for (const [kind, tally] of others) counts.push(...tally.listNumbers((order) => ({ ...this.read(kind, order) })))
    return { counts, missing }
  }

  /** Counts the rows whose only value is a text, by text. Dates are texts. */
  countTexts(): { readonly text: string; readonly nodes: number }[] {
    const counts = new Map<number, number>()
    for (let row = 0; row < this.kinds.length; row++) {
      const kind = this.kinds[row] ?? 0
      const code = this.orders[row] ?? 0
      if (kind === KIND.text || kind === KIND.date) counts.set(code, (counts.get(code) ?? 0) + 1)
    }
    return [...counts].map(([code, nodes]) => ({ text: this.texts.textAt(code), nodes }))
  }

  /** The test of each text by code: 0 or 1. A text and a date with the same text have the same code. */
  private testTexts(test: (value: Value) => boolean): Uint8Array {
    const passes = new Uint8Array(this.texts.size)
    for (let code = 0; code < passes.length; code++) {
      const kind = this.instants.has(code) ? KIND.date : KIND.text
      if (test(this.read(kind, code))) passes[code] = 1
    }
    return passes
  }

  private passes(kind: number, order: number, passes: Uint8Array, test: (value: Value) => boolean): boolean {
    return kind === KIND.text || kind === KIND.date ? passes[order] === 1 : test(this.read(kind, order))
  }

  private passesList(place: number, passes: Uint8Array, test: (value: Value) => boolean): boolean {
    const [first, last] = this.rangeOf(place)
    for (let n = first; n < last; n++)
      if (this.passes(this.listKinds[n] ?? 0, this.listOrders[n] ?? 0, passes, test)) return true
    return false
  }

  private read(kind: number, order: number): Value {
    const { scratch, texts } = this
    const isText = kind === KIND.text || kind === KIND.date
    scratch.kind = kind as Kind
    scratch.order = kind === KIND.date ? (this.instants.get(order) ?? 0) : order
    scratch.text = isText ? texts.textAt(order) : ''
    scratch.folded = isText ? texts.foldAt(order) : ''
    return scratch
  }

  private coded(value: Value): number {
    if (value.kind !== KIND.text && value.kind !== KIND.date) return value.order
    const code = this.texts.codeOf(value.text)
    if (value.kind === KIND.date) this.instants.set(code, value.order)
    return code
  }

  private numberOf(kind: number, order: number, ranks: readonly number[]): number {
    if (kind === KIND.text) return ranks[order] ?? 0
    return kind === KIND.date ? (this.instants.get(order) ?? 0) : order
  }

  private rangeOf(place: number): [number, number] {
    const first = Math.floor(place / lengths)
    return [first, first + (place % lengths)]
  }

  private makeRoom(row: number): void {
    if (row < this.kinds.length) return
    this.kinds = grown(this.kinds, row + 1, (size) => new Uint8Array(size))
    this.orders = grown(this.orders, row + 1, (size) => new Float64Array(size))
  }

  private makeListRoom(count: number): void {
    const size = this.listEnd + count
    if (size <= this.listKinds.length) return
    this.listKinds = grown(this.listKinds, size, (length) => new Uint8Array(length))
    this.listOrders = grown(this.listOrders, size, (length) => new Float64Array(length))
  }
}

/** Copies an array into one that has half as much room again. */
export function grown<T extends Uint8Array | Float64Array | Int32Array>(
  array: T,
  size: number,
  create: (size: number) => T,
): T {
  const larger = create(Math.max(size, Math.ceil(array.length * 1.5)))
  larger.set(array)
  return larger
}
