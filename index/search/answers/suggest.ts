/** Suggests titles for a partly typed query. */

import * as limits from '../../limits.ts'
import { MOST_WORDS, type Part, partsOf } from '../ranking/title-matches.ts'
import type { Corpus } from '../segments/corpus.ts'
import type { SearchRows } from '../segments/rows.ts'
import { titleWords, typedWords } from '../text/title-words.ts'

/** A request for suggestions, as in spec/openapi.yaml. The caller has validated it. */
export interface SuggestQuestion {
  /** The typed text. */
  query: string
  limit: number
}

interface Suggestion {
  node_id: string
  title: string
}

export interface Suggestions {
  query: string
  suggestions: Suggestion[]
}

/** Limits for typing errors: code points of a word, and the number of words. */
const MISSPELT = { shortest: 4, longest: 32, most: 8 } as const

interface Candidate {
  readonly id: string
  readonly edits: number
  /** True if the title has exactly the typed words, in any order. */
  readonly hasSameWords: boolean
}

/**
 * Returns the titles in which each typed word is a prefix of a word. If there are no such titles, typed words of four
 * letters or more may differ from a prefix by one edit.
 *
 * The order is: the exact title, fewer errors, more edges, shorter (UTF-16), id. If more than 100 titles match, only
 * those with the fewest words are ordered. `corpus` and `rows` must be from the same snapshot. The result does not
 * depend on the parts of the corpus.
 *
 * @throws errors of better-sqlite3
 */
export function suggest(corpus: Corpus, rows: SearchRows, { query, limit }: SuggestQuestion): Suggestions {
  const typed = typedWords(query)
  if (typed.length === 0) return { query, suggestions: [] }
  const words = longest(typed)
  const find = (misspelt: ReadonlySet<string>) => candidatesFor(corpus, query, words, misspelt)
  const strictly = find(new Set())
  const misspelt = new Set(words.filter(mayBeMisspelt).slice(0, MISSPELT.most))
  const found = strictly.length > 0 || misspelt.size === 0 ? strictly : find(misspelt)
  const titles = orderedTitles(found, rows, typed.join(' '), limit)
  return { query, suggestions: titles.slice(0, limit).map(({ id, title }) => ({ node_id: id, title })) }
}

function candidatesFor(corpus: Corpus, query: string, words: readonly string[], misspelt: ReadonlySet<string>) {
  const asTitle = titleWords(query)
  return candidates(partsOf(corpus, { words, misspelt, asTitle }), asTitle)
}

/** Returns the nodes whose titles may begin with a text. At most 100, those with the fewest words. */
export function maybeTitled(corpus: Corpus, text: string): string[] {
  return candidatesFor(corpus, text, longest(typedWords(text)), new Set()).map(({ id }) => id)
}

/** Returns candidates in order, at least `limit` if there are enough. Reads only titles that the order needs. */
function orderedTitles(found: readonly Candidate[], rows: SearchRows, typedTitle: string, limit: number) {
  const ordered = found.map(({ id, edits, hasSameWords }) => {
    const isTyped = hasSameWords && typedWords(rows.titleOf(id) ?? '').join(' ') === typedTitle
    return { id, edits: isTyped ? -1 : edits, edges: rows.edgeCountOf(id) }
  })
  const byEdges = (a: Ordered, b: Ordered) => a.edits - b.edits || b.edges - a.edges
  ordered.sort(byEdges)
  const titles: (Ordered & { readonly title: string })[] = []
  for (const one of ordered) {
    const last = titles.at(-1)
    if (titles.length >= limit && last && byEdges(last, one) < 0) break
    const title = rows.titleOf(one.id)
    if (title !== undefined) titles.push({ ...one, title })
  }
  return titles.sort((a, b) => byEdges(a, b) || a.title.length - b.title.length || (a.id < b.id ? -1 : 1))
}

interface Ordered {
  readonly id: string
  readonly edits: number
  readonly edges: number
}

/** Omits words that are prefixes of others. A title that has the longer word also has the prefix. */
function longest(words: readonly string[]): string[] {
  const sorted = [...new Set(words)].sort()
  const beginnings = new Set(sorted.filter((word, n) => sorted[n + 1]?.startsWith(word)))
  return [...new Set(words)].filter((word) => !beginnings.has(word))
}

function mayBeMisspelt(word: string): boolean {
  const { length } = [...word]
  return length >= MISSPELT.shortest && length <= MISSPELT.longest
}

/** Selects candidates. Titles with exactly the typed words come first, then by errors, number of words and id. */
function candidates(parts: readonly Part[], asTitle: readonly string[]): Candidate[] {
  const counts = new Uint32Array((MISSPELT.most + 1) * (MOST_WORDS + 1) + 1)
  for (const part of parts) {
    for (const document of part.matching) {
      const kind = kindOf(part, document, asTitle)
      counts[kind] = (counts[kind] ?? 0) + 1
    }
  }
  let last = 0
  for (let sum = counts[0] ?? 0; last < counts.length - 1 && sum < limits.suggestedTitles; sum += counts[++last] ?? 0);
  const surely: Candidate[] = []
  const perhaps: Candidate[] = []
  for (const part of parts) {
    const candidate = (document: number, kind: number) => {
      return { id: part.idOf(document), edits: part.edits[document] ?? 0, hasSameWords: kind === 0 }
    }
    const first = firstOf(part)
    for (const document of part.matching) {
      const kind = kindOf(part, document, asTitle)
      if (kind < last) surely.push(candidate(document, kind))
      else if (kind === last) first.add(document)
    }
    perhaps.push(...first.documents.map((document) => candidate(document, last)))
  }
  perhaps.sort((a, b) => (a.id < b.id ? -1 : 1))
  return [...surely, ...perhaps.slice(0, limits.suggestedTitles - surely.length)]
}

/** Keeps the documents with the first ids of all that are added, in order. */
function firstOf({ isBefore }: Part) {
  const documents: number[] = []
  const add = (document: number): void => {
    let at = documents.length
    while (at > 0 && isBefore(document, documents[at - 1] ?? 0)) at--
    if (at === limits.suggestedTitles) return
    documents.splice(at, 0, document)
    if (documents.length > limits.suggestedTitles) documents.pop()
  }
  return { documents, add }
}

/** Returns the sort key of a document among the candidates. */
function kindOf(part: Part, document: number, asTitle: readonly string[]): number {
  const length = part.lengths[document] ?? 0
  if (length === asTitle.length && part.hasAll(document, asTitle)) return 0
  return 1 + (part.edits[document] ?? 0) * (MOST_WORDS + 1) + Math.min(length, MOST_WORDS)
}
