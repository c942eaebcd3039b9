/** Finds more matches by the rare names in the best ones: a hop through words, for questions that need two texts. */

import { documentCount, documentFrequency } from '../segments/corpus.ts'
import { FIELD, languageIn } from '../segments/terms.ts'
import { visitWords } from '../text/analyzer.ts'
import { proseOf } from '../text/prose.ts'
import { type Expansion, hasEdges } from './expansion.ts'
import { type Coverage, conceptsIn, titleShare } from './idf-overlap.ts'
import { type DocumentFilter, type ScoredHit, SEARCHED, scoreTerms } from './scores.ts'

/** What a node gains by the names that a match leads with. */
export interface EntityHop {
  /** A share of the best match's score. */
  readonly gain: number
  /** The match whose names they are. */
  readonly from: string
  /** The names in lower case, the rarest first. */
  readonly words: readonly string[]
}

/** A word of a seed, and its term. */
interface Name {
  readonly term: string
  readonly word: string
}

/** The best matches that are looked at, and the share by rarity of its title that the question must have. */
const SEEDS = 5
const LEAST_TITLE_SHARE = 0.8

/** Names of a seed: words that begin with a capital letter. */
const MOST_NAMES = 8
/** UTF-16 units of a seed's text that are read for names. */
const READING = 16_384
/** Documents that a name is in: with fewer it leads nowhere, with a greater share of all it is no name. */
const LEAST_DOCUMENTS = 2
const MOST_DOCUMENTS = 0.02

/** Weight of all names together, as the root of their number; a word of the question weighs 1. */
const NAMES_WEIGHT = 4

/** Nodes that one seed leads to. */
const MOST_REACHED = 50

/** The most that is gained, as a share of the seed's score, and where the seed has edges that are followed instead. */
const STRENGTH = 0.5
const STRENGTH_WITH_EDGES = STRENGTH / 4

/**
 * By node. Each of the best 5 hits whose title the question names is asked for what the question has beyond it, together with
 * its own rare names; those found gain `strength · score/top · (found/best found)⁴`, each by the seed that gives most.
 *
 * Figures: index/README.md. Lifts recall@5 of multi-hop questions without any edge by 6 to 20 points.
 */
export function findEntityHops(
  expansion: Expansion,
  coverage: Coverage,
  hits: readonly ScoredHit[],
  admission: DocumentFilter | undefined,
): Map<string, EntityHop> {
  const bridges = new Map<string, EntityHop>()
  const top = hits[0]?.score ?? 0
  for (const { id: from, score } of hits.slice(0, SEEDS)) {
    const title = expansion.rows.describe(from)?.title ?? ''
    if (coverage.query.searched !== 'all' || titleShare(coverage, from, title) < LEAST_TITLE_SHARE) continue
    const names = namesIn(expansion, coverage, from, title)
    if (names.length === 0) continue
    const words = names.map(({ word }) => word)
    const strength = ((hasEdges(expansion, from) ? STRENGTH_WITH_EDGES : STRENGTH) * score) / top
    const reached = reachedBy(coverage, from, names, admission)
    const best = reached[0]?.score ?? 0
    for (const { id, score: found } of reached) {
      const gain = strength * (found / best) ** 4
      if (gain > (bridges.get(id)?.gain ?? 0)) bridges.set(id, { gain, from, words })
    }
  }
  return bridges
}

/** The rarest terms of a node that begin with a capital letter and are not in the question. */
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

function isCapital(letter: string): boolean {
  return letter !== letter.toLowerCase()
}

/** Best first, without the seed. */
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
