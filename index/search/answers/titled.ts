/** Puts the nodes whose titles equal or begin with the query before the other matches. */

import type { BestHits, RankedHits } from '../ranking/matches.ts'
import { passesFilter } from '../ranking/scope.ts'
import { roundScore, type ScoredHit, type Scores } from '../ranking/scores.ts'
import { type Corpus, placeOf } from '../segments/corpus.ts'
import type { SearchRows } from '../segments/rows.ts'
import { typedWords } from '../text/title-words.ts'
import { maybeTitled } from './suggest.ts'

/** The number of words up to which a query may be a title. */
const MOST_WORDS = 32

interface Found {
  readonly scores: Scores
  readonly found: BestHits
  readonly ranked: RankedHits
}

/**
 * Returns the hits in the order of the answer. A title that equals the query comes first, then titles that begin with
 * it, then the other hits. Adds titled nodes that are not among the hits. Titles are compared by words, without case
 * and accents. Among these titles, the better score comes first, then the shorter title, then the smaller id. Returns
 * the given array if there are no such titles.
 */
export function titledFirst(
  corpus: Corpus,
  rows: SearchRows,
  text: string,
  { scores, found, ranked: { hits } }: Found,
): readonly ScoredHit[] {
  const typed = typedWords(text)
  if (typed.length === 0 || typed.length > MOST_WORDS) return hits
  const wanted = typed.join(' ')
  const known = new Map(hits.map((hit) => [hit.id, hit]))
  const isAdmitted = (id: string) => {
    const place = placeOf(corpus, id)
    return place !== undefined && (found.isByPhrase ? known.has(id) : passesFilter(found.admission, place))
  }
  const titled = maybeTitled(corpus, text)
    .filter(isAdmitted)
    .flatMap((id) => {
      const title = rows.describe(id)?.title ?? ''
      const words = typedWords(title).join(' ')
      if (!words.startsWith(wanted)) return []
      const whole = scores.find(id) ?? { score: 0, terms: [] }
      const hit = known.get(id) ?? { id, ...whole }
      return [{ hit, length: title.length, isWhole: words === wanted, score: roundScore(whole.score) }]
    })
  if (titled.length === 0) return hits
  titled.sort(
    (a, b) =>
      Number(b.isWhole) - Number(a.isWhole) ||
      b.score - a.score ||
      a.length - b.length ||
      (a.hit.id < b.hit.id ? -1 : 1),
  )
  const ids = new Set(titled.map(({ hit }) => hit.id))
  return [...titled.map(({ hit }) => hit), ...hits.filter(({ id }) => !ids.has(id))]
}
