import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch from 'minisearch'
import {
  createSearchIndex,
  type Question,
  retrieve,
  type SearchEdge,
  type SearchIndex,
  setDocument,
  setEdges,
} from '../../index/search/retrieve.ts'

/**
 * Quality and speed of the search on test collections: `node --import tsx test/bench/search.ts [FOLDER]`. FOLDER holds a
 * folder per collection with corpus.jsonl, queries.jsonl, qrels.tsv and, where there are links, edges.tsv.
 *
 * nDCG@10 of the matches (linear gain, as trec_eval), recall@5 of `nodes` at depth deep with top_k 50, each times 100 and
 * averaged over the queries that have a relevant document; p50 in milliseconds with top_k 10; `plain` is MiniSearch as it comes.
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

interface Collection {
  corpus: Text[]
  edges: SearchEdge[]
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

  const at = (expansion_depth: Question['expansion_depth'], top_k: number) =>
    askAll(queries, (query) => retrieve(index, { query, top_k, expansion_depth, include_raw_text: false }))
  const [plainly, none, standard, deep] = [
    askAll(queries, (query) => plain.search(query)),
    at('none', 10),
    at('standard', 10),
    at('deep', 10),
  ]
  const plainIds = plainly.answers.map((results) => results.map((result) => String(result.id)))
  const matches = none.answers.map((answer) => answer.matches.map((match) => match.node_id))
  const nodes = () => at('deep', 50).answers.map((answer) => answer.nodes.map((node) => node.id))
  return {
    nodes: corpus.length,
    'ms to build': Math.round(built),
    queries: queries.length,
    'plain nDCG@10': percent(queries, plainIds, ndcg),
    'nDCG@10': percent(queries, matches, ndcg),
    'recall@5': percent(queries, matches, recall),
    'deep recall@5': edges.length > 0 ? percent(queries, nodes(), recall) : '',
    'plain ms': plainly.median.toFixed(2),
    'none ms': none.median.toFixed(2),
    'standard ms': standard.median.toFixed(2),
    'deep ms': deep.median.toFixed(2),
  }
}

function buildIndex(corpus: Text[], edges: SearchEdge[]): SearchIndex {
  const index = createSearchIndex()
  for (const { _id, title, text } of corpus) {
    setDocument(index, { id: _id, title: title ?? '', text, tags: [], updatedAt: '2026-01-01T00:00:00Z', commitId: '' })
  }
  for (const [holder, held] of groupBy(edges, (edge) => edge.holder)) setEdges(index, holder, held)
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
  answers: string[][],
  judge: (ranked: string[], gains: Map<string, number>) => number,
): string {
  const sum = queries.reduce((total, { gains }, i) => total + judge(answers[i] ?? [], gains), 0)
  return ((100 * sum) / queries.length).toFixed(1)
}

/** All answers and the median of their times, in milliseconds. */
function askAll<T>(queries: Asked[], ask: (text: string) => T): { answers: T[]; median: number } {
  const times: number[] = []
  const answers = queries.map(({ text }) => {
    const started = performance.now()
    const answer = ask(text)
    times.push(performance.now() - started)
    return answer
  })
  times.sort((a, b) => a - b)
  return { answers, median: times[Math.floor(times.length / 2)] ?? 0 }
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
  const edges = existsSync(edgesFile) ? readTable(edgesFile).map(connection) : []
  return { corpus: readTexts(join(path, 'corpus.jsonl')), edges, queries }
}

function connection([source = '', target = '', type = '']: string[]): SearchEdge {
  return {
    id: `${source}-${target}-${type}`,
    source,
    target,
    edge_type: 'connection',
    connection_type: type,
    label: '',
    parent_node_id: source,
    holder: source,
  }
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

function groupBy<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}
