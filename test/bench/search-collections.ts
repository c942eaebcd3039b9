/** Reads and indexes test collections of searches, and judges the answers. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSearchIndex, retrieve, type SearchIndex, setDocument } from '../search/rows-in-memory.ts'

export interface Text {
  _id: string
  title?: string
  text: string
}

export interface Asked {
  text: string
  /** The gain of each relevant document, by its id. */
  gains: Map<string, number>
}

/** A row of edges.tsv: source, target, type. */
type Link = readonly [string, string, string]

export interface Collection {
  corpus: Text[]
  edges: Link[]
  /** Only queries with a relevant document. */
  queries: Asked[]
}

/** Builds an index of all documents. A first query reads them. */
export function buildIndex(corpus: Text[], edges: Link[]): SearchIndex {
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

export function ndcg(ranked: string[], gains: Map<string, number>): number {
  const discounted = (sum: number, gain: number, i: number) => sum + gain / Math.log2(i + 2)
  const best = [...gains.values()].sort((a, b) => b - a)
  const got = ranked.slice(0, 10).map((id) => gains.get(id) ?? 0)
  return got.reduce(discounted, 0) / best.slice(0, 10).reduce(discounted, 0)
}

export function recall(ranked: string[], gains: Map<string, number>): number {
  return ranked.slice(0, 5).filter((id) => gains.has(id)).length / gains.size
}

export function percent(
  queries: Asked[],
  ranked: string[][],
  judge: (ranked: string[], gains: Map<string, number>) => number,
): string {
  const sum = queries.reduce((total, { gains }, i) => total + judge(ranked[i] ?? [], gains), 0)
  return ((100 * sum) / queries.length).toFixed(2)
}

export function readCollection(path: string): Collection {
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
