/** Decides whether the words of a query failed. Only then does its meaning count. */
import { type Coverage, conceptsIn, titleShare } from '../ranking/idf-overlap.ts'
import type { BestHits, BestPassage } from '../ranking/matches.ts'
import { roundScore, type ScoredHit } from '../ranking/scores.ts'
import { greatestIdf } from '../segments/corpus.ts'

/** The signals of the best hits by words. They have 6 significant digits. */
export interface Signals {
  /** The greatest share of the query, by rarity, that a best passage has. 1 if a hit has every word. 0 to 1. */
  readonly share: number
  /** The greatest share of a title, by rarity, that is in the query. 0 to 1. */
  readonly title: number
  /** The most distinct words of the query that one hit has. */
  readonly found: number
  /** True if a hit has a capitalised word of the query, except its first word. The words have not failed then. */
  readonly name: false
}

/** The number of best hits whose words are read, and whose titles are read. */
const READ_FOR_WORDS = 3
export const READ_FOR_TITLES = 5

/** The signals between which `unsure` falls from 1 to 0. */
const SHARE = { from: 0.4, to: 0.6 } as const
const TITLE = { from: 0, to: 0.15 } as const
const FOUND = { from: 2, to: 5 } as const

const HAS_LETTER = /\p{L}/u

/**
 * Computes the signals of the best hits by words, the cheapest first. Undefined if one of them shows that the words did
 * not fail: most queries need no more. A title that says nothing counts as one that the query has whole, because it
 * cannot show that the words failed.
 *
 * @param best the hits, best first
 */
export function signalsOf(
  coverage: Coverage,
  { hits, passages }: Pick<BestHits, 'hits' | 'passages'>,
  titleOf: (id: string) => string,
): Signals | undefined {
  const read = hits
    .slice(0, READ_FOR_WORDS)
    .map(({ id }) => ({ has: conceptsIn(coverage, id), best: passages.get(id) }))
  const found = Math.max(0, ...read.map(({ has }) => has.size))
  if (found >= FOUND.to) return undefined
  const { names } = coverage.query
  if (names.size > 0 && read.some(({ has }) => [...has].some((concept) => names.has(concept)))) return undefined
  const shareIn = ({ has, best }: (typeof read)[number]) =>
    hasAll(coverage, has) ? 1 : shareOf(coverage, inPassage(coverage, best) ?? has)
  const share = roundScore(Math.max(0, ...read.map(shareIn)))
  if (share >= SHARE.to) return undefined
  const titleSignal = ({ id }: ScoredHit) => {
    const title = titleOf(id)
    return HAS_LETTER.test(title) ? titleShare(coverage, id, title) : 1
  }
  const title = roundScore(Math.max(0, ...hits.slice(0, READ_FOR_TITLES).map(titleSignal)))
  return title >= TITLE.to ? undefined : { share, title, found, name: false }
}

/** Returns how far the words failed, above 0 to 1. */
export function unsureOf({ share, title, found }: Signals): number {
  return fall(share, SHARE) * fall(title, TITLE) * fall(found, FOUND)
}

function fall(value: number, { from, to }: { readonly from: number; readonly to: number }): number {
  return clamp((to - value) / (to - from))
}

/** Limits a number to 0 to 1. */
export function clamp(value: number): number {
  return Math.min(1, Math.max(0, value))
}

/** True if these are all concepts of the query. The last passages of a long node are not indexed, so the node decides. */
function hasAll({ query }: Coverage, concepts: ReadonlySet<number>): boolean {
  return concepts.size > 0 && concepts.size === query.rarity.length && query.unknown === 0
}

/** Returns the concepts of the query that a passage has. */
function inPassage({ query }: Coverage, best: BestPassage | undefined): ReadonlySet<number> | undefined {
  return best && new Set(best.explain().flatMap(({ term }) => query.conceptOf.get(term) ?? []))
}

/** Returns the share of concepts in the query, by rarity. A word that no node has is as rare as a word can be. */
function shareOf({ corpus, query }: Coverage, concepts: ReadonlySet<number>): number {
  const rarest = query.unknown === 0 ? 0 : greatestIdf(corpus)
  const all = query.rarity.reduce((sum, rarity) => sum + rarity, rarest * query.unknown)
  const had = [...concepts].reduce((sum, concept) => sum + (query.rarity[concept] ?? 0), 0)
  return all > 0 ? had / all : 0
}
