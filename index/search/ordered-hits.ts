/** Orders the hits of a query by words, and by meaning if the words failed. */

import * as limits from '../limits.ts'
import { titledFirst } from './answers/titled.ts'
import { addGains, gainsOf, type MeaningGain } from './meaning/gains.ts'
import { READ_FOR_TITLES, type Signals, signalsOf, unsureOf } from './meaning/gate.ts'
import { type ComparableVectors, FEWEST_NODES } from './meaning/node-vectors.ts'
import type { QuestionParts } from './ranking/filters.ts'
import type { Coverage } from './ranking/idf-overlap.ts'
import {
  type Admitting,
  type BestHits,
  bestHits,
  type RankedHits,
  rankedHits,
  type WantedHits,
} from './ranking/matches.ts'
import { admitsNone } from './ranking/scope.ts'
import type { ScoredHit } from './ranking/scores.ts'
import type { SearchedTexts } from './segments/org-index.ts'
import type { SearchRows } from './segments/rows.ts'

/** The meaning of a question. Without `question`, the answer only says whether the words failed. */
export interface QuestionMeaning {
  /** The vectors of the nodes that are searched. */
  readonly vectors: ComparableVectors
  /** The vector of the question. */
  readonly question?: Int8Array
  /** Returns the node's passage nearest to the question. Its number is from 0, and undefined if unknown. */
  readonly nearestPassage?: (id: string) => number | undefined
}

/** A parsed query and the numbers of the first and last hits to return. */
export interface AskedHits {
  readonly searched: SearchedTexts
  readonly rows: SearchRows
  readonly coverage: Coverage
  readonly parts: QuestionParts
  /** The words of the query. */
  readonly text: string
  readonly filters: Admitting
  readonly from: number
  readonly to: number
}

export interface OrderedHits {
  readonly found: BestHits
  readonly ranked: RankedHits
  /** Hits in the order of the answer, up to `to` or further. */
  readonly all: readonly ScoredHit[]
  /** The gains by meaning, if there are any. */
  readonly meaning?: { readonly gains: ReadonlyMap<string, MeaningGain>; readonly signals: Signals }
  /** True if the words failed. Only with vectors. */
  readonly unsure?: boolean
}

/** The number of best hits to which a hub's edges are read. */
const BEST_FOR_HUBS = 20

/** The most nodes that titles put before other matches. */
const MOST_TITLED = 100

export function orderedHits(asked: AskedHits, meaning: QuestionMeaning | undefined): OrderedHits {
  const words = hitsByWords(asked)
  if (meaning === undefined) return words
  const doubt = meaning.vectors.size < FEWEST_NODES ? undefined : doubtOf(asked, words)
  if (doubt === undefined) return { ...words, unsure: false }
  const similarities = meaning.question && meaning.vectors.compare(meaning.question)
  const { corpus } = asked.coverage
  const gains = similarities && gainsOf(similarities, corpus, words.found.admission, doubt)
  if (gains === undefined || gains.size === 0) return { ...words, unsure: true }
  return { ...withGains(asked, gains), meaning: { gains, signals: doubt.signals }, unsure: true }
}

function hitsByWords(asked: AskedHits): OrderedHits {
  const { coverage, from, to } = asked
  const found = find(asked, { from: from - MOST_TITLED, hits: to, ids: BEST_FOR_HUBS })
  const ranked = rankedHits(coverage.scores, found)
  return { found, ranked, all: inOrder(asked, found, ranked) }
}

/** Adds the gains to more hits, because those that gain leave their places. */
function withGains(asked: AskedHits, gains: ReadonlyMap<string, MeaningGain>): Omit<OrderedHits, 'meaning' | 'unsure'> {
  const { coverage, from, to } = asked
  const wanted = { from: from - MOST_TITLED - limits.meaningNodes, hits: to + limits.meaningNodes, ids: BEST_FOR_HUBS }
  const found = find(asked, wanted)
  const ranked = addGains(coverage.scores, found, gains)
  return { found, ranked, all: inOrder(asked, found, ranked) }
}

/**
 * Returns how far the words failed, and the best score by words. Undefined if they did not fail. Queries of stop
 * words do not fail, nor do those whose phrases filter the matches, nor those that begin a title. If the filters admit
 * no node, meaning could find none either.
 */
function doubtOf(
  asked: AskedHits,
  { found, all, ranked }: OrderedHits,
): { readonly signals: Signals; readonly unsure: number; readonly top: number } | undefined {
  const { coverage, parts, rows, from } = asked
  const hasWords = parts.text !== '' && coverage.query.isWordy && coverage.query.searched === 'all'
  if (!hasWords || found.isByPhrase || all !== ranked.hits || admitsNone(coverage.corpus, found.admission))
    return undefined
  // The signals must not depend on the page.
  const hasBest = from <= MOST_TITLED && found.hits.length >= Math.min(READ_FOR_TITLES, found.total)
  const best = hasBest ? found : find(asked, { from: 0, hits: READ_FOR_TITLES, ids: 0 })
  const signals = signalsOf(coverage, best, (id) => rows.describe(id)?.title ?? '')
  return signals && { signals, unsure: unsureOf(signals), top: best.hits[0]?.score ?? 0 }
}

function find({ searched, rows, coverage, parts, filters }: AskedHits, wanted: WantedHits): BestHits {
  return bestHits(searched, rows, coverage, parts, filters, wanted)
}

function inOrder({ coverage, rows, text }: AskedHits, found: BestHits, ranked: RankedHits): readonly ScoredHit[] {
  return titledFirst(coverage.corpus, rows, text, { scores: coverage.scores, found, ranked })
}
