/** Selects the texts of a result, whole or as passages, within a limit. */

import type { Query } from '../ranking/query.ts'
import { bm25, roundScore } from '../ranking/scores.ts'
import { type Corpus, idf } from '../segments/corpus.ts'
import type { DescribedNode, SearchRows } from '../segments/rows.ts'
import { FIELD, languageIn } from '../segments/terms.ts'
import { contentTerms } from '../text/analyzer.ts'
import { passagesOf } from '../text/passages.ts'
import { proseOf } from '../text/prose.ts'

/** A part of a text, without Markdown syntax. */
interface ShownPassage {
  /** The nearest heading above, or an empty string. */
  heading: string
  /** The line of the text at which the passage begins, from 1. */
  line: number
  text: string
  /** The score by the words of the query, comparable within one result. 0 if the passage has none of them. */
  score: number
}

export interface ShownText {
  text_content?: string
  /** Best first. Equal ones are in the order of the text. */
  passages?: ShownPassage[]
  /** True if some text did not fit. */
  text_truncated?: boolean
}

/** Returns the text to show for a node. Must be called in order of rank, best first. */
export type ShowText = (node: DescribedNode) => ShownText

/** The maximum number of passages of one node. */
const MOST_PASSAGES = 3

/** UTF-16 units to read for passages, over all nodes. Later nodes have no passages. */
const PASSAGE_READING = 1_048_576

/** The distinct terms of a passage of 100 words. Stands for the mean length of passages. */
const USUAL_LENGTH = 50

/** Shows whole texts. @param mostChars UTF-16 units of all texts together; the last one is cut after a paragraph */
export function showWholeTexts(rows: SearchRows, mostChars = Number.POSITIVE_INFINITY): ShowText {
  let left = mostChars
  return ({ id }) => {
    const text = rows.textOf(id)
    if (text.length <= left) {
      left -= text.length
      return { text_content: text }
    }
    const kept = beginningOf(text, left)
    left = 0
    return { ...(kept === '' ? {} : { text_content: kept }), text_truncated: true }
  }
}

/**
 * Shows the best passages.
 *
 * @param mostChars UTF-16 units of all passages together; one that does not fit is left out
 * @param nearestTo the number of the passage that comes first because of its meaning, by node
 */
export function showPassages(
  rows: SearchRows,
  corpus: Corpus,
  query: Query,
  mostChars = Number.POSITIVE_INFINITY,
  nearestTo?: (id: string) => number | undefined,
): ShowText {
  let left = mostChars
  let unread = PASSAGE_READING
  return ({ id, title }) => {
    const source = unread > 0 && left > 0 ? rows.textStartOf(id) : ''
    unread -= source.length
    const best = rankedPassages(corpus, query, { id, title, source, nearest: nearestTo?.(id) })
    const passages: ShownPassage[] = []
    for (const passage of best) {
      if (passage.text.length > left) break
      left -= passage.text.length
      passages.push(passage)
    }
    const isCut = passages.length < best.length || (source === '' && rows.textStartOf(id) !== '')
    if (passages.length < best.length) left = 0
    return { passages, ...(isCut ? { text_truncated: true } : {}) }
  }
}

interface CutText {
  readonly id: string
  readonly title: string
  readonly source: string
  /** The number of the passage that comes first. */
  readonly nearest: number | undefined
}

/**
 * Returns the nearest passage, and the best ones with words of the query. Without any of them, returns the first
 * passage.
 */
function rankedPassages(corpus: Corpus, query: Query, { id, title, source, nearest }: CutText): ShownPassage[] {
  const prose = proseOf(source)
  const several = passagesOf(title, source, prose)
  const language = languageIn(corpus, id)
  const all =
    several.length > 0
      ? several.map(({ start, end, heading, line }) => ({ heading, line, text: prose.text.slice(start, end) }))
      : [{ heading: '', line: 1, text: prose.text.trim() }]
  const scored = all.map((passage) => ({
    ...passage,
    score: roundScore(scoreOf(corpus, query, contentTerms(`${passage.heading}\n${passage.text}`, language))),
  }))
  const first = scored.slice(nearest ?? 0, nearest === undefined ? 0 : nearest + 1)
  const found = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)
  const best = [...new Set([...first, ...found])].filter(({ text }) => text !== '')
  return (best.length > 0 ? best : scored.filter(({ text }) => text !== '').slice(0, 1)).slice(0, MOST_PASSAGES)
}

/** Computes BM25 of a passage, with the rarity of terms among nodes. */
function scoreOf(corpus: Corpus, query: Query, terms: readonly string[]): number {
  const counts = new Map<string, number>()
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1)
  return query.terms.reduce((sum, { term, weight }) => {
    const count = counts.get(term) ?? 0
    if (count === 0) return sum
    return sum + weight * bm25(idf(corpus, FIELD.all, term), count, counts.size, USUAL_LENGTH)
  }, 0)
}

/** Cuts a text after the last paragraph that fits, or else a line or word. Never cuts a surrogate pair. */
function beginningOf(text: string, room: number): string {
  const end = ['\n\n', '\n', ' '].map((border) => text.lastIndexOf(border, room)).find((at) => at > 0)
  return text.slice(0, end ?? room).replace(/[\uD800-\uDBFF]$/, '')
}
