/**
 * Measures the benefit of passages. Ranks collections by whole texts only, and by the mean of whole texts and best
 * passages.
 */

import { createCorpus, documentCount } from '../../index/search/segments/corpus.ts'
import { PASSAGE_FIELD_COUNT } from '../../index/search/segments/terms.ts'
import { retrieve, type SearchIndex } from '../search/rows-in-memory.ts'
import { randomOf } from '../support/random.ts'
import { type Asked, buildIndex, type Collection, ndcg, percent, recall, type Text } from './search-collections.ts'

/** Possible numbers of documents on a page, all equally likely. */
const sizes = [1, 1, 2, 3, 5, 8, 12, 30]

/** nDCG@10 and recall@5 of the matches, each times 100. */
export function wholeAndMean({ corpus, queries }: Collection): Record<string, string | number> {
  const index = buildIndex(corpus, [])
  const { passages } = index.index
  const withoutPassages = { ...index, index: { ...index.index, passages: createCorpus(PASSAGE_FIELD_COUNT) } }
  const [whole, mean] = [matchesOf(withoutPassages, queries), matchesOf(index, queries)]
  return {
    nodes: corpus.length,
    passages: documentCount(passages),
    queries: queries.length,
    'whole nDCG@10': percent(queries, whole, ndcg),
    'mean nDCG@10': percent(queries, mean, ndcg),
    'whole recall@5': percent(queries, whole, recall),
    'mean recall@5': percent(queries, mean, recall),
  }
}

function matchesOf(index: SearchIndex, queries: readonly Asked[]): string[][] {
  return queries.map(({ text }) => {
    const question = { query: text, top_k: 10, expansion_depth: 'none', include_raw_text: false } as const
    return retrieve(index, question).matches.map((match) => match.node_id)
  })
}

/**
 * Puts the documents in random order on pages of several documents. The first one gives the title. The titles of the
 * others become headings.
 */
export function pagesOf({ corpus, queries }: Collection): Collection {
  const random = randomOf(3)
  const left = random.shuffled(corpus)
  const pages: Text[] = []
  const pageOf = new Map<string, string>()
  while (left.length > 0) {
    const _id = `page${pages.length}`
    const documents = left.splice(0, random.pick(sizes))
    for (const document of documents) pageOf.set(document._id, _id)
    const parts = documents.map(({ title = '', text }, n) => (n === 0 ? text : `## ${title}\n\n${text}`))
    pages.push({ _id, title: documents[0]?.title ?? '', text: parts.join('\n\n') })
  }
  const onPages = (gains: Asked['gains']): Asked['gains'] => {
    const found = new Map<string, number>()
    for (const [id, gain] of gains) {
      const page = pageOf.get(id) ?? id
      found.set(page, Math.max(gain, found.get(page) ?? 0))
    }
    return found
  }
  return { corpus: pages, edges: [], queries: queries.map(({ text, gains }) => ({ text, gains: onPages(gains) })) }
}
