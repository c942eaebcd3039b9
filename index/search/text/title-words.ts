/** The words of a title as they stand, without stems, for what is found while it is typed. */
import { countedPart, identifierParts, runsOf, wholeTerm } from './analyzer.ts'
import { isUnspaced, pairEndOf, piecesOf } from './scripts.ts'
import { fold } from './stems.ts'

/**
 * The distinct words by which a title is found: folded words, the parts of identifiers, pairs of Han and kana with the last
 * character of each run of them, segments of Thai, Lao, Khmer and Burmese. Any character of a Han title begins one of them.
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

/** The words of what is typed, in order, with repetitions: each is to begin a word of the title. */
export function typedWords(text: string): string[] {
  return Array.from(wordsIn(text), ({ term }) => term).filter((term) => term !== '')
}

interface TitleWord {
  readonly term: string
  readonly parts: readonly string[]
  /** It is the last pair of a run, or no pair at all. */
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
