/** Splits titles into unstemmed words, for suggestions while a user types. */
import { countedPart, identifierParts, runsOf, wholeTerm } from './analyzer.ts'
import { isUnspaced, pairEndOf, piecesOf } from './scripts.ts'
import { fold } from './stems.ts'

/**
 * Returns the distinct words by which suggestions find a title. These are folded words, the parts of identifiers, pairs
 * of Han and kana, and segments of Thai, Lao, Khmer and Burmese. The last character of each Han or kana run is added,
 * so that each character of a Han title begins a word.
 */
export function titleWords(title: string): string[] {
  const words = new Set<string>()
  for (const word of wordsIn(title)) {
    words.add(word.term)
    const end = word.endsPairs ? pairEndOf(word.term) : undefined
    if (end !== undefined) words.add(end)
    for (const part of word.parts) words.add(part)
  }
  words.delete('')
  return [...words]
}

/** Returns the typed words in order, with repetitions. Each must be a prefix of a word of the title. */
export function typedWords(text: string): string[] {
  return Array.from(wordsIn(text), ({ term }) => term).filter((term) => term !== '')
}

interface TitleWord {
  readonly term: string
  readonly parts: readonly string[]
  /** True for the last pair of a run, a single character, or a segment. */
  readonly endsPairs: boolean
}

function* wordsIn(text: string): Generator<TitleWord> {
  for (const run of runsOf(text)) {
    if (isUnspaced(run)) yield* unspacedWordsIn(run)
    else yield spacedWord(run)
  }
}

function* unspacedWordsIn(run: string): Generator<TitleWord> {
  const pieces = [...piecesOf(run)]
  for (const [n, { start, end, isWhole }] of pieces.entries()) {
    const piece = run.slice(start, end)
    const next = pieces[n + 1]
    if (isWhole) yield { term: wholeTerm(piece), parts: [], endsPairs: next === undefined || next.start >= end }
    else yield spacedWord(piece)
  }
}

function spacedWord(word: string): TitleWord {
  const counted = countedPart(word)
  const parts = identifierParts(counted).map(({ start, end }) => fold(counted.slice(start, end)))
  return { term: fold(counted), parts, endsPairs: false }
}
