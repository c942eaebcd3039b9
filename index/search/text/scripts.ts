/** Finds words in scripts without spaces between words. */

/** A part of a text, with offsets in UTF-16 units. `end` is exclusive. */
export interface Span {
  start: number
  end: number
}

/**
 * A piece of a run. If `isWhole`, it is a term. Otherwise it is a word of a script with spaces, which must be stemmed.
 */
export interface Piece extends Span {
  isWhole: boolean
}

/** Scripts indexed as overlapping pairs of characters. Excludes Hangul, which has spaces. */
const PAIRED = String.raw`\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}`

/** Scripts that ICU segments with a dictionary. */
const SEGMENTED = String.raw`\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}`

const UNSPACED = new RegExp(`[${PAIRED}${SEGMENTED}]`, 'u')

/** The UTF-16 units, or one more, to segment at a time. The segmenter's time is more than linear in the text. */
const LONGEST_RUN = 1_000

/**
 * Matches a paired character with its marks, a run to segment, or another word. Marks include those of half-width kana.
 */
const PART = new RegExp(
  `(?<character>[${PAIRED}][\\p{M}\\uff9e\\uff9f]*)|` +
    `(?<run>[${SEGMENTED}][${SEGMENTED}\\p{M}]{0,${LONGEST_RUN - 1}})|` +
    `(?<word>[^'’.${PAIRED}${SEGMENTED}][^${PAIRED}${SEGMENTED}]*)`,
  'gu',
)

/** The last character of a pair. */
const PAIR_END = new RegExp(`(?<=[${PAIRED}][\\p{M}\\uff9e\\uff9f]*)[${PAIRED}][\\p{M}\\uff9e\\uff9f]*$`, 'u')

/** The segmenter for all segmented scripts. ICU chooses the dictionary by script. Absent until it is used. */
let segmenter: Intl.Segmenter | undefined

/** True if some part of `word` belongs to a script without spaces. */
export function isUnspaced(word: string): boolean {
  return UNSPACED.test(word)
}

/** Returns the second character of a piece that is a pair. */
export function pairEndOf(piece: string): string | undefined {
  return PAIR_END.exec(piece)?.[0]
}

/**
 * Yields the pieces of a run of letters, digits and marks by position. Han, kana and Bopomofo become overlapping pairs,
 * or one character if the run has only one. Thai, Lao, Khmer and Burmese become words from ICU's dictionaries. Linear
 * in `word`: pairs take 0.3 µs a character, segments 2 µs.
 */
export function* piecesOf(word: string): Generator<Piece> {
  let before: (Span & { isPaired: boolean }) | undefined
  for (const match of word.matchAll(PART)) {
    const start = match.index
    const end = start + match[0].length
    const { character, run } = match.groups ?? {}
    const isPaired: boolean = character !== undefined && before?.end === start
    if (before && isPaired) yield { start: before.start, end, isWhole: true }
    else if (before && !before.isPaired) yield { start: before.start, end: before.end, isWhole: true }
    before = character === undefined ? undefined : { start, end, isPaired }
    if (run !== undefined) yield* segmentsOf(run, start)
    else if (character === undefined)
      yield { start, end: start + match[0].replace(/['’.]$/, '').length, isWhole: false }
  }
  if (before && !before.isPaired) yield { start: before.start, end: before.end, isWhole: true }
}

function* segmentsOf(run: string, offset: number): Generator<Piece> {
  segmenter ??= new Intl.Segmenter('th', { granularity: 'word' })
  for (const { segment, index } of segmenter.segment(run)) {
    yield { start: offset + index, end: offset + index + segment.length, isWhole: true }
  }
}
