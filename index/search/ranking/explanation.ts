/** Explains how the scores of a result are computed. */

import { FIELD } from '../segments/terms.ts'
import type { Expansion } from './expansion.ts'
import type { Coverage } from './idf-overlap.ts'
import type { BestPassage } from './matches.ts'
import type { Query } from './query.ts'
import { noveltyOf, type RankedNode } from './ranking.ts'
import { roundScore, type ScorePart, type Scores } from './scores.ts'

/** A term's part of a match: `weight · idf · count · 2.2 / (count + 1.2 · (0.25 + 0.75 · length / average_length))`. */
interface ExplainedTerm {
  /** The term in the index. */
  term: string
  /** The word of the query; absent if the term is only similar to one. */
  word?: string
  field: 'text' | 'title'
  count: number
  idf: number
  weight: number
  /** The node's distinct terms in the field, and the mean over the organisation. */
  length: number
  average_length: number
  score: number
}

export interface MatchExplanation {
  /** Their scores are the match's score. With a passage, half of these and half of the passage's count. */
  terms: ExplainedTerm[]
  /** The best passage, by the same formula with its own counts and lengths. */
  passage?: { terms: ExplainedTerm[] }
  /** The score from the meaning: `top · 4 · unsure · (z - 1) / 2`, from 0 to `top · 4 · unsure`. */
  meaning?: ExplainedMeaning
}

/** A gain by meaning, and the signals that the words of the query failed. */
interface ExplainedMeaning {
  similarity: number
  z: number
  unsure: { share: number; title: number; found: number; name: boolean }
  score: number
}

export interface NodeExplanation {
  /** The score from the node's words and from the bridge. */
  own: number
  /** The part of `own` from the bridge. Absent without one. */
  bridge?: number
  /** The gain from neighbours. `own` plus `gained` is the node's score. */
  gained: number
  /**
   * The edge with the greatest gain: `strength · weight · dilution · novelty / (1 + ln(1 + degree))^¼` of the top
   * score.
   */
  edge?: { from: string; strength: number; weight: number; dilution: number; novelty: number; degree: number }
}

export function explainMatch(scores: Scores, query: Query, id: string, passage?: BestPassage): MatchExplanation {
  const explained: MatchExplanation = { terms: explainedTerms(query, scores.explain(id)) }
  if (passage !== undefined) explained.passage = { terms: explainedTerms(query, passage.explain()) }
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

/** Explains the score of a node. @param own its score before the expansion @param bridge its gain by names */
export function explainNode(
  expansion: Expansion,
  coverage: Coverage,
  own: number,
  bridge: number,
  { id, gained, edge }: RankedNode,
): NodeExplanation {
  const explained = {
    own: roundScore(own + bridge),
    ...(bridge > 0 && { bridge: roundScore(bridge) }),
    gained: roundScore(gained),
  }
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
