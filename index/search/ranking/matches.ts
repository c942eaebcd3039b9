/** Finds the best nodes for a query, and others by the names in them. */
import { type Corpus, type DocumentPlace, documentCount, idAt, placeOf } from '../segments/corpus.ts'
import { shortIdOf } from '../segments/live-index.ts'
import { passageId, type SearchedTexts } from '../segments/org-index.ts'
import type { SearchRows } from '../segments/rows.ts'
import { type EntityHop, findEntityHops } from './entity-hop.ts'
import type { Expansion } from './expansion.ts'
import {
  conditionsOf,
  excludedPhrases,
  phraseTest,
  type QuestionParts,
  READ_FOR_PHRASES,
  strictPhrases,
} from './filters.ts'
import type { Coverage } from './idf-overlap.ts'
import type { Query } from './query.ts'
import { allOf, passesFilter } from './scope.ts'
import {
  bestFirst,
  type DocumentFilter,
  type HitsOfAll,
  heapOfBest,
  type ScoredHit,
  type ScorePart,
  type Scores,
  SEARCHED,
  scoreTerms,
} from './scores.ts'

export interface BestHits {
  /** Best first, equal ones by id, within each block of 50. */
  readonly hits: readonly ScoredHit[]
  /** The passage that counts in the score of a hit, by node. Only nodes with several passages have one. */
  readonly passages: ReadonlyMap<string, BestPassage>
  /** Ids by the score of the whole node only, best first. */
  readonly ids: readonly string[]
  /** The filter for matches, except phrases. */
  readonly admission: DocumentFilter | undefined
  readonly isByPhrase: boolean
  /** The number of all hits, also beyond these. At least this many if it is not exact. */
  readonly total: number
  readonly isTotalExact: boolean
  /** Scores a hit by the whole node and by its best passage. Adds that passage to `passages`. */
  readonly withPassage: (hit: ScoredHit) => ScoredHit
}

/** The filters of a search. */
export interface Admitting {
  /** The nodes within the scope of the search. */
  readonly admission: DocumentFilter | undefined
  /** The nodes that may be matches. */
  readonly matches: DocumentFilter | undefined
}

/** The numbers of hits and of ids. Hits before `from` are not reordered by their passages. */
export interface WantedHits {
  readonly from: number
  readonly hits: number
  readonly ids: number
}

/** The number of nodes, by whole score, that are reordered by their passages together. */
const ORDERED_AGAIN = 50

/** Finds the best hits. The query's filters apply to matches, but not to nodes reached from them. */
export function bestHits(
  searched: SearchedTexts,
  rows: SearchRows,
  { query, scores }: Coverage,
  parts: QuestionParts,
  filters: Admitting,
  wanted: WantedHits,
): BestHits {
  const bestPassageOf = query.isWordy ? bestPassages(searched, query) : undefined
  const blocks = Math.ceil(wanted.hits / ORDERED_AGAIN)
  const pool = bestPassageOf === undefined ? wanted.hits : blocks * ORDERED_AGAIN
  const { hits: all, ...rest } = wholeHits(
    searched,
    rows,
    { query, scores },
    parts,
    filters,
    Math.max(pool, wanted.ids),
  )
  const ids = all.map(({ id }) => id)
  if (bestPassageOf === undefined) return { ...rest, hits: all, passages: new Map(), ids, withPassage: (hit) => hit }
  const passages = new Map<string, BestPassage>()
  const withPassage = (hit: ScoredHit): ScoredHit => {
    const best = bestPassageOf(hit.id)
    if (best === undefined) return hit
    passages.set(hit.id, best)
    return { ...hit, score: (hit.score + best.score) / 2 }
  }
  const hits = Array.from({ length: blocks }, (_, n) => {
    const block = all.slice(n * ORDERED_AGAIN, (n + 1) * ORDERED_AGAIN)
    return (n + 1) * ORDERED_AGAIN <= wanted.from ? block : bestFirst(block.map(withPassage))
  }).flat()
  return { ...rest, hits, passages, ids, withPassage }
}

/** A query that lists all nodes. */
const EVERYTHING = '*'

/** Finds hits with the score of the whole node. */
function wholeHits(
  { texts }: SearchedTexts,
  rows: SearchRows,
  { query, scores }: Pick<Coverage, 'query' | 'scores'>,
  parts: QuestionParts,
  { admission, matches }: Admitting,
  limit: number,
): Omit<BestHits, 'passages' | 'ids' | 'withPassage'> {
  const conditions = allOf([conditionsOf(texts, parts), matches])
  const admitted = allOf([admission, conditions])
  const [wanted, excluded] = [strictPhrases(parts), excludedPhrases(parts)]
  const isByPhrase = wanted.length > 0 || excluded.length > 0
  const isList = !query.isWordy && (conditions !== undefined || parts.text === EVERYTHING)
  const bestOf = (most: number) =>
    isList ? listNewestHits(texts, admitted, most) : scores.bestAndTotal(most, admitted)
  if (!isByPhrase) return { ...bestOf(limit), isTotalExact: true, admission: admitted, isByPhrase }
  const best = bestOf(READ_FOR_PHRASES)
  const hasPhrases = phraseTest(rows, wanted, excluded)
  const hits = best.hits.filter(({ id }) => hasPhrases.test(id))
  const isTotalExact = best.total <= READ_FOR_PHRASES && !hasPhrases.isOver()
  return { hits: hits.slice(0, limit), total: hits.length, isTotalExact, admission: admitted, isByPhrase }
}

/** The passage of a node with the best score. */
export interface BestPassage {
  /** The number among the passages of its node, from 0. */
  readonly number: number
  readonly score: number
  readonly explain: () => readonly ScorePart[]
}

/** Returns undefined if no passage of the node has a word of the query. */
type BestPassageOf = (id: string) => BestPassage | undefined

/**
 * Returns a function that finds the first of the best passages of a node. It uses the rarity of terms and the mean
 * length of nodes. The figures of passages would depend on how many nodes have passages (measured in
 * test/bench/search.md). Takes 7 µs for each passage.
 *
 * Returns undefined if there are no passages, or if the query searches only titles, which all passages of a node share.
 */
function bestPassages({ texts, passages }: SearchedTexts, query: Query): BestPassageOf | undefined {
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

/** The score of hits for a query without words, which all fit equally well. */
const LISTED_SCORE = 1

/**
 * Lists the hits of a query without words, such as `tag:port` or `-title:draft`. Returns the latest changed nodes
 * first, equal ones by id. Linear in the number of documents.
 */
function listNewestHits(corpus: Corpus, admission: DocumentFilter | undefined, limit: number): HitsOfAll {
  const best = heapOfBest(limit)
  let count = 0
  for (const { time } of admitted(corpus, admission)) {
    best.add(time)
    count++
  }
  const bar = count < limit ? Number.NEGATIVE_INFINITY : best.least()
  const found: { id: string; time: number }[] = []
  for (const { place, time } of admitted(corpus, admission))
    if (time >= bar) found.push({ id: idAt(corpus, place), time })
  found.sort((a, b) => b.time - a.time || (a.id < b.id ? -1 : 1))
  const hits = found.slice(0, limit).map(({ id }) => ({ id, score: LISTED_SCORE, terms: [] }))
  return { hits, total: count }
}

function* admitted(
  corpus: Corpus,
  admission: DocumentFilter | undefined,
): Generator<{ place: DocumentPlace; time: number }> {
  for (const { id, time } of corpus.live.documents.values()) {
    const place = { i: -1, number: shortIdOf(corpus.live, id) }
    if (passesFilter(admission, place)) yield { place, time }
  }
  for (const [i, { segment, dead }] of corpus.frozen.entries())
    for (const [number, time] of segment.times.entries())
      if (dead[number] === 0 && passesFilter(admission, { i, number })) yield { place: { i, number }, time }
}

/** Returns the score of a node before edges are followed. 0 if it has no word of the query, and no gain. */
type ScoreOf = (id: string) => number

/** Hits with their scores. */
export interface RankedHits {
  /** Best first, equal ones by id. Gains by meaning may be among them. */
  readonly hits: readonly ScoredHit[]
  readonly passages: BestHits['passages']
  /** The best score by words only. Gains are shares of it. */
  readonly top: number
  readonly scoreOf: ScoreOf
}

export function rankedHits(scores: Scores, { hits, passages }: BestHits): RankedHits {
  const known = new Map(hits.map(({ id, score }) => [id, score]))
  const scoreOf = (id: string) => known.get(id) ?? scores.find(id)?.score ?? 0
  return { hits, passages, top: hits[0]?.score ?? 0, scoreOf }
}

/** The nodes that the names in matches lead to. */
export interface NamedNodes {
  readonly bridges: ReadonlyMap<string, EntityHop>
  /** Includes the gains of `bridges`. */
  readonly scoreOf: ScoreOf
  /** Nodes that are as good as matches, by their `reach`. They are the same at every level of expansion. */
  readonly ids: readonly string[]
}

export function withoutNames({ scoreOf }: RankedHits): NamedNodes {
  return { bridges: new Map(), scoreOf, ids: [] }
}

/**
 * Follows the names in matches. Not for queries with phrases, which all matches must contain.
 *
 * @param most the number of nodes, with the matches, among which `ids` must be
 */
export function followNames(
  expansion: Expansion,
  coverage: Coverage,
  found: BestHits,
  ranked: RankedHits,
  matches: ReadonlySet<string>,
  most: number,
): NamedNodes {
  if (found.isByPhrase || !coverage.query.isWordy) return withoutNames(ranked)
  const { hits, top } = ranked
  const bridges = findEntityHops(expansion, coverage, hits, (id) => matches.has(id), found.admission)
  const scoreBy = (gain: 'gain' | 'reach') => (id: string) => ranked.scoreOf(id) + top * (bridges.get(id)?.[gain] ?? 0)
  const reachOf = scoreBy('reach')
  const ids = new Set([...hits.map(({ id }) => id), ...bridges.keys()])
  const best = bestFirst([...ids].map((id) => ({ id, score: reachOf(id) }))).slice(0, most)
  const isNamed = (id: string) => bridges.has(id) && !matches.has(id)
  return { bridges, scoreOf: scoreBy('gain'), ids: best.map(({ id }) => id).filter(isNamed) }
}
