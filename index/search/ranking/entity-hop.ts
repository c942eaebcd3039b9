/** Finds nodes by rare names in the best matches. Queries that need two texts profit from it. */

import { documentCount, documentFrequency } from '../segments/corpus.ts'
import { FIELD, languageIn } from '../segments/terms.ts'
import { visitWords } from '../text/analyzer.ts'
import { proseOf } from '../text/prose.ts'
import { type Expansion, hasEdges } from './expansion.ts'
import { type Coverage, conceptsIn, titleShare } from './idf-overlap.ts'
import { isCapital } from './query.ts'
import { type DocumentFilter, type ScoredHit, SEARCHED, scoreTerms } from './scores.ts'

/** A node's gain from the names in a match. */
export interface EntityHop {
  /** The gain as a share of the best match's score. */
  readonly gain: number
  /** The gain as if no match had edges that are followed. It is the same at every level of expansion. */
  readonly reach: number
  /** The match that contains the names. */
  readonly from: string
  /** The names in lower case, the rarest first. */
  readonly words: readonly string[]
}

/** A word of a seed, and its term. */
interface Name {
  readonly term: string
  readonly word: string
}

/** The number of best matches that may be seeds. The query must contain this share of a seed's title, by rarity. */
const SEEDS = 5
const LEAST_TITLE_SHARE = 0.8

/** The maximum number of names from a seed. Names are words that begin with a capital letter. */
const MOST_NAMES = 8
/** UTF-16 units of a seed's text to read for names. */
const READING = 16_384
/**
 * Limits on the documents with a name, `MOST` as a share. A rarer word leads nowhere, a more frequent one is not a
 * name.
 */
const LEAST_DOCUMENTS = 2
const MOST_DOCUMENTS = 0.02

/** The weight of names. Together they weigh this times the root of their number. A word of the query weighs 1. */
const NAMES_WEIGHT = 4

/** The maximum number of nodes that one seed leads to. */
const MOST_REACHED = 50

/** The maximum gain as a share of the seed's score. Less if the seed has edges that are followed. */
const STRENGTH = 0.5
const STRENGTH_WITH_EDGES = STRENGTH / 4

/**
 * Returns the gains of nodes. Seeds are the matches among the best 5 hits whose title is in the query. For each seed, searches
 * for the terms of the query that it lacks, together with its rare names. A node found gains
 * `strength · score/top · (found/best found)⁴`, from the seed that gives most.
 *
 * Lifts recall@5 of multi-hop queries without any edge by 6 to 20 points. Figures: test/bench/search.md.
 */
export function findEntityHops(
  expansion: Expansion,
  coverage: Coverage,
  hits: readonly ScoredHit[],
  isMatch: (id: string) => boolean,
  admission: DocumentFilter | undefined,
): Map<string, EntityHop> {
  const bridges = new Map<string, EntityHop>()
  const top = hits[0]?.score ?? 0
  for (const { id: from, score } of hits.slice(0, SEEDS).filter(({ id }) => isMatch(id))) {
    const title = expansion.rows.describe(from)?.title ?? ''
    if (coverage.query.searched !== 'all' || titleShare(coverage, from, title) < LEAST_TITLE_SHARE) continue
    const names = namesIn(expansion, coverage, from, title)
    if (names.length === 0) continue
    const words = names.map(({ word }) => word)
    const strength = hasEdges(expansion, from) ? STRENGTH_WITH_EDGES : STRENGTH
    const reached = reachedBy(coverage, from, names, admission)
    const best = reached[0]?.score ?? 0
    for (const { id, score: found } of reached) {
      const share = (score / top) * (found / best) ** 4
      const known = bridges.get(id)
      const reach = Math.max(STRENGTH * share, known?.reach ?? 0)
      if (known && strength * share <= known.gain) bridges.set(id, { ...known, reach })
      else bridges.set(id, { gain: strength * share, reach, from, words })
    }
  }
  return bridges
}

/** Returns a node's rarest capitalised words that are not in the query. */
function namesIn({ rows }: Expansion, { corpus, query }: Coverage, id: string, title: string): Name[] {
  const text = `${title}\n${proseOf(rows.textStartOf(id).slice(0, READING)).text}`
  const most = MOST_DOCUMENTS * documentCount(corpus)
  const names = new Map<string, Name & { count: number }>()
  visitWords(text, languageIn(corpus, id), ({ term, isStopWord }, start, end) => {
    if (isStopWord || names.has(term) || query.conceptOf.has(term) || !isCapital(text.charAt(start))) return
    const count = documentFrequency(corpus, FIELD.all, term)
    names.set(term, { term, word: text.slice(start, end).toLowerCase(), count })
  })
  return [...names.values()]
    .filter(({ count }) => count >= LEAST_DOCUMENTS && count <= most)
    .sort((a, b) => a.count - b.count || (a.term < b.term ? -1 : 1))
    .slice(0, MOST_NAMES)
}

/** Finds nodes by the names of a seed. Returns the best first, without the seed. */
function reachedBy(
  coverage: Coverage,
  seed: string,
  names: readonly Name[],
  admission: DocumentFilter | undefined,
): readonly ScoredHit[] {
  const { corpus, query } = coverage
  const covered = conceptsIn(coverage, seed)
  const lacking = query.terms.filter(({ term }) => !covered.has(query.conceptOf.get(term) ?? -1))
  const weight = NAMES_WEIGHT / Math.sqrt(names.length)
  const scores = scoreTerms(corpus, SEARCHED.all, [...lacking, ...names.map(({ term }) => ({ term, weight }))])
  return scores
    .best(MOST_REACHED + 1, admission)
    .filter(({ id }) => id !== seed)
    .slice(0, MOST_REACHED)
}
