/** Splits text into words and reduces each to its search term. */
import stem from 'wink-porter2-stemmer'
import { partsOf } from './identifiers.ts'
import { isUnspaced, piecesOf, type Span } from './scripts.ts'
import { STOP_WORDS } from './stop-words.ts'

/** Names what the terms of a text are. Raise the number with any change of them; ICU brings dictionaries and letters. */
export const ANALYZER_VERSION: string = `3-icu${process.versions.icu ?? ''}`

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

/** Characters of a word that count. The stemmer's expressions are quadratic in the length. */
const LONGEST_TERM = 64

/** Words in the cache, which is emptied when it is full. About 10 MB of heap. */
const MEMO_SIZE = 100_000

const memo = new Map<string, readonly Word[]>()

/** The terms of `text` without stop words, in order, with repetitions. */
export function contentTerms(text: string): string[] {
  const terms: string[] = []
  for (const { term, isStopWord } of wordsOf(text)) if (!isStopWord) terms.push(term)
  return terms
}

/** The terms of `text`, including stop words. */
export function allTerms(text: string): string[] {
  return Array.from(wordsOf(text), ({ term }) => term)
}

/** Yields the words of `text` by their positions, since a long text takes long. An identifier comes before its parts. */
export function* wordsOf(text: string): Generator<Word> {
  for (const { 0: run, index } of text.matchAll(WORD)) {
    const known = memo.get(run)
    if (known || !isUnspaced(run)) yield* moved(known ?? readingsOf(run), index)
    else yield* unspacedWords(run, index)
  }
}

function* unspacedWords(run: string, offset: number): Generator<Word> {
  for (const { start, end, isWhole } of piecesOf(run)) {
    const piece = run.slice(start, end)
    if (isWhole) yield { term: wholeTerm(piece), isStopWord: false, start: offset + start, end: offset + end }
    else yield* moved(readingsOf(piece), offset + start)
  }
}

function* moved(words: readonly Word[], offset: number): Generator<Word> {
  for (const { term, isStopWord, start, end } of words) {
    yield { term, isStopWord, start: offset + start, end: offset + end }
  }
}

/** The word and the parts of it that are words; offsets within it. */
function readingsOf(word: string): readonly Word[] {
  const known = memo.get(word)
  if (known) return known
  const begun = unshared(word.slice(0, LONGEST_TERM))
  const parts = partsOf(begun).map(({ start, end }) => ({ ...meaningOf(begun.slice(start, end)), start, end }))
  const words = [{ ...meaningOf(begun), start: 0, end: word.length }, ...parts]
  if (memo.size >= MEMO_SIZE) memo.clear()
  if (word.length <= LONGEST_TERM) memo.set(unshared(word), words)
  return words
}

function meaningOf(word: string): Meaning {
  const folded = fold(word)
  // The stemmer uses 3 internally for y: it would turn "mp3" into "mpy".
  return { term: /^[a-z]+$/.test(folded) ? stem(folded) : folded, isStopWord: STOP_WORDS.has(folded) }
}

/** Full-width and half-width forms are one. */
function wholeTerm(piece: string): string {
  return unshared(piece.slice(0, LONGEST_TERM)).normalize('NFKC').toLowerCase()
}

/** Copies the string: V8's slice of a text would keep the whole text in memory. It copies shorter ones itself. */
function unshared(word: string): string {
  return word.length < 13 ? word : Buffer.from(word, 'utf16le').toString('utf16le')
}

/** Lower case without accents (Latin, Greek and Cyrillic ones), possessive 's, apostrophes and full stops. */
function fold(word: string): string {
  const lower = word.toLowerCase()
  if (/^[a-z0-9]+$/.test(lower)) return lower
  return lower
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/['’]s$/, '')
    .replace(/['’.]/g, '')
}
