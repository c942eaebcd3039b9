/** Answers a question from an organisation's index and rows: matches, ranked nodes, and the connections among them. */
import type { EdgeTable } from '../derived/schema.ts'
import { type Bridge, bridgesOf } from './bridge.ts'
import { conditionsOf, excludedPhrases, phraseTest, READ_FOR_PHRASES, strictPhrases } from './conditions.ts'
import { type Corpus, documentCount } from './corpus.ts'
import type { Coverage } from './coverage.ts'
import type { Expansion, Following } from './expansion.ts'
import type { LanguageOf } from './languages.ts'
import { type ExpansionDepth, LEVELS, type Level } from './levels.ts'
import { withinLimits } from './limits.ts'
import { proseOf } from './prose.ts'
import { parseQuery, type Query } from './query.ts'
import { parseQuestion, type QuestionParts } from './query-syntax.ts'
import { type Match, MOST_NODES, type RankedNode, rankNodes, type ScoreOf } from './ranking.ts'
import { type DescribedNode, INDEXED_BYTES, MOST_EDGES_FROM, type SearchRows } from './rows.ts'
import { admissionOf, both, type Scope } from './scope.ts'
import { type Admission, roundScore, type ScoredHit, type Scores, scoreTerms } from './scores.ts'
import { snippetOf } from './snippet.ts'
import { languageIn, SEARCHED } from './terms.ts'

/** As in spec/openapi.yaml; the caller has checked its shape. */
export interface SearchQuestion {
  query: string
  top_k: number
  expansion_depth: ExpansionDepth
  include_raw_text: boolean
  /** Of the answer; matches count and stay. 500 unless said. */
  max_nodes?: number
  /** UTF-16 units of all `text_content` together. */
  max_chars?: number
  scope?: Scope
}

/** Why there is no match. */
type Hint = 'scope_is_empty' | 'only_stop_words' | 'no_term_known'

interface RetrievedMatch {
  node_id: string
  title: string
  /** BM25. */
  score: number
  /** From 1. */
  rank: number
  snippet: string
  /** The query's own words, in lower case and in its order. */
  matched_terms: string[]
  commit_id?: string
}

interface RetrievedNode extends RankedNode {
  title: string
  tags: string[]
  commit_id?: string
  /** Only the beginning of its text is searched. */
  partly_indexed?: boolean
  text_content?: string
  /** `text_content` ends early, or is missing, for `max_chars`. */
  text_truncated?: boolean
}

export interface Retrieved {
  query: string
  matches: RetrievedMatch[]
  nodes: RetrievedNode[]
  connections: EdgeTable[]
  truncated: boolean
  hint?: Hint
}

/** UTF-16 units that are read for the snippets of one answer, in the order of rank, and the least for each match. */
const SNIPPET_READING = 1_048_576
const LEAST_READING = 16_384

/** Edges that are looked at to find those between two nodes of the answer, from the best node on; of one node the first so many. */
const MOST_LOOKED_AT = 2_500
const MOST_LOOKED_AT_A_NODE = MOST_EDGES_FROM - 1

/** Hits that a hub's edges are looked up for. */
const BEST_FOR_HUBS = 100

/**
 * `corpus` and `rows` are of one moment. The answer depends on the question and on what they hold, not on the order in which
 * it came. @throws what better-sqlite3 throws
 */
export function retrieve(
  corpus: Corpus,
  rows: SearchRows,
  languageOf: LanguageOf,
  orgId: string,
  question: SearchQuestion,
): Retrieved {
  const level = LEVELS[question.expansion_depth]
  const scope = question.scope ?? {}
  const admission = admissionOf(corpus, rows, scope)
  const parts = parseQuestion(question.query)
  const query = parseQuery(corpus, languageOf, parts.text === '' ? parts.titles.join(' ') : parts.text)
  const scores = scoreTerms(corpus, SEARCHED[query.searched], query.terms)
  const coverage: Coverage = { corpus, query, scores, concepts: new Map() }
  const found = bestHits(corpus, rows, scores, parts, admission, level.hops === 0 ? question.top_k : BEST_FOR_HUBS)
  const expansion: Expansion = {
    corpus,
    rows,
    follow: followOf(level, scope),
    admission,
    best: found.hits.map(({ id }) => id),
    places: new Map(),
    degrees: new Map(),
  }
  const bridges =
    level.hops === 0 || found.isByPhrase ? new Map() : bridgesOf(expansion, coverage, found.hits, found.admission)
  const top = found.hits[0]?.score ?? 0
  const scoreOf = (id: string) => (scores.find(id)?.score ?? 0) + top * (bridges.get(id)?.gain ?? 0)
  const hits = withBridges(scores, found.hits, bridges, scoreOf).slice(0, question.top_k)
  const matches = hits.map(({ id, score }): Match => ({ id, score: roundScore(score) }))
  const ranked = rankNodes(expansion, coverage, matches, scoreOf, level)
  const described = describer(rows)
  const bytesOf = (id: string) => described(id)?.bytes ?? 0
  const limited = withinLimits(
    ranked.nodes,
    question.max_nodes ?? MOST_NODES,
    question.include_raw_text ? bytesOf : undefined,
  )
  const cutText = textCutter(rows, question.max_chars)
  const hint = hits.length === 0 ? hintOf(corpus, query, admission) : undefined
  const ids = new Set(limited.nodes.map(({ node }) => node.id))
  const among = level.hops === 0 ? { edges: [], cut: false } : edgesAmong(rows, orgId, ids)
  return {
    query: question.query,
    matches: describeMatches(corpus, rows, described, query, hits),
    nodes: limited.nodes.map(({ node, hasText }) => describeNode(cutText, described(node.id), node, hasText)),
    connections: among.edges,
    truncated: ranked.cut || limited.truncated || among.cut,
    ...(hint === undefined ? {} : { hint }),
  }
}

interface BestHits {
  readonly hits: readonly ScoredHit[]
  /** Of a match, but for phrases. */
  readonly admission: Admission | undefined
  readonly isByPhrase: boolean
}

/** The conditions of the question's syntax bound the matches, not what is reached from them. */
function bestHits(
  corpus: Corpus,
  rows: SearchRows,
  scores: Scores,
  parts: QuestionParts,
  admission: Admission | undefined,
  limit: number,
): BestHits {
  const conditions = conditionsOf(corpus, parts)
  const admitted = admission && conditions ? both(admission, conditions) : (admission ?? conditions)
  const [wanted, excluded] = [strictPhrases(parts), excludedPhrases(parts)]
  const isByPhrase = wanted.length > 0 || excluded.length > 0
  if (!isByPhrase) return { hits: scores.best(limit, admitted), admission: admitted, isByPhrase }
  const best = scores.best(Math.max(limit, READ_FOR_PHRASES), admitted)
  const hasPhrases = phraseTest(rows, wanted, excluded)
  return { hits: best.filter(({ id }) => hasPhrases(id)).slice(0, limit), admission: admitted, isByPhrase }
}

/** The hits with what they gain, and those that only the names of others lead to; best first, equals by id. */
function withBridges(
  scores: Scores,
  hits: readonly ScoredHit[],
  bridges: ReadonlyMap<string, Bridge>,
  scoreOf: ScoreOf,
): readonly ScoredHit[] {
  if (bridges.size === 0) return hits
  const ids = new Set([...hits.map(({ id }) => id), ...bridges.keys()])
  const all = [...ids].map((id) => ({ id, score: scoreOf(id), terms: scores.find(id)?.terms ?? [] }))
  const rounded = all.map((hit) => ({ hit, score: roundScore(hit.score) }))
  rounded.sort((a, b) => b.score - a.score || (a.hit.id < b.hit.id ? -1 : 1))
  return rounded.map(({ hit }) => hit)
}

function hintOf(corpus: Corpus, query: Query, admission: Admission | undefined): Hint | undefined {
  const isEmpty = admission?.live.size === 0 && !admission.masks.some((mask) => mask.includes(1))
  if (isEmpty || documentCount(corpus) === 0) return 'scope_is_empty'
  if (query.searched === 'title' && query.isWordy) return 'only_stop_words'
  return query.terms.length === 0 ? 'no_term_known' : undefined
}

/** Texts in the order in which they are asked for, as long as there is room; the last one ends with a paragraph. */
function textCutter(rows: SearchRows, mostChars: number | undefined) {
  let left = mostChars ?? Number.POSITIVE_INFINITY
  return (id: string): Pick<RetrievedNode, 'text_content' | 'text_truncated'> => {
    const text = rows.textOf(id)
    if (text.length <= left) {
      left -= text.length
      return { text_content: text }
    }
    const room = left
    left = 0
    const kept = beginningOf(text, room)
    return { ...(kept === '' ? {} : { text_content: kept }), text_truncated: true }
  }
}

/** Ends with the last paragraph that has room, else with a line or a word; never between the halves of a surrogate pair. */
function beginningOf(text: string, room: number): string {
  const end = ['\n\n', '\n', ' '].map((border) => text.lastIndexOf(border, room)).find((at) => at > 0)
  return text.slice(0, end ?? room).replace(/[\uD800-\uDBFF]$/, '')
}

function followOf(level: Level, { connection_types }: Scope): Following {
  const { children, parents, connections } = level
  return { children, parents, connections, connection: (type) => connection_types?.includes(type) !== false }
}

type Describer = (id: string) => DescribedNode | undefined

/** Reads each node once. */
function describer(rows: SearchRows): Describer {
  const known = new Map<string, DescribedNode | undefined>()
  return (id) => {
    if (!known.has(id)) known.set(id, rows.describe(id))
    return known.get(id)
  }
}

function describeMatches(
  corpus: Corpus,
  rows: SearchRows,
  described: Describer,
  query: Query,
  hits: readonly ScoredHit[],
): RetrievedMatch[] {
  let unread = SNIPPET_READING
  return hits.map(({ id, score, terms }, i) => {
    const node = described(id)
    const source = rows.textStartOf(id).slice(0, Math.max(unread, LEAST_READING))
    unread -= source.length
    return {
      node_id: id,
      title: node?.title ?? '',
      score: roundScore(score),
      rank: i + 1,
      snippet: snippetOf(query, proseOf(source).text, languageIn(corpus, id)),
      matched_terms: matchedWords(query, terms),
      ...commitOf(node),
    }
  })
}

function commitOf(node: DescribedNode | undefined): { commit_id?: string } {
  return typeof node?.head === 'string' ? { commit_id: node.head } : {}
}

function matchedWords(query: Query, terms: readonly string[]): string[] {
  const concepts = new Set(terms.map((term) => query.conceptOf.get(term)))
  return [...query.words].filter(([, concept]) => concepts.has(concept)).map(([word]) => word)
}

function describeNode(
  cutText: (id: string) => Pick<RetrievedNode, 'text_content' | 'text_truncated'>,
  described: DescribedNode | undefined,
  node: RankedNode,
  hasText: boolean,
): RetrievedNode {
  return {
    id: node.id,
    title: described?.title ?? '',
    score: node.score,
    relation: node.relation,
    depth: node.depth,
    via: node.via,
    tags: described === undefined ? [] : (JSON.parse(described.tags) as string[]), // written by index-node.ts
    ...commitOf(described),
    ...((described?.bytes ?? 0) > INDEXED_BYTES ? { partly_indexed: true } : {}),
    ...(hasText ? cutText(node.id) : {}),
  }
}

/** Edges with both ends in `ids`, whatever was followed, by holder, type and key. */
function edgesAmong(rows: SearchRows, orgId: string, ids: ReadonlySet<string>): { edges: EdgeTable[]; cut: boolean } {
  const edges: EdgeTable[] = []
  let left = MOST_LOOKED_AT
  let cut = false
  for (const id of ids) {
    if (left === 0) return { edges: edges.sort(byName), cut: true }
    const limit = Math.min(left, MOST_LOOKED_AT_A_NODE)
    const { targets, numbers } = rows.edgesFrom(id)
    cut ||= targets.length > limit
    left -= Math.min(targets.length, limit)
    for (const [n, target] of targets.slice(0, limit).entries()) {
      const edge = ids.has(target) ? rows.edge(numbers[n] ?? '') : undefined
      if (edge?.org_id === orgId) edges.push(edge)
    }
  }
  return { edges: edges.sort(byName), cut }
}

function byName(a: EdgeTable, b: EdgeTable): number {
  return compare(a.holder, b.holder) || compare(a.edge_type, b.edge_type) || compare(a.key, b.key)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
