import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch from 'minisearch'
import {
  createSearchIndex,
  type Retrieved,
  retrieve,
  type SearchIndex,
  type SearchQuestion,
  setDocument,
} from '../search/rows-in-memory.ts'
import { openFts } from './search-peers.ts'

/**
 * Quality and speed of the search on test collections: `npm run bench:search FOLDER`. FOLDER holds a
 * folder per collection with corpus.jsonl, queries.jsonl, qrels.tsv and, where there are links, edges.tsv.
 *
 * nDCG@10 of the matches (linear gain, as trec_eval), recall@5 of `nodes` at depth deep with top_k 50, each times 100 and
 * averaged over the queries that have a relevant document; p50 in milliseconds with top_k 10; `plain` is MiniSearch as it
 * comes, `FTS5` is SQLite's with its Porter stemmer, both in memory and in the same run.
 */

interface Text {
  _id: string
  title?: string
  text: string
}

interface Asked {
  text: string
  /** By document. */
  gains: Map<string, number>
}

/** A row of edges.tsv: source, target, type. */
type Link = readonly [string, string, string]

interface Collection {
  corpus: Text[]
  edges: Link[]
  /** Only those with a relevant document. */
  queries: Asked[]
}

const folder = process.argv[2] ?? '../shared/data/search'
if (!existsSync(folder)) {
  console.log(`No collections: ${folder} does not exist. Give their folder as the first argument.`)
  process.exit(0)
}
const rows: Record<string, Record<string, string | number>> = {}
for (const name of readdirSync(folder).sort()) {
  if (existsSync(join(folder, name, 'corpus.jsonl'))) rows[name] = measure(readCollection(join(folder, name)))
}
console.table(rows)

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

/** With all documents indexed: a first question reads them. */
function buildIndex(corpus: Text[], edges: Link[]): SearchIndex {
  const index = createSearchIndex()
  const { db } = index
  const insert = db.prepare(
    `insert into edge (org_id, holder, key, edge_type, source, target, connection_type, label)
     select 'org', id, ?, 'connection', id, ?, ?, '' from node where id = ?`,
  )
  db.transaction(() => {
    for (const { _id, title, text } of corpus)
      setDocument(index, { id: _id, title: title ?? '', text, tags: [], updatedAt: '2026-01-01T00:00:00Z' })
    for (const [n, [source, target, type]] of edges.entries()) insert.run(String(n), target, type, source)
  })()
  retrieve(index, { query: '', top_k: 1, expansion_depth: 'none', include_raw_text: false })
  return index
}

function ndcg(ranked: string[], gains: Map<string, number>): number {
  const discounted = (sum: number, gain: number, i: number) => sum + gain / Math.log2(i + 2)
  const best = [...gains.values()].sort((a, b) => b - a)
  const got = ranked.slice(0, 10).map((id) => gains.get(id) ?? 0)
  return got.reduce(discounted, 0) / best.slice(0, 10).reduce(discounted, 0)
}

function recall(ranked: string[], gains: Map<string, number>): number {
  return ranked.slice(0, 5).filter((id) => gains.has(id)).length / gains.size
}

function percent(
  queries: Asked[],
  ranked: string[][],
  judge: (ranked: string[], gains: Map<string, number>) => number,
): string {
  const sum = queries.reduce((total, { gains }, i) => total + judge(ranked[i] ?? [], gains), 0)
  return ((100 * sum) / queries.length).toFixed(2)
}

/** The ids of each answer, and the median of the times it took to get it, in milliseconds. */
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

function readCollection(path: string): Collection {
  const gains = new Map<string, Map<string, number>>()
  for (const [query = '', document = '', score] of readTable(join(path, 'qrels.tsv')).slice(1)) {
    if (Number(score) <= 0) continue
    const judged = gains.get(query) ?? new Map<string, number>()
    gains.set(query, judged.set(document, Number(score)))
  }
  const queries = readTexts(join(path, 'queries.jsonl')).flatMap(({ _id, text }) => {
    const judged = gains.get(_id)
    return judged ? [{ text, gains: judged }] : []
  })
  const edgesFile = join(path, 'edges.tsv')
  const edges = existsSync(edgesFile)
    ? readTable(edgesFile).map(([source = '', target = '', type = '']): Link => [source, target, type])
    : []
  return { corpus: readTexts(join(path, 'corpus.jsonl')), edges, queries }
}

function readTexts(file: string): Text[] {
  return readLines(file).map((line): Text => JSON.parse(line))
}

function readTable(file: string): string[][] {
  return readLines(file).map((line) => line.split('\t'))
}

function readLines(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}
