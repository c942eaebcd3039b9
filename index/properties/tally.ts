/** Counts rows by the places of their values. A row that has a value several times counts once. */

import type { Value } from './values.ts'

export interface Counted {
  readonly value: Value
  readonly count: number
}

export class Tally {
  private counts: Int32Array
  /** The row that was counted last, by place, plus one. */
  private rows: Int32Array
  /** The places of values that have no code. */
  private readonly places = new Map<number, number>()

  /** @param size the number of places that are known */
  constructor(size: number) {
    this.counts = new Int32Array(size)
    this.rows = new Int32Array(size)
  }

  /** Returns the place of a number, which it gets now if it is new. */
  placeOf(number: number): number {
    const known = this.places.get(number)
    if (known !== undefined) return known
    const place = this.places.size
    this.places.set(number, place)
    if (place >= this.counts.length) {
      const [counts, rows] = [this.counts, this.rows]
      this.counts = new Int32Array(2 * place + 16)
      this.rows = new Int32Array(2 * place + 16)
      this.counts.set(counts)
      this.rows.set(rows)
    }
    return place
  }

  add(row: number, place: number): void {
    if (this.rows[place] === row + 1) return
    this.rows[place] = row + 1
    this.counts[place] = (this.counts[place] ?? 0) + 1
  }

  /** Lists the values that occur, by their places. */
  list(toValue: (place: number) => Value): Counted[] {
    const found: Counted[] = []
    for (const [place, count] of this.counts.entries()) if (count > 0) found.push({ value: toValue(place), count })
    return found
  }

  /** Lists the numbers that occur. */
  listNumbers(toValue: (number: number) => Value): Counted[] {
    const numbers = [...this.places.keys()]
    return this.list((place) => toValue(numbers[place] ?? 0))
  }
}
