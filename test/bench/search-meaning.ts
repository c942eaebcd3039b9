/** Measures the benefit of meaning: ranks collections by words only, and by words and vectors, in the same run. */
import { createNodeVectors, type NodeVectors } from '../../index/search/meaning/node-vectors.ts'
import { loadLanguages } from '../../index/search/text/languages.ts'
import { meanOf, textsOf } from '../../server/domain/embeddings/texts.ts'
import { retrieve, type SearchIndex } from '../search/rows-in-memory.ts'
import { randomOf } from '../support/random.ts'
import { type Asked, buildIndex, type Collection, ndcg, recall } from './search-collections.ts'
import type { Vectors } from './search-vectors.ts'

/** Samples of the bootstrap. */
const resamples = 2_000

const languageOf = await loadLanguages()

/** nDCG@10 and recall@5 of a question's matches, times 100, and whether a relevant one is among the first 5. */
interface Judged {
  readonly ndcg: number
  readonly recall: number
  readonly isFound: boolean
}

/** Measures a collection. Returns a row of a table. */
export async function wordsAndMeaning(
  { corpus, edges, queries }: Collection,
  vectors: Vectors,
): Promise<Record<string, string | number>> {
  const { languages } = vectors.model
  const asked = queries.filter(({ text }) => languages === undefined || isIn(text, languages))
  const questions = await vectors.ofQuestions(asked.map(({ text }) => text))
  // A model that understands no question needs no vectors of texts.
  const nodes = await nodeVectorsOf(asked.length === 0 ? [] : corpus, vectors)
  const index = buildIndex(corpus, edges)
  const lexical = queries.map((query) => judge(query, matchesOf(index, query)))
  let opened = 0
  const hybrid = queries.map((query, n) => {
    const question = questions.get(query.text)
    if (question === undefined || nodes === undefined) return lexical[n] ?? judge(query, [])
    const { matches, unsure } = retrieve(index, optionsFor(query), {}, { vectors: nodes, question })
    if (unsure) opened++
    return judge(
      query,
      matches.map(({ node_id }) => node_id),
    )
  })
  nodes?.free()
  return rowOf(lexical, hybrid, { nodes: corpus.length, asked: asked.length, opened })
}

/** True if most letters of a text are Latin, and its language is one of these. */
function isIn(text: string, languages: readonly string[]): boolean {
  const [letters, latin] = [/\p{L}/gu, /\p{Script=Latin}/gu].map((pattern) => text.match(pattern)?.length ?? 0)
  return 2 * (latin ?? 0) > (letters ?? 0) && languages.includes(languageOf(text))
}

async function nodeVectorsOf(corpus: Collection['corpus'], vectors: Vectors): Promise<NodeVectors | undefined> {
  const texts = corpus.map(({ _id, title = '', text }) => ({ id: _id, parts: textsOf(title, text) }))
  const known = await vectors.ofTexts(texts.flatMap(({ parts }) => parts))
  const [first] = known.values()
  if (first === undefined) return undefined
  const nodes = createNodeVectors(first.length)
  for (const { id, parts } of texts) {
    const mean = meanOf(parts.map((part) => ({ length: part.length, vector: known.get(part) })))
    if (mean) nodes.set(id, mean)
  }
  return nodes
}

function optionsFor({ text }: Asked) {
  return { query: text, top_k: 10, expansion_depth: 'none', include_raw_text: false } as const
}

function matchesOf(index: SearchIndex, query: Asked): string[] {
  return retrieve(index, optionsFor(query)).matches.map(({ node_id }) => node_id)
}

function judge({ gains }: Asked, ranked: string[]): Judged {
  return {
    ndcg: 100 * ndcg(ranked, gains),
    recall: 100 * recall(ranked, gains),
    isFound: ranked.slice(0, 5).some((id) => gains.has(id)),
  }
}

function rowOf(
  lexical: readonly Judged[],
  hybrid: readonly Judged[],
  { nodes, asked, opened }: { readonly nodes: number; readonly asked: number; readonly opened: number },
): Record<string, string | number> {
  const differences = hybrid.map(({ ndcg: value }, n) => value - (lexical[n]?.ndcg ?? 0))
  const change = meanIn(differences)
  const [low, high] = intervalOf(differences)
  const changes = (isIt: (difference: number) => boolean) => differences.filter(isIt).length
  const found = (judged: readonly Judged[]) => judged.filter(({ isFound }) => isFound).length
  return {
    nodes,
    questions: lexical.length,
    understood: asked,
    'gate open': `${opened} (${percentOf(opened, lexical.length)} %)`,
    'lexical nDCG@10': meanIn(lexical.map((one) => one.ndcg)).toFixed(2),
    'hybrid nDCG@10': meanIn(hybrid.map((one) => one.ndcg)).toFixed(2),
    'lexical recall@5': meanIn(lexical.map((one) => one.recall)).toFixed(2),
    'hybrid recall@5': meanIn(hybrid.map((one) => one.recall)).toFixed(2),
    'any in 5': `${found(lexical)} → ${found(hybrid)}`,
    change: change.toFixed(2),
    '95 % interval': `${low.toFixed(2)} to ${high.toFixed(2)}`,
    better: changes((difference) => difference > 1e-9),
    worse: changes((difference) => difference < -1e-9),
  }
}

function meanIn(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function percentOf(part: number, all: number): string {
  return ((100 * part) / all).toFixed(1)
}

/** Returns the 95 % interval of the mean, by the bootstrap over questions. */
function intervalOf(differences: readonly number[]): readonly [low: number, high: number] {
  const random = randomOf(5)
  const means = Array.from({ length: resamples }, () => meanIn(differences.map(() => random.pick(differences))))
  means.sort((a, b) => a - b)
  return [means[Math.floor(0.025 * resamples)] ?? 0, means[Math.ceil(0.975 * resamples) - 1] ?? 0]
}

/** Keeps all relevant documents, and others by chance up to a number. The order of documents stays. */
export function sampleOf(collection: Collection, documents: number): Collection {
  const relevant = new Set(collection.queries.flatMap(({ gains }) => [...gains.keys()]))
  const others = randomOf(7).shuffled(collection.corpus.filter(({ _id }) => !relevant.has(_id)))
  const there = collection.corpus.length - others.length
  const kept = new Set(others.slice(0, Math.max(0, documents - there)).map(({ _id }) => _id))
  const corpus = collection.corpus.filter(({ _id }) => relevant.has(_id) || kept.has(_id))
  const ids = new Set(corpus.map(({ _id }) => _id))
  return { ...collection, corpus, edges: collection.edges.filter(([from, to]) => ids.has(from) && ids.has(to)) }
}
