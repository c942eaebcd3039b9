import { wordsOf } from './analyzer.ts'
import type { Query } from './query.ts'

const WINDOW = 40

/** UTF-16 units. Words are seldom so long that it matters; data that only looks like words is. */
const LONGEST_SNIPPET = 1_000

/**
 * The 40 words of `text` that say most of the query: the first window with the greatest sum of idf over the distinct words
 * of the query in it, its hits in the middle, white space collapsed. Without a hit, the beginning. Linear in `text`.
 */
export function snippetOf(query: Query, text: string): string {
  const words = wordsOf(text)
  const start = windowStart(query, words)
  const first = words[start]
  const last = words[Math.min(start + WINDOW, words.length) - 1]
  if (!first || !last) return ''
  return cut(text.slice(first.start, last.end).replace(/\s+/g, ' '))
}

function windowStart(query: Query, words: { term: string }[]): number {
  const recent: { place: number; concept: number }[] = []
  let best = { sum: 0, from: 0, to: WINDOW - 1 }
  for (const [place, { term }] of words.entries()) {
    const concept = query.conceptOf.get(term)
    if (concept === undefined) continue
    recent.push({ place, concept })
    while (recent[0] && recent[0].place <= place - WINDOW) recent.shift()
    const sum = sumOfRarity(query, new Set(recent.map((hit) => hit.concept)))
    if (sum > best.sum) best = { sum, from: recent[0]?.place ?? place, to: place }
  }
  const slack = WINDOW - (best.to - best.from + 1)
  return Math.max(0, Math.min(best.from - Math.floor(slack / 2), words.length - WINDOW))
}

function sumOfRarity(query: Query, concepts: Set<number>): number {
  return query.rarity.reduce((sum, rarity, concept) => (concepts.has(concept) ? sum + rarity : sum), 0)
}

/** Never between the halves of a surrogate pair. */
function cut(text: string): string {
  if (text.length <= LONGEST_SNIPPET) return text
  return text.slice(0, LONGEST_SNIPPET).replace(/[\uD800-\uDBFF]$/, '')
}
