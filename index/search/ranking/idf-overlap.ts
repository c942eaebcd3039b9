/** Computes how much of a query a document covers, weighted by the rarity of words. */

import { type Corpus, idf } from '../segments/corpus.ts'
import { FIELD, languageIn } from '../segments/terms.ts'
import { allTerms, contentTerms } from '../text/analyzer.ts'
import type { Query } from './query.ts'
import type { Scores } from './scores.ts'

/** A query and the scores of documents. `concepts` caches results by node id. */
export interface Coverage {
  readonly corpus: Corpus
  readonly query: Query
  readonly scores: Scores
  readonly concepts: Map<string, ReadonlySet<number>>
}

/** Returns the share, by rarity, of a title's distinct words that are in the query. 0 to 1. */
export function titleShare({ corpus, query }: Coverage, id: string, title: string): number {
  const language = languageIn(corpus, id)
  let asked = 0
  let all = 0
  for (const term of new Set(query.searched === 'title' ? allTerms(title, language) : contentTerms(title, language))) {
    const rarity = idf(corpus, FIELD[query.searched], term)
    all += rarity
    if (query.conceptOf.has(term)) asked += rarity
  }
  return all > 0 ? asked / all : 0
}

/** Returns the share, by rarity, of query words missing in `from` that `to` has. 0 to 1. */
export function newShare(coverage: Coverage, from: string, to: string): number {
  const covered = conceptsIn(coverage, from)
  const offered = conceptsIn(coverage, to)
  let lacking = 0
  let found = 0
  for (const [concept, rarity] of coverage.query.rarity.entries()) {
    if (covered.has(concept)) continue
    lacking += rarity
    if (offered.has(concept)) found += rarity
  }
  return lacking > 0 ? found / lacking : 0
}

/** Returns the concepts of the query that a node has. */
export function conceptsIn({ query, scores, concepts }: Coverage, id: string): ReadonlySet<number> {
  const known = concepts.get(id)
  if (known) return known
  const found = new Set<number>()
  for (const term of scores.find(id)?.terms ?? []) {
    const concept = query.conceptOf.get(term)
    if (concept !== undefined) found.add(concept)
  }
  concepts.set(id, found)
  return found
}
