/** Computes the scores that nodes gain by their meaning. */

import * as limits from '../../limits.ts'
import { type BestHits, type RankedHits, rankedHits } from '../ranking/matches.ts'
import { passesFilter } from '../ranking/scope.ts'
import { bestFirst, type DocumentFilter, roundScore, type ScoredHit, type Scores } from '../ranking/scores.ts'
import { type Corpus, placeOf } from '../segments/corpus.ts'
import { clamp } from './gate.ts'
import { SIMILARITY_UNITS, type Similarities } from './node-vectors.ts'

/** A node's gain. All numbers have 6 significant digits. */
export interface MeaningGain {
  /** The cosine of the node's vector and the question's. */
  readonly similarity: number
  /** The similarity less the mean of all nodes, by their deviation. */
  readonly z: number
  /** The gain, in the unit of scores. */
  readonly score: number
}

/** The greatest gain, as a multiple of the best score by words. */
const STRENGTH = 4

/** The `z` between which the gain rises from 0 to all. */
const Z = { from: 1, to: 3 } as const

/** The number of similar nodes to look at first. Scopes that admit few of them need more. */
const FIRST_LOOK = 128
const NEXT_LOOK = 8

/**
 * Returns the gains of the most similar admitted nodes: `top · 4 · unsure · (z - 1) / 2`, at most `top · 4 · unsure`.
 * Nodes without an index entry gain nothing.
 *
 * @param top the best score by words; 1 counts if there is none
 */
export function gainsOf(
  similarities: Similarities,
  corpus: Corpus,
  admission: DocumentFilter | undefined,
  { top, unsure }: { readonly top: number; readonly unsure: number },
): ReadonlyMap<string, MeaningGain> {
  const most = (top > 0 ? top : 1) * STRENGTH * unsure
  const gains = new Map<string, MeaningGain>()
  for (let limit = FIRST_LOOK, seen = 0; ; limit *= NEXT_LOOK) {
    const nearest = similarities.nearest(limit)
    for (const { id, similarity, z: exact } of nearest.slice(seen)) {
      const z = roundScore(exact)
      if (z <= Z.from || gains.size === limits.meaningNodes) return gains
      const place = placeOf(corpus, id)
      if (place === undefined || !passesFilter(admission, place)) continue
      const score = roundScore(most * clamp((z - Z.from) / (Z.to - Z.from)))
      gains.set(id, { similarity: roundScore(similarity / SIMILARITY_UNITS), z, score })
    }
    if (nearest.length < limit) return gains
    seen = nearest.length
  }
}

/**
 * Adds gains to hits. A node that gains leaves its place and goes before the first hit with a lower score. The first
 * hits of the result do not depend on how many follow, so that pages continue each other. All nodes that gain are
 * among the result. Their scores by words always include the best passage.
 */
export function addGains(scores: Scores, found: BestHits, gains: ReadonlyMap<string, MeaningGain>): RankedHits {
  const byWords = rankedHits(scores, found)
  const gainers = new Map(
    [...gains].map(([id, gain]): [string, ScoredHit] => {
      const { score, terms } = found.withPassage({ id, ...(scores.find(id) ?? { score: 0, terms: [] }) })
      return [id, { id, score: score + gain.score, terms }]
    }),
  )
  const others = byWords.hits.filter(({ id }) => !gainers.has(id))
  const scoreOf = (id: string) => gainers.get(id)?.score ?? byWords.scoreOf(id)
  return { ...byWords, hits: merged(bestFirst([...gainers.values()]), others), scoreOf }
}

/** Merges two lists. A hit of the first list goes before the first one of the second that is not better. */
function merged(first: readonly ScoredHit[], second: readonly ScoredHit[]): ScoredHit[] {
  const hits: ScoredHit[] = []
  let at = 0
  for (const hit of second) {
    for (let next = first[at]; next !== undefined && isBefore(next, hit); next = first[++at]) hits.push(next)
    hits.push(hit)
  }
  return [...hits, ...first.slice(at)]
}

function isBefore(one: ScoredHit, other: ScoredHit): boolean {
  const difference = roundScore(one.score) - roundScore(other.score)
  return difference > 0 || (difference === 0 && one.id < other.id)
}
