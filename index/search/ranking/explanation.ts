/** Says of what the scores of an answer are made. */

import { FIELD } from '../segments/terms.ts'
import type { EntityHop } from './entity-hop.ts'
import type { Expansion } from './expansion.ts'
import type { Coverage } from './idf-overlap.ts'
import type { BestPassage } from './matches.ts'
import type { Query } from './query.ts'
import { noveltyOf, type RankedNode } from './ranking.ts'
import { roundScore, type ScorePart, type Scores } from './scores.ts'

/** What a term adds to a match: `weight · idf · count · 2.2 / (count + 1.2 · (0.25 + 0.75 · length / average_length))`. */
interface ExplainedTerm {
  /** As it is indexed. */
  term: string
  /** The word of the question; absent where the term is only similar to one. */
  word?: string
  field: 'text' | 'title'
  count: number
  idf: number
  weight: number
  /** Distinct terms of the node in the field, and their mean over the organisation. */
  length: number
  average_length: number
  score: number
}

export interface MatchExplanation {
  /** The scores of these, and what the bridge adds, are the match's score; with a passage, half of them and half of its. */
  terms: ExplainedTerm[]
  /** The best passage, by the same formula with its own counts and lengths. */
  passage?: { terms: ExplainedTerm[] }
  /** What the names of another match add. */
  bridge?: { from: string; words: string[]; score: number }
}

export interface NodeExplanation {
  /** By the node's own words, and by the bridge. */
  own: number
  /** From neighbours; with `own` the node's score. */
  gained: number
  /** By which most was gained: `strength · weight · dilution · novelty / (1 + ln(1 + degree))^¼` of the best match's score. */
  edge?: { from: string; strength: number; weight: number; dilution: number; novelty: number; degree: number }
}

export function explainMatch(
  scores: Scores,
  query: Query,
  top: number,
  id: string,
  passage?: BestPassage,
  bridge?: EntityHop,
): MatchExplanation {
  const explained: MatchExplanation = { terms: explainedTerms(query, scores.explain(id)) }
  if (passage !== undefined) explained.passage = { terms: explainedTerms(query, passage.explain()) }
  if (bridge !== undefined)
    explained.bridge = { from: bridge.from, words: [...bridge.words], score: roundScore(top * bridge.gain) }
  return explained
}

function explainedTerms(query: Query, parts: readonly ScorePart[]): ExplainedTerm[] {
  const wordOf = new Map([...query.words].map(([word, concept]) => [concept, word]))
  return parts.map(({ term, field, averageLength, ...part }): ExplainedTerm => {
    const word = wordOf.get(query.conceptOf.get(term) ?? -1)
    return {
      term,
      ...(word === undefined ? {} : { word }),
      field: field === FIELD.title ? 'title' : 'text',
      count: part.count,
      idf: roundScore(part.idf),
      weight: roundScore(part.weight),
      length: part.length,
      average_length: roundScore(averageLength),
      score: roundScore(part.score),
    }
  })
}

/** @param own its score before the expansion */
export function explainNode(
  expansion: Expansion,
  coverage: Coverage,
  own: number,
  { id, gained, edge }: RankedNode,
): NodeExplanation {
  const explained = { own: roundScore(own), gained: roundScore(gained) }
  if (edge === undefined) return explained
  return {
    ...explained,
    edge: {
      from: edge.from,
      strength: roundScore(edge.strength),
      weight: edge.weight,
      dilution: roundScore(edge.dilution),
      novelty: roundScore(noveltyOf(coverage, edge.from, id)),
      degree: expansion.rows.degreeOf(id),
    },
  }
}
