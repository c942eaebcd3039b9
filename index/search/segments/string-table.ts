/** Sorted distinct strings as one block of UTF-8, without a JavaScript string for each. */

export interface StringTable {
  readonly bytes: Uint8Array
  /** The offsets of the strings in `bytes`, followed by the end of the last one. */
  readonly starts: Uint32Array
}

const decoder = new TextDecoder()

export function sizeOf({ starts }: StringTable): number {
  return starts.length - 1
}

/** Builds a table from distinct strings, sorted by their bytes. */
export function tableOf(sorted: readonly Uint8Array[]): StringTable {
  const starts = new Uint32Array(sorted.length + 1)
  let length = 0
  for (const [rank, string] of sorted.entries()) {
    starts[rank] = length
    length += string.length
  }
  starts[sorted.length] = length
  const bytes = new Uint8Array(length)
  for (const [rank, string] of sorted.entries()) bytes.set(string, starts[rank])
  return { bytes, starts }
}

/** Returns the bytes of the string with this rank, as a view. */
export function bytesAt({ bytes, starts }: StringTable, rank: number): Uint8Array {
  return bytes.subarray(starts[rank], starts[rank + 1])
}

export function stringAt(table: StringTable, rank: number): string {
  return decoder.decode(bytesAt(table, rank))
}

/** Returns the rank of `string`. If the table lacks it, returns -1 minus the rank that it would have. */
export function rankOf(table: StringTable, string: string | Uint8Array): number {
  const sought = typeof string === 'string' ? Buffer.from(string) : string
  let low = 0
  let high = sizeOf(table) - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const order = compareAt(table, middle, sought, 0, sought.length)
    if (order === 0) return middle
    if (order < 0) low = middle + 1
    else high = middle - 1
  }
  return -1 - low
}

/** Returns the ranks `[from, to)` of the strings with a prefix, which must not be empty. */
export function ranksBeginning(table: StringTable, beginning: string): { from: number; to: number } {
  const bytes = Buffer.from(beginning)
  const place = (sought: Uint8Array) => {
    const rank = rankOf(table, sought)
    return rank < 0 ? -1 - rank : rank
  }
  const from = place(bytes)
  // The last byte of a UTF-8 string is less than 0xc0, so adding 1 does not overflow.
  const next = Buffer.from(bytes)
  next[next.length - 1] = (next.at(-1) ?? 0) + 1
  return { from, to: place(next) }
}

/**
 * Returns the rank after all strings with the same first `length` bytes as this one. Reads few strings if few share
 * them.
 */
export function rankAfterShared(table: StringTable, rank: number, length: number): number {
  const size = sizeOf(table)
  let shares = rank
  let differs = rank + 1
  for (let step = 1; differs < size && sharesBytes(table, rank, differs, length); step *= 2) {
    shares = differs
    differs = Math.min(size, differs + step)
  }
  while (differs - shares > 1) {
    const middle = (shares + differs) >> 1
    if (sharesBytes(table, rank, middle, length)) shares = middle
    else differs = middle
  }
  return differs
}

function sharesBytes({ bytes, starts }: StringTable, rank: number, other: number, length: number): boolean {
  const start = starts[rank] ?? 0
  const otherStart = starts[other] ?? 0
  if ((starts[other + 1] ?? 0) - otherStart < length) return false
  for (let i = 0; i < length; i++) if (bytes[start + i] !== bytes[otherStart + i]) return false
  return true
}

/** Compares strings. Negative if the string with this rank comes before `other[from..to)`. */
function compareAt({ bytes, starts }: StringTable, rank: number, other: Uint8Array, from: number, to: number): number {
  const start = starts[rank] ?? 0
  const length = (starts[rank + 1] ?? 0) - start
  const common = Math.min(length, to - from)
  for (let i = 0; i < common; i++) {
    const difference = (bytes[start + i] ?? 0) - (other[from + i] ?? 0)
    if (difference !== 0) return difference
  }
  return length - (to - from)
}

/** Returns a table of the strings with these ascending ranks. */
export function pick({ bytes, starts }: StringTable, ranks: readonly number[]): StringTable {
  const picked = new Uint32Array(ranks.length + 1)
  let length = 0
  for (const [n, rank] of ranks.entries()) {
    picked[n] = length
    length += (starts[rank + 1] ?? 0) - (starts[rank] ?? 0)
  }
  picked[ranks.length] = length
  const copy = new Uint8Array(length)
  for (const [n, rank] of ranks.entries()) copy.set(bytes.subarray(starts[rank], starts[rank + 1]), picked[n])
  return { bytes: copy, starts: picked }
}

/**
 * Walks several tables at once, in order. Yields the ranks of each distinct string in all tables, -1 if a table lacks
 * it. Reuses the array.
 */
export function* walkTables(tables: readonly StringTable[]): Generator<Int32Array, void, undefined> {
  const at = new Int32Array(tables.length)
  const ranks = new Int32Array(tables.length)
  for (;;) {
    let least: StringTable | undefined
    let leastRank = 0
    for (const [i, table] of tables.entries()) {
      const rank = at[i] ?? 0
      const order = rank >= sizeOf(table) ? 1 : least === undefined ? -1 : compare(table, rank, least, leastRank)
      ranks[i] = order <= 0 ? rank : -1
      if (order >= 0) continue
      ranks.fill(-1, 0, i)
      least = table
      leastRank = rank
    }
    if (least === undefined) return
    yield ranks
    for (let i = 0; i < ranks.length; i++) if ((ranks[i] ?? -1) >= 0) at[i] = (at[i] ?? 0) + 1
  }
}

function compare(a: StringTable, rank: number, b: StringTable, otherRank: number): number {
  return compareAt(a, rank, b.bytes, b.starts[otherRank] ?? 0, b.starts[otherRank + 1] ?? 0)
}

/** Collects sorted strings, at most `count` with a total of `length` bytes. */
export function tableWriter(count: number, length: number) {
  const bytes = new Uint8Array(length)
  const starts = new Uint32Array(count + 1)
  let written = 0
  let size = 0
  return {
    add(from: StringTable, rank: number): void {
      const start = from.starts[rank] ?? 0
      const end = from.starts[rank + 1] ?? 0
      for (let i = start; i < end; i++) bytes[written++] = from.bytes[i] ?? 0
      starts[++size] = written
    },
    /** Returns a copy, so that unused memory is freed. */
    table: (): StringTable => ({ bytes: bytes.slice(0, written), starts: starts.slice(0, size + 1) }),
  }
}
