/** Scores nodes by their best passages, as a whole is scored. */
import { documentCount, placeOf } from '../segments/corpus.ts'
import { passageId, type SearchedTexts } from '../segments/org-index.ts'
import { SEARCHED } from './candidates.ts'
import type { Query } from './query.ts'
import { type ScorePart, scoreTerms } from './scores.ts'

export interface BestPassage {
  /** Among the passages of its node, from 0. */
  readonly number: number
  readonly score: number
  readonly explain: () => readonly ScorePart[]
}

/** Undefined where a node has no passages, or none with a word of the question. */
export type BestPassageOf = (id: string) => BestPassage | undefined

/**
 * The first of the best passages of a node, by the rarity of terms among nodes and by their mean length: the passages' own would
 * depend on how many nodes have some (figures: index/README.md). Undefined where no node can have one: none has passages, or
 * the question is one for titles, which all passages of a node have in common. 7 µs for each passage.
 */
export function bestPassages({ texts, passages }: SearchedTexts, query: Query): BestPassageOf | undefined {
  if (query.searched === 'title' || documentCount(passages) === 0) return undefined
  const scores = scoreTerms(passages, SEARCHED[query.searched], query.terms, texts)
  return (id) => {
    let best: BestPassage | undefined
    for (let number = 0; ; number++) {
      const passage = passageId(id, number)
      const place = placeOf(passages, passage)
      if (place === undefined) return best
      const score = scores.at(place)?.score ?? 0
      if (score > (best?.score ?? 0)) best = { number, score, explain: () => scores.explain(passage) }
    }
  }
}
