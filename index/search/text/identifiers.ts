/** Finds the words that an identifier is made of. */
import type { Span } from './scripts.ts'

/** What identifiers show: a full stop inside, or a capital letter after a small one, or two before one. */
const COMPOUND = /\.|\p{Ll}\p{M}*\p{Lu}|\p{Lu}{2}\p{Ll}/u

/** Letters up to a digit, a full stop or the next capital; of XMLHttp, XML and Http; of mRNAs, RNAs. */
const PART = /\p{Lu}{2,}s?(?!\p{Ll})|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?(?:(?![\p{Lu}\p{Lt}])\p{L}|\p{M})+/gu

const SHORTEST = 2

/** Letters of the first part in camel case. Names such as McDonald and LeBron, and siRNA, are no identifiers. */
const SHORTEST_FIRST = 3

/**
 * The parts of a word in camel case or with inner full stops (`searchIndex`, `node.js`, `jane.doe`), by position; none
 * for other words and where fewer than two are long enough. Underscores, slashes, hyphens and @ separate words already.
 */
export function partsOf(word: string): readonly Span[] {
  if (!COMPOUND.test(word)) return []
  const parts = Array.from(word.matchAll(PART), ({ 0: part, index }) => ({ start: index, end: index + part.length }))
  const first = parts[0]
  if (!word.includes('.') && first && first.end - first.start < SHORTEST_FIRST) return []
  const long = parts.filter(({ start, end }) => end - start >= SHORTEST)
  return long.length < 2 ? [] : long
}
