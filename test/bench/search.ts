import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch from 'minisearch'
import { type Retrieved, retrieve, type SearchQuestion } from '../search/rows-in-memory.ts'
import {
  type Asked,
  buildIndex,
  type Collection,
  ndcg,
  percent,
  readCollection,
  recall,
  type Text,
} from './search-collections.ts'
import { sampleOf, wordsAndMeaning } from './search-meaning.ts'
import { pagesOf, wholeAndMean } from './search-pages.ts'
import { openFts } from './search-peers.ts'
import { openVectors } from './search-vectors.ts'

/**
 * Measures quality and speed of the search on test collections: `npm run bench:search FOLDER`. FOLDER has a folder for
 * each collection, with corpus.jsonl, queries.jsonl and qrels.tsv. Collections with links also have edges.tsv.
 *
 * The table shows nDCG@10 of the matches (linear gain, as trec_eval), and recall@5 of `nodes` at depth deep with top_k
 * 50. Both are multiplied by 100 and averaged over the queries that have a relevant document. Times are p50 in
 * milliseconds with top_k 10. `plain` is MiniSearch with its defaults, and `FTS5` is SQLite's with its Porter stemmer.
 * Both are in memory and in the same run.
 *
 * A second table has the same collections, and pages made of their documents. It compares ranking by whole texts only
 * with ranking by the mean of whole texts and best passages. `npm run bench:search FOLDER pages` measures only that.
 *
 * `npm run bench:search FOLDER hybrid [SET]` compares words with words and meaning, for all collections or one. With
 * SAMPLE=N, a collection has its relevant documents, and others by chance up to N. search-vectors.ts says which model.
 */

const folder = process.argv[2] ?? '../shared/data/search'
if (!existsSync(folder)) {
  console.log(`No collections: ${folder} does not exist. Give their folder as the first argument.`)
  process.exit(0)
}
const names = readdirSync(folder)
  .sort()
  .filter((name) => existsSync(join(folder, name, 'corpus.jsonl')))
const [, , , mode, only] = process.argv
if (mode === 'hybrid') {
  await benchMeaning()
  process.exit(0)
}
const tableOf = (take: (collection: Collection) => Record<string, string | number>) =>
  Object.fromEntries(names.map((name) => [name, take(readCollection(join(folder, name)))]))
if (mode !== 'pages') console.table(tableOf(measure))
console.log('\nThe collections as they are')
console.table(tableOf(wholeAndMean))
console.log('\nPages of 1 to 30 of their documents')
console.table(tableOf((collection) => wholeAndMean(pagesOf(collection))))

async function benchMeaning(): Promise<void> {
  const vectors = await openVectors()
  console.log(`Model: ${vectors.model.name}`)
  for (const name of names.filter((one) => only === undefined || one === only)) {
    const whole = readCollection(join(folder, name))
    const collection = process.env.SAMPLE === undefined ? whole : sampleOf(whole, Number(process.env.SAMPLE))
    console.log(`\n${name}`)
    console.table([await wordsAndMeaning(collection, vectors)])
  }
  await vectors.model.close()
}

function measure({ corpus, edges, queries }: Collection): Record<string, string | number> {
  const started = performance.now()
  const index = buildIndex(corpus, edges)
  const built = performance.now() - started
  const plain = new MiniSearch<Text>({ fields: ['title', 'text'], idField: '_id' })
  plain.addAll(corpus)

  const ask = (query: string, expansion_depth: SearchQuestion['expansion_depth'], top_k = 10) =>
    retrieve(index, { query, top_k, expansion_depth, include_raw_text: false })
  const matchesOf = ({ matches }: Retrieved) => matches.map((match) => match.node_id)
  const nodesOf = ({ nodes }: Retrieved) => nodes.slice(0, 10).map((node) => node.id)
  const plainly = askAll(
    queries,
    (query) => plain.search(query),
    (found) => found.slice(0, 10).map(({ id }) => String(id)),
  )
  const fts = askAll(
    queries,
    openFts(corpus.map(({ _id, title = '', text }) => ({ id: _id, title, text }))),
    (ids) => ids,
  )
  const none = askAll(queries, (query) => ask(query, 'none'), matchesOf)
  const shallow = askAll(queries, (query) => ask(query, 'shallow', 50), nodesOf)
  const standard = askAll(queries, (query) => ask(query, 'standard'), nodesOf)
  const deep = askAll(queries, (query) => ask(query, 'deep'), nodesOf)
  const deepAt50 = () => askAll(queries, (query) => ask(query, 'deep', 50), nodesOf).ranked
  return {
    nodes: corpus.length,
    'ms to build': Math.round(built),
    queries: queries.length,
    'plain nDCG@10': percent(queries, plainly.ranked, ndcg),
    'FTS5 nDCG@10': percent(queries, fts.ranked, ndcg),
    'nDCG@10': percent(queries, none.ranked, ndcg),
    'recall@5': percent(queries, none.ranked, recall),
    'shallow nDCG@10': percent(queries, shallow.ranked, ndcg),
    'shallow recall@5': percent(queries, shallow.ranked, recall),
    'deep nDCG@10': edges.length > 0 ? percent(queries, deepAt50(), ndcg) : '',
    'deep recall@5': edges.length > 0 ? percent(queries, deepAt50(), recall) : '',
    'plain ms': plainly.median.toFixed(2),
    'FTS5 ms': fts.median.toFixed(2),
    'none ms': none.median.toFixed(2),
    'standard ms': standard.median.toFixed(2),
    'deep ms': deep.median.toFixed(2),
  }
}

/** Returns the ids of each answer, and the median time of an answer in milliseconds. */
function askAll<T>(queries: Asked[], ask: (text: string) => T, idsOf: (answer: T) => string[]) {
  const times: number[] = []
  const ranked = queries.map(({ text }) => {
    const started = performance.now()
    const answer = ask(text)
    times.push(performance.now() - started)
    return idsOf(answer)
  })
  times.sort((a, b) => a - b)
  return { ranked, median: times[Math.floor(times.length / 2)] ?? 0 }
}
