/** A page of rows in an order, without sorting the others. */

import type { Subject } from './filter.ts'
import type { PropertyTable } from './table.ts'

export interface SortKey {
  readonly subject: Subject
  readonly isDescending: boolean
}

/** A kind and a number for each row, by which a list sorts. Kind 0 is last. */
interface Key {
  /** Absent: all rows have the same. */
  readonly kinds?: Uint8Array
  readonly numbers: Float64Array
}

/** A part of a list: its first place, and the first one after it. */
interface Part {
  readonly from: number
  readonly to: number
}

/** The place of rows without a value among the kinds. */
const LAST = 31

/** Returns a part of the marked rows, sorted by the keys, then by age. A row without a value is last in both directions. */
export function sortedRows(table: PropertyTable, mask: Uint8Array, sort: readonly SortKey[], part: Part): number[] {
  const keys = sort.map(({ subject, isDescending }) => keyOf(table, subject, isDescending))
  const rows = rowsOf(mask)
  const to = Math.min(part.to, rows.length)
  return select(table, rows, [...keys, { numbers: table.createdByRow() }], { from: part.from, to })
}

function rowsOf(mask: Uint8Array): Int32Array {
  const rows = new Int32Array(mask.length)
  let count = 0
  for (let row = 0; row < mask.length; row++) if (mask[row] === 1) rows[count++] = row
  return rows.subarray(0, count)
}

/** Turns a descending key around, so that the least comes first. */
function keyOf(table: PropertyTable, subject: Subject, isDescending: boolean): Key {
  const [column] = table.columnsOf([subject])
  const key: Key = column?.keys(table.size, isDescending) ?? { numbers: new Float64Array(table.size) }
  if (!isDescending || key.kinds === undefined) return key
  for (let row = 0; row < key.kinds.length; row++) {
    const kind = key.kinds[row] ?? 0
    if (kind !== 0) key.kinds[row] = 16 - kind
    key.numbers[row] = -(key.numbers[row] ?? 0)
  }
  return key
}

/** Returns a part of the rows in their order. Rows beyond it are only divided. */
function select(table: PropertyTable, rows: Int32Array, [key, ...further]: readonly Key[], part: Part): number[] {
  if (part.from >= part.to) return []
  if (key === undefined) return byId(table, rows).slice(part.from, part.to)
  const found: number[] = []
  let before = 0
  for (const group of byKind(rows, key.kinds)) {
    const within = partWithin(part, before, group.length)
    if (within.from < within.to)
      for (const row of selectByNumber(table, group, key.numbers, further, within)) found.push(row)
    before += group.length
  }
  return found
}

/** Sorts rows of the same age by their ids. An import creates such rows. */
function byId({ ids }: PropertyTable, rows: Int32Array): number[] {
  return Array.from(rows).sort((a, b) => ((ids[a] ?? '') < (ids[b] ?? '') ? -1 : 1))
}

/** Returns the part of a group that begins at that place of the list. */
function partWithin({ from, to }: Part, begins: number, length: number): Part {
  return { from: Math.max(from - begins, 0), to: Math.min(to - begins, length) }
}

/** Divides rows by their kinds, in the order of the kinds. */
function byKind(rows: Int32Array, kinds: Uint8Array | undefined): Int32Array[] {
  if (kinds === undefined) return [rows]
  const counts = new Int32Array(LAST + 1)
  for (let n = 0; n < rows.length; n++) increment(counts, kinds[rows[n] ?? 0] || LAST)
  if (counts.includes(rows.length)) return [rows]
  const ends = new Int32Array(LAST + 1)
  for (let kind = 1; kind <= LAST; kind++) ends[kind] = (ends[kind - 1] ?? 0) + (counts[kind - 1] ?? 0)
  const divided = new Int32Array(rows.length)
  for (let n = 0; n < rows.length; n++) {
    const row = rows[n] ?? 0
    divided[increment(ends, kinds[row] || LAST)] = row
  }
  const groups: Int32Array[] = []
  for (let kind = 1; kind <= LAST; kind++) {
    const [end = 0, count = 0] = [ends[kind], counts[kind]]
    if (count > 0) groups.push(divided.subarray(end - count, end))
  }
  return groups
}

/** Adds one, and returns the number before. */
function increment(counts: Int32Array, at: number): number {
  const before = counts[at] ?? 0
  counts[at] = before + 1
  return before
}

function selectByNumber(
  table: PropertyTable,
  rows: Int32Array,
  numbers: Float64Array,
  further: readonly Key[],
  part: Part,
): number[] {
  const { least, most, before } = bounds(rows, numbers, part)
  const ties = new Map<number, number[]>()
  for (let n = 0; n < rows.length; n++) {
    const row = rows[n] ?? 0
    const number = numbers[row] ?? 0
    if (number < least || number > most) continue
    const tied = ties.get(number)
    if (tied === undefined) ties.set(number, [row])
    else tied.push(row)
  }
  const found: number[] = []
  let begins = before
  for (const [, tied] of [...ties].sort(([a], [b]) => a - b)) {
    if (tied.length === 1) found.push(...tied)
    else
      for (const row of select(table, Int32Array.from(tied), further, partWithin(part, begins, tied.length)))
        found.push(row)
    begins += tied.length
  }
  return found
}

/** A part that ends later is found by sorting all numbers. */
const mostByThreshold = 1_000

/** Returns the first and the last number of a part. `before` counts the numbers that are less than both. */
function bounds(rows: Int32Array, numbers: Float64Array, { from, to }: Part) {
  const sorted =
    to <= mostByThreshold && rows.length > 8 * to ? leastNumbers(rows, numbers, to) : allNumbers(rows, numbers)
  const [least = 0, most = 0] = [sorted[from], sorted[to - 1]]
  return { least, most, before: firstAtLeast(sorted, least) }
}

function allNumbers(rows: Int32Array, numbers: Float64Array): Float64Array {
  const all = new Float64Array(rows.length)
  for (let n = 0; n < rows.length; n++) all[n] = numbers[rows[n] ?? 0] ?? 0
  return all.sort()
}

/** Returns the least numbers, sorted. */
function leastNumbers(rows: Int32Array, numbers: Float64Array, count: number): Float64Array {
  const kept = new Float64Array(4 * count)
  let length = 0
  let threshold = Number.POSITIVE_INFINITY
  for (let n = 0; n < rows.length; n++) {
    const number = numbers[rows[n] ?? 0] ?? 0
    if (number > threshold) continue
    kept[length++] = number
    if (length < kept.length) continue
    kept.sort()
    length = count
    threshold = kept[count - 1] ?? threshold
  }
  return kept.subarray(0, length).sort().subarray(0, count)
}

function firstAtLeast(sorted: Float64Array, number: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < number) low = middle + 1
    else high = middle
  }
  return low
}
