/** Splits text into words and reduces each to its search term. */
import { isUnspaced, piecesOf, type Span } from './scripts.ts'
import { fold, isStopWord, type Language, stemOf } from './stems.ts'

/** Names what the terms of a text are. Raise the number with any change of them; ICU brings dictionaries and letters. */
export const ANALYZER_VERSION: string = `10-icu${process.versions.icu ?? ''}`

/** A word as the index sees it. */
interface Meaning {
  /** Folded and stemmed; the key of postings. */
  term: string
  isStopWord: boolean
}

/** One word of a text; `start` and `end` are offsets in UTF-16 units, end exclusive. Words may overlap. */
export interface Word extends Meaning, Span {}

/** Letters and digits, joined by an inner apostrophe or full stop; marks belong to the letter before them (NFD, Indic). */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:['’.][\p{L}\p{N}][\p{L}\p{N}\p{M}]*)*/gu

/** Characters of a word that count. The stemmers are quadratic in the length. */
const LONGEST_TERM = 64

/** Words in the cache of a language, which is emptied when it is full. About 20 MB of heap. */
const MEMO_SIZE = 100_000

/** What the words of a language are, by word. */
interface Memo {
  language: Language
  readings: Map<string, readonly Word[]>
}

const memos = new Map<Language, Memo>()

/** The terms of `text` without stop words, in order, with repetitions. */
export function contentTerms(text: string, language: Language = 'en'): string[] {
  const terms: string[] = []
  visitWords(text, language, ({ term, isStopWord }) => {
    if (!isStopWord) terms.push(term)
  })
  return terms
}

/** The terms of `text`, including stop words. */
export function allTerms(text: string, language: Language = 'en'): string[] {
  const terms: string[] = []
  visitWords(text, language, ({ term }) => terms.push(term))
  return terms
}

/** The words of `text` by their positions. @param language whose stems the terms are */
export function wordsOf(text: string, language: Language = 'en'): Word[] {
  const words: Word[] = []
  visitWords(text, language, ({ term, isStopWord }, start, end) => words.push({ term, isStopWord, start, end }))
  return words
}

/**
 * Calls `visit` with the words of `text` by their positions; an identifier comes before its parts. A known word makes no
 * objects.
 */
export function visitWords(
  text: string,
  language: Language,
  visit: (word: Meaning, start: number, end: number) => void,
): void {
  const memo = memoOf(language)
  const take = (readings: readonly Word[], offset: number) => {
    for (const reading of readings) visit(reading, offset + reading.start, offset + reading.end)
  }
  // By `match` and a search from the last end: `matchAll` makes an object for each.
  let at = 0
  for (const run of runsOf(text)) {
    const offset = text.indexOf(run, at)
    at = offset + run.length
    const known = memo.readings.get(run)
    if (known || !isUnspaced(run)) take(known ?? readingsOf(run, memo), offset)
    else
      for (const { start, end, isWhole } of piecesOf(run)) {
        const piece = run.slice(start, end)
        if (isWhole) visit({ term: wholeTerm(piece), isStopWord: false }, offset + start, offset + end)
        else take(readingsOf(piece, memo), offset + start)
      }
  }
}

/** Runs of letters and digits, in order: words of scripts with spaces, or texts without spaces. */
export function runsOf(text: string): readonly string[] {
  return text.match(WORD) ?? []
}

function memoOf(language: Language): Memo {
  const known = memos.get(language)
  if (known) return known
  const memo: Memo = { language, readings: new Map() }
  memos.set(language, memo)
  return memo
}

/** The word itself and the parts of it that are words, with offsets within it. */
function readingsOf(word: string, { language, readings }: Memo): readonly Word[] {
  const known = readings.get(word)
  if (known) return known
  const begun = countedPart(word)
  const parts = identifierParts(begun).map(({ start, end }) => ({
    ...meaningOf(begun.slice(start, end), language),
    start,
    end,
  }))
  const words = [{ ...meaningOf(begun, language), start: 0, end: word.length }, ...parts]
  if (readings.size >= MEMO_SIZE) readings.clear()
  if (word.length <= LONGEST_TERM) readings.set(unshared(word), words)
  return words
}

function meaningOf(word: string, language: Language): Meaning {
  const folded = fold(word)
  return { term: stemOf(folded, language), isStopWord: isStopWord(folded, language) }
}

/** The characters of a word that count. */
export function countedPart(word: string): string {
  return unshared(word.slice(0, LONGEST_TERM))
}

/** The term of a piece of a script without spaces. Full-width and half-width forms are one. */
export function wholeTerm(piece: string): string {
  return countedPart(piece).normalize('NFKC').toLowerCase()
}

/** Copies the string: V8's slice of a text would keep the whole text in memory. It copies shorter ones itself. */
function unshared(word: string): string {
  return word.length < 13 ? word : Buffer.from(word, 'utf16le').toString('utf16le')
}

/** What identifiers show: a full stop inside, or a capital letter after a small one, or two before one. */
const COMPOUND = /\.|\p{Ll}\p{M}*\p{Lu}|\p{Lu}{2}\p{Ll}/u

/** Letters up to a digit, a full stop or the next capital; of XMLHttp, XML and Http; of mRNAs, RNAs. */
const PART = /\p{Lu}{2,}s?(?!\p{Ll})|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?(?:(?![\p{Lu}\p{Lt}])\p{L}|\p{M})+/gu

const SHORTEST_PART = 2

/** Letters of the first part in camel case. Names such as McDonald and LeBron, and siRNA, are no identifiers. */
const SHORTEST_FIRST_PART = 3

/**
 * The parts of a word in camel case or with inner full stops (`searchIndex`, `node.js`, `jane.doe`), by position; none
 * for other words and where fewer than two are long enough. Underscores, slashes, hyphens and @ separate words already.
 */
export function identifierParts(word: string): readonly Span[] {
  if (!COMPOUND.test(word)) return []
  const parts = Array.from(word.matchAll(PART), ({ 0: part, index }) => ({ start: index, end: index + part.length }))
  const first = parts[0]
  if (!word.includes('.') && first && first.end - first.start < SHORTEST_FIRST_PART) return []
  const long = parts.filter(({ start, end }) => end - start >= SHORTEST_PART)
  return long.length < 2 ? [] : long
}
