/** The nodes that fit a question best, by its words, its syntax, and the names in other matches. */

import type { SearchedTexts } from '../segments/org-index.ts'
import type { SearchRows } from '../segments/rows.ts'
import { type BestPassage, bestPassages } from './best-passage.ts'
import { type Bridge, bridgesOf } from './bridge.ts'
import type { Admission } from './candidates.ts'
import { conditionsOf, excludedPhrases, phraseTest, READ_FOR_PHRASES, strictPhrases } from './conditions.ts'
import type { Coverage } from './coverage.ts'
import type { Expansion } from './expansion.ts'
import { newestHits } from './listing.ts'
import type { QuestionParts } from './query-syntax.ts'
import type { ScoreOf } from './ranking.ts'
import { both } from './scope.ts'
import { bestFirst, type ScoredHit, type Scores } from './scores.ts'

export interface BestHits {
  /** Best first, equals by id. */
  readonly hits: readonly ScoredHit[]
  /** By node: of those with several, the passage whose score is in that of the hit. */
  readonly passages: ReadonlyMap<string, BestPassage>
  /** By the whole alone, best first. */
  readonly ids: readonly string[]
  /** Of a match, but for phrases. */
  readonly admission: Admission | undefined
  readonly isByPhrase: boolean
}

/** The best by the whole, which are ordered again by their passages. */
const ORDERED_AGAIN = 50

/** The conditions of the question's syntax bound the matches, not what is reached from them. @param wanted how many */
export function bestHits(
  searched: SearchedTexts,
  rows: SearchRows,
  { query, scores }: Coverage,
  parts: QuestionParts,
  admission: Admission | undefined,
  wanted: { readonly hits: number; readonly ids: number },
): BestHits {
  const bestPassageOf = query.isWordy ? bestPassages(searched, query) : undefined
  const pool = bestPassageOf === undefined ? wanted.hits : Math.max(wanted.hits, ORDERED_AGAIN)
  const { hits: all, ...rest } = wholeHits(
    searched,
    rows,
    { query, scores },
    parts,
    admission,
    Math.max(pool, wanted.ids),
  )
  const ids = all.map(({ id }) => id)
  if (bestPassageOf === undefined) return { ...rest, hits: all, passages: new Map(), ids }
  const passages = new Map<string, BestPassage>()
  const hits = all.slice(0, pool).map((hit) => {
    const best = bestPassageOf(hit.id)
    if (best === undefined) return hit
    passages.set(hit.id, best)
    return { ...hit, score: (hit.score + best.score) / 2 }
  })
  return { ...rest, hits: bestFirst(hits), passages, ids }
}

/** Scored by the whole. */
function wholeHits(
  { texts }: SearchedTexts,
  rows: SearchRows,
  { query, scores }: Pick<Coverage, 'query' | 'scores'>,
  parts: QuestionParts,
  admission: Admission | undefined,
  limit: number,
): Omit<BestHits, 'passages' | 'ids'> {
  const conditions = conditionsOf(texts, parts)
  const admitted = admission && conditions ? both(admission, conditions) : (admission ?? conditions)
  const [wanted, excluded] = [strictPhrases(parts), excludedPhrases(parts)]
  const isByPhrase = wanted.length > 0 || excluded.length > 0
  const bestOf = (most: number) =>
    conditions && admitted && !query.isWordy ? newestHits(texts, admitted, most) : scores.best(most, admitted)
  if (!isByPhrase) return { hits: bestOf(limit), admission: admitted, isByPhrase }
  const best = bestOf(Math.max(limit, READ_FOR_PHRASES))
  const hasPhrases = phraseTest(rows, wanted, excluded)
  return { hits: best.filter(({ id }) => hasPhrases(id)).slice(0, limit), admission: admitted, isByPhrase }
}

/** Hits with what they gain by the names in others. */
export interface BridgedHits {
  /** Best first, equals by id. */
  readonly hits: readonly ScoredHit[]
  readonly bridges: ReadonlyMap<string, Bridge>
  readonly passages: BestHits['passages']
  /** Of the best hit by its words alone: what gains are shares of. */
  readonly top: number
  readonly scoreOf: ScoreOf
}

export function unbridged(scores: Scores, { hits, passages }: BestHits): BridgedHits {
  const known = new Map(hits.map(({ id, score }) => [id, score]))
  const scoreOf = (id: string) => known.get(id) ?? scores.find(id)?.score ?? 0
  return { hits, bridges: new Map(), passages, top: hits[0]?.score ?? 0, scoreOf }
}

/** With those that only the names in others lead to. A question of phrases is left as it is: they bind all matches. */
export function withBridges(expansion: Expansion, coverage: Coverage, found: BestHits): BridgedHits {
  const { scores } = coverage
  const plain = unbridged(scores, found)
  const { hits, top, passages } = plain
  const bridges =
    found.isByPhrase || !coverage.query.isWordy ? plain.bridges : bridgesOf(expansion, coverage, hits, found.admission)
  if (bridges.size === 0) return plain
  const scoreOf = (id: string) => plain.scoreOf(id) + top * (bridges.get(id)?.gain ?? 0)
  const ids = new Set([...hits.map(({ id }) => id), ...bridges.keys()])
  const all = [...ids].map((id) => ({ id, score: scoreOf(id), terms: scores.find(id)?.terms ?? [] }))
  return { hits: bestFirst(all), bridges, passages, top, scoreOf }
}
