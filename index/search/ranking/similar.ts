/** Finds the terms of a sorted table within an edit distance of a word. */
import { rankAfterShared, type StringTable, sizeOf } from '../segments/string-table.ts'

/**
 * The part of a term to compare. `whole` compares as MiniSearch does, without swaps. `beginning` accepts any prefix of
 * the term, for words that are being typed. There, a swap of two neighbours counts as one edit (optimal string
 * alignment).
 */
export type Extent = 'whole' | 'beginning'

export interface Similar {
  readonly rank: number
  readonly edits: number
}

/** Greater than any number of edits. */
const NEVER = 0xff

/**
 * Returns the similar terms for which `isSought` is true, ascending by rank. Edits are insertions, deletions and
 * replacements of code points (Levenshtein). A row of the distance table belongs to a prefix, so neighbouring terms
 * share the rows of their common prefix. If a prefix decides, all terms with it are skipped at once, by a search in the
 * table.
 */
export function similarIn(
  table: StringTable,
  word: string,
  most: number,
  extent: Extent,
  isSought: (rank: number) => boolean = () => true,
): Similar[] {
  const sought = Uint32Array.from([...word].slice(0, NEVER - 2), (letter) => letter.codePointAt(0) ?? 0)
  const walk = walkOf(sought, most, extent === 'beginning')
  const found: Similar[] = []
  for (let rank = 0; rank < sizeOf(table); ) {
    if (!isSought(rank)) {
      rank++
      continue
    }
    const edits = extent === 'whole' ? walk.whole(table, rank) : walk.beginning(table, rank)
    const decided = walk.decided()
    const end = decided === undefined ? rank + 1 : rankAfterShared(table, rank, decided)
    if (edits <= most) for (let like = rank; like < end; like++) if (isSought(like)) found.push({ rank: like, edits })
    rank = end
  }
  return found
}

/** Creates a walk through sorted terms. @param isBeginning true for the extent `beginning`, which also counts swaps */
function walkOf(sought: Uint32Array, most: number, isBeginning: boolean) {
  const width = sought.length + 1
  /** The distance table. Row d compares the first d code points of the term with each prefix of the word. */
  const rows: Uint8Array[] = [Uint8Array.from({ length: width }, (_, i) => i)]
  /** Code points, their ends in the term, and the least distances so far, by depth. */
  const letters: number[] = [0]
  const ends: number[] = [0]
  const leastAtEnd: number[] = [rows[0]?.[width - 1] ?? 0]
  let depth = 0
  /** True if all terms with the last row's prefix are as similar as this one. */
  let isClosed = false
  let last: { readonly start: number; readonly length: number } | undefined

  /** Goes back to the common prefix of the term and the previous one. */
  const goBack = ({ bytes }: StringTable, start: number, length: number) => {
    const common = last === undefined ? 0 : commonLength(bytes, last, start, length)
    last = { start, length }
    const before = depth
    while (depth > 0 && (ends[depth] ?? 0) > common) depth--
    if (depth < before) isClosed = false
  }
  const step = (codePoint: number, end: number) => {
    const above = rows[depth] ?? new Uint8Array(width)
    rows[depth + 1] ??= new Uint8Array(width)
    const row = rows[depth + 1] ?? above
    const twoAbove = isBeginning && depth > 0 ? rows[depth - 1] : undefined
    const before = letters[depth]
    row[0] = Math.min(depth + 1, NEVER)
    let least = row[0]
    for (let i = 1; i < width; i++) {
      const replaced = (above[i - 1] ?? 0) + (sought[i - 1] === codePoint ? 0 : 1)
      let value = Math.min(replaced, (above[i] ?? 0) + 1, (row[i - 1] ?? 0) + 1, NEVER)
      if (twoAbove && i > 1 && sought[i - 1] === before && sought[i - 2] === codePoint)
        value = Math.min(value, (twoAbove[i - 2] ?? 0) + 1)
      row[i] = value
      if (value < least) least = value
    }
    depth++
    letters[depth] = codePoint
    ends[depth] = end
    leastAtEnd[depth] = Math.min(leastAtEnd[depth - 1] ?? NEVER, row[width - 1] ?? NEVER)
    // No later row has less. A swap skips a row, whose minimum is smaller by at most one.
    if (least > most || (isBeginning && (leastAtEnd[depth] ?? NEVER) <= least)) isClosed = true
  }
  /** Walks the rest of the term, unless it cannot be similar. */
  const walk = (table: StringTable, rank: number): boolean => {
    const start = table.starts[rank] ?? 0
    const length = (table.starts[rank + 1] ?? 0) - start
    goBack(table, start, length)
    let at = ends[depth] ?? 0
    while (at < length && !isClosed) {
      const { codePoint, size } = decodeAt(table.bytes, start + at)
      at += size
      step(codePoint, at)
    }
    return at === length
  }
  return {
    whole: (table: StringTable, rank: number): number =>
      walk(table, rank) ? (rows[depth]?.[width - 1] ?? NEVER) : NEVER,
    beginning: (table: StringTable, rank: number): number => {
      walk(table, rank)
      return leastAtEnd[depth] ?? NEVER
    },
    /** Returns the byte length of the prefix that decided the last term. Undefined if only the whole term did. */
    decided: (): number | undefined => (isClosed ? ends[depth] : undefined),
  }
}

function commonLength(
  bytes: Uint8Array,
  last: { readonly start: number; readonly length: number },
  start: number,
  length: number,
): number {
  const most = Math.min(last.length, length)
  let common = 0
  while (common < most && bytes[last.start + common] === bytes[start + common]) common++
  return common
}

/** Decodes a code point of valid UTF-8. */
function decodeAt(bytes: Uint8Array, at: number): { codePoint: number; size: number } {
  const first = bytes[at] ?? 0
  if (first < 0x80) return { codePoint: first, size: 1 }
  const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  let codePoint = first & (0x7f >> size)
  for (let i = 1; i < size; i++) codePoint = (codePoint << 6) | ((bytes[at + i] ?? 0) & 0x3f)
  return { codePoint, size }
}
