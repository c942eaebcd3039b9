/** Parses a query into weighted terms, and corrects words that the index lacks. */
import { type Corpus, documentFrequency, idf } from '../segments/corpus.ts'
import { beginningLive, similarLive } from '../segments/live-index.ts'
import { inField } from '../segments/segment.ts'
import { ranksBeginning, stringAt } from '../segments/string-table.ts'
import { FIELD, languageShares } from '../segments/terms.ts'
import { type LanguageOf, type QuestionWord, questionTerms } from '../text/languages.ts'
import { fold } from '../text/stems.ts'
import type { SearchedIn, WeightedTerm } from './scores.ts'
import { similarIn } from './similar.ts'

/** A parsed query for one state of the index. Its concepts are its distinct words in the index, by number. */
export interface Query {
  searched: SearchedIn
  /** True if the query has any words. */
  isWordy: boolean
  /** Distinct terms. */
  terms: WeightedTerm[]
  conceptOf: Map<string, number>
  /** The rarity of each concept. */
  rarity: number[]
  /** The query's distinct words in lower case and in its order, each with its concept. */
  words: Map<string, number>
  /** The number of distinct words that no document has. Similar words may be searched for them. */
  unknown: number
  /** The concepts that the query writes with a capital letter, except by its first word. */
  names: Set<number>
}

/** The maximum number of terms. A longer query uses only its rarest terms, equal ones by name. */
const MOST_TERMS = 64

/** The maximum number of postings of all terms together, 10 ms of scoring. The rarest term always counts. */
const MOST_POSTINGS = 2_000_000

/**
 * Limits on the correction of typing errors. Only the first unknown words are corrected: each one walks the dictionary.
 */
const MOST_MISSPELT = 8
const MOST_SIMILAR = 8
const SHORTEST_MISSPELT = 4
const LONGEST_MISSPELT = 32

/**
 * Limits on the completion of the last word. They are its letters, the terms that are read in each segment, and the
 * most frequent terms that count.
 */
const SHORTEST_BEGINNING = 3
const MOST_READ = 10_000
const MOST_COMPLETIONS = 16

/** MiniSearch's weight of a fuzzy match, before distance. */
const FUZZY_WEIGHT = 0.45

/**
 * Parses a query. A word that is repeated n times weighs √n. Compared with 1 and n on six collections, that is the best
 * or within 0.2 points of it. A query of only stop words ("The Who") searches the titles, which keep them. If no
 * document has the last word, it may be the beginning of one.
 */
export function parseQuery(corpus: Corpus, languageOf: LanguageOf, text: string): Query {
  const all = questionTerms(text, languageOf(text), languageShares(corpus))
  const content = all.filter((word) => !word.isStopWord)
  const [searched, words]: [SearchedIn, QuestionWord[]] = content.length > 0 ? ['all', content] : ['title', all]
  const field = FIELD[searched]
  const query: Query = {
    searched,
    isWordy: all.length > 0,
    terms: [],
    conceptOf: new Map(),
    rarity: [],
    words: new Map(),
    unknown: 0,
    names: new Set(),
  }

  const last = words.at(-1)
  const lastWord = fold(text.slice(last?.start, last?.end))
  const counts = new Map<string, number>()
  for (const { term } of words) counts.set(term, (counts.get(term) ?? 0) + 1)
  const stemsOf = new Map(words.map(({ term, stems }) => [term, stems]))
  const rarity = new Map([...stemsOf].map(([term, stems]) => [term, rarityOf(corpus, field, stems)]))
  const counted = rarest(corpus, field, rarity)
  const misspelt = new Set(
    [...counts.keys()].filter((term) => rarity.get(term) === 0 && isWord(term)).slice(0, MOST_MISSPELT),
  )

  for (const [term, count] of counts) {
    const weight = Math.sqrt(count)
    if (counted.has(term)) {
      const others = (stemsOf.get(term) ?? []).filter((stem) => stem.term === term || !counts.has(stem.term))
      const stems = others.filter((stem) => !query.conceptOf.has(stem.term))
      addConcept(
        query,
        term,
        stems.map((stem) => ({ term: stem.term, weight: weight * stem.weight })),
        rarity.get(term) ?? 0,
      )
    }
    const isUnknown = rarity.get(term) === 0
    if (isUnknown) query.unknown++
    const completed = isUnknown && term === last?.term ? completions(corpus, field, lastWord, weight) : []
    if (!misspelt.has(term) && completed.length === 0) continue
    const others = completed.length > 0 ? completed : corrections(corpus, field, term, weight)
    const similar = others.filter((other) => !counts.has(other.term) && !query.conceptOf.has(other.term))
    const closest = similar[0]
    if (closest) addConcept(query, term, similar, idf(corpus, field, closest.term))
  }
  for (const { term, start, end } of words) {
    const concept = query.conceptOf.get(term)
    if (concept === undefined) continue
    const word = text.slice(start, end)
    query.words.set(word.toLowerCase(), concept)
    if (start !== all[0]?.start && isCapital(word.charAt(0))) query.names.add(concept)
  }
  return query
}

/** True for a capital letter. */
export function isCapital(letter: string): boolean {
  return letter !== letter.toLowerCase()
}

/** Returns the rarity of the first stem that any document has, or 0. */
function rarityOf(corpus: Corpus, field: number, stems: readonly WeightedTerm[]): number {
  return stems.reduce((known, { term }) => known || idf(corpus, field, term), 0)
}

function addConcept(query: Query, term: string, terms: WeightedTerm[], rarity: number): void {
  const concept = query.rarity.push(rarity) - 1
  query.terms.push(...terms)
  for (const name of [term, ...terms.map((variant) => variant.term)]) query.conceptOf.set(name, concept)
}

function rarest(corpus: Corpus, field: number, rarity: ReadonlyMap<string, number>): Set<string> {
  const known = [...rarity].filter(([, value]) => value > 0)
  known.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  const chosen = new Set<string>()
  let postings = 0
  for (const [term] of known.slice(0, MOST_TERMS)) {
    postings += documentFrequency(corpus, field, term)
    if (postings > MOST_POSTINGS && chosen.size > 0) break
    chosen.add(term)
  }
  return chosen
}

function isWord(term: string): boolean {
  return term.length >= SHORTEST_MISSPELT && term.length <= LONGEST_MISSPELT && !/\p{N}/u.test(term)
}

/**
 * Returns similar terms, the closest first, then by name. Allows one edit up to seven letters, and two above. This is
 * MiniSearch's `fuzzy: 0.2` with a bound.
 */
function corrections(corpus: Corpus, field: number, term: string, weight: number): WeightedTerm[] {
  const most = term.length < 8 ? 1 : 2
  const found = new Map(similarLive(corpus.live, term, most))
  for (const { segment } of corpus.frozen)
    for (const { rank, edits } of similarIn(segment.terms, term, most, 'whole', inField(segment, field)))
      found.set(stringAt(segment.terms, rank), edits)
  return [...found]
    .filter(([similar]) => documentFrequency(corpus, field, similar) > 0)
    .sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, MOST_SIMILAR)
    .map(([similar, edits]) => ({
      term: similar,
      weight: (weight * FUZZY_WEIGHT * similar.length) / (similar.length + edits),
    }))
}

/**
 * Returns terms that begin with a word, the most frequent first, then by name. They weigh as much as a fuzzy match of
 * the same length.
 */
function completions(corpus: Corpus, field: number, word: string, weight: number): WeightedTerm[] {
  if (word.length < SHORTEST_BEGINNING || word.length > LONGEST_MISSPELT) return []
  const found = new Set(beginningLive(corpus.live, word, MOST_READ))
  for (const { segment } of corpus.frozen) {
    const { from, to } = ranksBeginning(segment.terms, word)
    const isIn = inField(segment, field)
    for (let rank = from; rank < Math.min(to, from + MOST_READ); rank++)
      if (isIn(rank)) found.add(stringAt(segment.terms, rank))
  }
  return [...found]
    .map((term) => ({ term, frequency: documentFrequency(corpus, field, term) }))
    .filter(({ frequency }) => frequency > 0)
    .sort((a, b) => b.frequency - a.frequency || (a.term < b.term ? -1 : 1))
    .slice(0, MOST_COMPLETIONS)
    .map(({ term }) => ({ term, weight: (weight * FUZZY_WEIGHT * word.length) / term.length }))
}
