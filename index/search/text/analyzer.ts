/** Splits text into words, and reduces each word to its search term. */
import { isUnspaced, piecesOf, type Span } from './scripts.ts'
import { fold, isStopWord, type Language, stemOf } from './stems.ts'

/**
 * Identifies how texts become terms. Raise the number with every change. ICU supplies dictionaries and character
 * classes.
 */
export const ANALYZER_VERSION: string = `12-icu${process.versions.icu ?? ''}`

/** The form of a word in the index. */
interface Meaning {
  /** Folded and stemmed. The key of postings. */
  term: string
  isStopWord: boolean
}

/** One word of a text; `start` and `end` are offsets in UTF-16 units, end exclusive. Words may overlap. */
export interface Word extends Meaning, Span {}

/**
 * Letters and digits, joined by an inner apostrophe or full stop. Marks belong to the letter before them (NFD, Indic).
 * Latin names of languages may begin with a full stop, as .NET, or end with ++ or #, as C++ and C#.
 */
const WORD =
  /(?:(?<![^\s(])\.(?=\p{sc=Latin}))?[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:['’.][\p{L}\p{N}][\p{L}\p{N}\p{M}]*)*(?:(?<=\p{sc=Latin})(?:\+\+(?![\p{L}+])|#(?![\p{L}\p{N}#])))?/gu

/** The signs of a word. `name` is the word without them. */
const SIGNED = /^(?<dot>\.?)(?<name>.*?)(?<signs>\+\+|#|)$/su

/** The number of characters of a word that count. Stemmers take time quadratic in the length. */
const LONGEST_TERM = 64

/** The capacity of a language's cache of words, which is cleared when it is full. About 20 MB of heap. */
const MEMO_SIZE = 100_000

/** The cache of a language's analysed words. */
interface Memo {
  language: Language
  readings: Map<string, readonly Word[]>
}

const memos = new Map<Language, Memo>()

/** Returns the terms of `text` without stop words, in order, with repetitions. */
export function contentTerms(text: string, language: Language = 'en'): string[] {
  const terms: string[] = []
  visitWords(text, language, ({ term, isStopWord }) => {
    if (!isStopWord) terms.push(term)
  })
  return terms
}

/** Returns the terms of `text`, including stop words. */
export function allTerms(text: string, language: Language = 'en'): string[] {
  const terms: string[] = []
  visitWords(text, language, ({ term }) => terms.push(term))
  return terms
}

/** Returns the words of `text` by position. @param language the language of the stemmer */
export function wordsOf(text: string, language: Language = 'en'): Word[] {
  const words: Word[] = []
  visitWords(text, language, ({ term, isStopWord }, start, end) => words.push({ term, isStopWord, start, end }))
  return words
}

/**
 * Calls `visit` with the words of `text` by position. An identifier comes before its parts. Allocates no objects for
 * cached words.
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
  // Uses `match` and `indexOf`, because `matchAll` allocates an object for each match.
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

/** Returns runs of letters and digits in order. Each is a word, or a text in a script without spaces. */
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

/**
 * Returns the word and its parts that are words, with offsets within it. A word with signs, such as C++, comes before
 * the word without them.
 */
function readingsOf(word: string, { language, readings }: Memo): readonly Word[] {
  const known = readings.get(word)
  if (known) return known
  const { dot = '', name = word, signs = '' } = SIGNED.exec(word)?.groups ?? {}
  const signed = { term: `${dot}${fold(countedPart(name))}${signs}`, isStopWord: false, start: 0, end: word.length }
  const words = [...(name === word ? [] : [signed]), ...plainReadings(name, dot.length, language)]
  if (readings.size >= MEMO_SIZE) readings.clear()
  if (word.length <= LONGEST_TERM) readings.set(unshared(word), words)
  return words
}

function plainReadings(name: string, offset: number, language: Language): Word[] {
  const begun = countedPart(name)
  const parts = identifierParts(begun).map(({ start, end }) => ({
    ...meaningOf(begun.slice(start, end), language),
    start: offset + start,
    end: offset + end,
  }))
  return [{ ...meaningOf(begun, language), start: offset, end: offset + name.length }, ...parts]
}

function meaningOf(word: string, language: Language): Meaning {
  const folded = fold(word)
  return { term: stemOf(folded, language), isStopWord: isStopWord(folded, language) }
}

/** Returns the characters of a word that count. */
export function countedPart(word: string): string {
  return unshared(word.slice(0, LONGEST_TERM))
}

/** Returns the term of a piece of a script without spaces. Full-width and half-width forms are equal. */
export function wholeTerm(piece: string): string {
  return countedPart(piece).normalize('NFKC').toLowerCase()
}

/** Copies a string, because V8's slice would keep the whole text in memory. V8 already copies shorter slices. */
function unshared(word: string): string {
  return word.length < 13 ? word : Buffer.from(word, 'utf16le').toString('utf16le')
}

/** Matches identifiers. They have an inner full stop, a capital after a small letter, or two capitals before one. */
const COMPOUND = /\.|\p{Ll}\p{M}*\p{Lu}|\p{Lu}{2}\p{Ll}/u

/** Letters up to a digit, a full stop or the next capital. XMLHttp becomes XML and Http, mRNAs becomes RNAs. */
const PART = /\p{Lu}{2,}s?(?!\p{Ll})|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?(?:(?![\p{Lu}\p{Lt}])\p{L}|\p{M})+/gu

const SHORTEST_PART = 2

/** The fewest letters of the first part in camel case. McDonald, LeBron and siRNA are not identifiers. */
const SHORTEST_FIRST_PART = 3

/**
 * Returns the parts of an identifier, by position. Identifiers are in camel case or have inner full stops, such as
 * `searchIndex`, `node.js` and `jane.doe`. Returns an empty list for other words, or if fewer than two parts are long
 * enough. Underscores, slashes, hyphens and @ already separate words.
 */
export function identifierParts(word: string): readonly Span[] {
  if (!COMPOUND.test(word)) return []
  const parts = Array.from(word.matchAll(PART), ({ 0: part, index }) => ({ start: index, end: index + part.length }))
  const first = parts[0]
  if (!word.includes('.') && first && first.end - first.start < SHORTEST_FIRST_PART) return []
  const long = parts.filter(({ start, end }) => end - start >= SHORTEST_PART)
  return long.length < 2 ? [] : long
}
