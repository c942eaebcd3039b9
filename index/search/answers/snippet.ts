/** Finds the part of a text that best shows why it matched. */

import type { Query } from '../ranking/query.ts'
import { visitWords } from '../text/analyzer.ts'
import { type Prose, withFormulas } from '../text/prose.ts'
import type { Span } from '../text/scripts.ts'
import type { Language } from '../text/stems.ts'

const WINDOW = 40

/** The limit in UTF-16 units. Only data that looks like words reaches it. */
const LONGEST_SNIPPET = 1_000

/** Scales rarities to integers, whose sums do not depend on the order. */
const UNITS = 2 ** 20

/**
 * Returns the 40 words of `text` that cover most of the query. Takes the first window with the greatest sum of idf over
 * the distinct query words in it. Centres its hits, collapses white space, and has formulas as their source. Without a hit, returns the beginning.
 * Linear in `text`.
 */
export function snippetOf(query: Query, prose: Prose, part: Span, language: Language): string {
  const text = prose.text.slice(part.start, part.end)
  const starts: number[] = []
  const ends: number[] = []
  const window = openWindow(query)
  visitWords(text, language, ({ term }, start, end) => {
    const concept = query.conceptOf.get(term)
    if (concept !== undefined) window.take(starts.length, concept)
    starts.push(start)
    ends.push(end)
  })
  const { from, to } = window.best
  const slack = WINDOW - (to - from + 1)
  const first = Math.max(0, Math.min(from - Math.floor(slack / 2), starts.length - WINDOW))
  const last = Math.min(first + WINDOW, starts.length) - 1
  return cut(
    withFormulas(prose, part.start + (starts[first] ?? 0), part.start + (ends[last] ?? 0)).replace(/\s+/g, ' '),
  )
}

/** Creates a window that takes hits by position. `best` has the first and last hit of the best window so far. */
function openWindow({ rarity }: Query) {
  const worth = rarity.map((value) => Math.round(value * UNITS))
  const counts = rarity.map(() => 0)
  const recent: { place: number; concept: number }[] = []
  const best = { sum: 0, from: 0, to: WINDOW - 1 }
  let sum = 0
  const add = (concept: number, count: 1 | -1): void => {
    const before = counts[concept] ?? 0
    counts[concept] = before + count
    if (before + count === 0 || before === 0) sum += count * (worth[concept] ?? 0)
  }
  const take = (place: number, concept: number): void => {
    recent.push({ place, concept })
    add(concept, 1)
    for (let oldest = recent[0]; oldest && oldest.place <= place - WINDOW; oldest = recent[0]) {
      recent.shift()
      add(oldest.concept, -1)
    }
    if (sum > best.sum) Object.assign(best, { sum, from: recent[0]?.place ?? place, to: place })
  }
  return { best, take }
}

/** Cuts a text to the limit. Never cuts a surrogate pair. */
function cut(text: string): string {
  if (text.length <= LONGEST_SNIPPET) return text
  return text.slice(0, LONGEST_SNIPPET).replace(/[\uD800-\uDBFF]$/, '')
}
