/** The nodes that fit a question best, by its words, its syntax, and the names in other matches. */
import { type Bridge, bridgesOf } from './bridge.ts'
import { conditionsOf, excludedPhrases, phraseTest, READ_FOR_PHRASES, strictPhrases } from './conditions.ts'
import type { Corpus } from './corpus.ts'
import type { Coverage } from './coverage.ts'
import type { Expansion } from './expansion.ts'
import type { QuestionParts } from './query-syntax.ts'
import type { ScoreOf } from './ranking.ts'
import type { SearchRows } from './rows.ts'
import { both } from './scope.ts'
import { type Admission, roundScore, type ScoredHit, type Scores } from './scores.ts'

export interface BestHits {
  readonly hits: readonly ScoredHit[]
  /** Of a match, but for phrases. */
  readonly admission: Admission | undefined
  readonly isByPhrase: boolean
}

/** The conditions of the question's syntax bound the matches, not what is reached from them. */
export function bestHits(
  corpus: Corpus,
  rows: SearchRows,
  scores: Scores,
  parts: QuestionParts,
  admission: Admission | undefined,
  limit: number,
): BestHits {
  const conditions = conditionsOf(corpus, parts)
  const admitted = admission && conditions ? both(admission, conditions) : (admission ?? conditions)
  const [wanted, excluded] = [strictPhrases(parts), excludedPhrases(parts)]
  const isByPhrase = wanted.length > 0 || excluded.length > 0
  if (!isByPhrase) return { hits: scores.best(limit, admitted), admission: admitted, isByPhrase }
  const best = scores.best(Math.max(limit, READ_FOR_PHRASES), admitted)
  const hasPhrases = phraseTest(rows, wanted, excluded)
  return { hits: best.filter(({ id }) => hasPhrases(id)).slice(0, limit), admission: admitted, isByPhrase }
}

/** Hits with what they gain by the names in others. */
export interface BridgedHits {
  /** Best first, equals by id. */
  readonly hits: readonly ScoredHit[]
  readonly bridges: ReadonlyMap<string, Bridge>
  /** Of the best hit by its words alone: what gains are shares of. */
  readonly top: number
  readonly scoreOf: ScoreOf
}

export function unbridged(scores: Scores, { hits }: BestHits): BridgedHits {
  return { hits, bridges: new Map(), top: hits[0]?.score ?? 0, scoreOf: (id) => scores.find(id)?.score ?? 0 }
}

/** With those that only the names in others lead to. A question of phrases is left as it is: they bind all matches. */
export function withBridges(expansion: Expansion, coverage: Coverage, found: BestHits): BridgedHits {
  const { scores } = coverage
  const plain = unbridged(scores, found)
  const { hits, top } = plain
  const bridges = found.isByPhrase ? plain.bridges : bridgesOf(expansion, coverage, hits, found.admission)
  if (bridges.size === 0) return plain
  const scoreOf = (id: string) => (scores.find(id)?.score ?? 0) + top * (bridges.get(id)?.gain ?? 0)
  const ids = new Set([...hits.map(({ id }) => id), ...bridges.keys()])
  const all = [...ids].map((id) => ({ id, score: scoreOf(id), terms: scores.find(id)?.terms ?? [] }))
  const rounded = all.map((hit) => ({ hit, score: roundScore(hit.score) }))
  rounded.sort((a, b) => b.score - a.score || (a.hit.id < b.hit.id ? -1 : 1))
  return { hits: rounded.map(({ hit }) => hit), bridges, top, scoreOf }
}
