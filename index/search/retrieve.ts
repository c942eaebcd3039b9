import { edgesOf, type Follow, type SearchEdge } from './graph.ts'
import { type ExpansionDepth, LEVELS, type Level } from './levels.ts'
import { withinLimits } from './limits.ts'
import { parseQuery, type Query } from './query.ts'
import { byScore, type Match, type RankedNode, rankNodes, roundScore } from './ranking.ts'
import { type Scope, scopeTest } from './scope.ts'
import type { SearchIndex } from './search-index.ts'
import { snippetOf } from './snippet.ts'
import { type Scores, scoreTerms } from './text-index.ts'

export type { SearchEdge } from './graph.ts'
export {
  createSearchIndex,
  removeNode,
  type SearchDocument,
  type SearchIndex,
  setDocument,
  setEdges,
} from './search-index.ts'

/** As in contract.md §1; the caller has checked its shape. */
export interface Question {
  query: string
  top_k: number
  expansion_depth: ExpansionDepth
  include_raw_text: boolean
  scope?: Scope
}

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
  text_content?: string
}

type RetrievedEdge = Omit<SearchEdge, 'holder'>

export interface Retrieved {
  query: string
  matches: RetrievedMatch[]
  nodes: RetrievedNode[]
  connections: RetrievedEdge[]
  truncated: boolean
}

/** UTF-16 units that are read for the snippets of one answer, in the order of rank: 0.5 s at most. */
const SNIPPET_READING = 4 * 1024 * 1024

/** Never throws; the answer depends on the question and on what the index holds, not on how it came there. */
export function retrieve(index: SearchIndex, question: Question): Retrieved {
  const { graph, texts, documents } = index
  const level = LEVELS[question.expansion_depth]
  const scope = question.scope ?? {}
  const admits = scopeTest(graph, documents, scope)
  const query = parseQuery(texts, question.query)
  const scores = scoreTerms(texts, query.field, query.terms)
  const matches = bestMatches(scores, question.top_k, admits)

  const terrain = { graph, admits, follow: followOf(level, scope) }
  const ranked = rankNodes(terrain, { texts, query, scores, concepts: new Map() }, matches, level)
  const textOf = (id: string) => documents.get(id)?.text ?? ''
  const limited = withinLimits(ranked.nodes, question.include_raw_text ? textOf : undefined)
  return {
    query: question.query,
    matches: describeMatches(index, query, scores, matches),
    nodes: limited.nodes.map(({ node, text }) => describeNode(index, node, text)),
    connections: level.hops === 0 ? [] : edgesAmong(index, new Set(limited.nodes.map(({ node }) => node.id))),
    truncated: ranked.cut || limited.truncated,
  }
}

function followOf(level: Level, { connection_types }: Scope): Follow {
  return {
    children: level.children,
    parents: level.parents,
    connection: (type) => level.connections && connection_types?.includes(type) !== false,
  }
}

/** Rounded before they are ordered, so that the cut at `limit` goes by what is shown. */
function bestMatches(scores: Scores, limit: number, admits: (id: string) => boolean): Match[] {
  const best: Match[] = []
  for (const { id, score } of scores.ranked()) {
    if (!admits(id)) continue
    const match = { id, score: roundScore(score) }
    if (match.score < (best[limit - 1]?.score ?? 0)) break
    best.push(match)
  }
  return best.sort(byScore).slice(0, limit)
}

function describeMatches({ documents }: SearchIndex, query: Query, scores: Scores, matches: Match[]): RetrievedMatch[] {
  let unread = SNIPPET_READING
  return matches.map(({ id, score }, i) => {
    const document = documents.get(id)
    const text = document?.text.slice(0, unread) ?? ''
    unread -= text.length
    return {
      node_id: id,
      title: document?.title ?? '',
      score,
      rank: i + 1,
      snippet: snippetOf(query, text),
      matched_terms: matchedWords(query, scores.find(id)?.terms ?? []),
      ...(document?.commitId === undefined ? {} : { commit_id: document.commitId }),
    }
  })
}

function matchedWords(query: Query, terms: string[]): string[] {
  const concepts = new Set(terms.map((term) => query.conceptOf.get(term)))
  return [...query.words].filter(([, concept]) => concepts.has(concept)).map(([word]) => word)
}

function describeNode({ documents }: SearchIndex, node: RankedNode, text: string | undefined): RetrievedNode {
  const document = documents.get(node.id)
  return {
    id: node.id,
    title: document?.title ?? '',
    score: node.score,
    relation: node.relation,
    depth: node.depth,
    via: node.via,
    tags: document?.tags ?? [],
    ...(document?.commitId === undefined ? {} : { commit_id: document.commitId }),
    ...(text === undefined ? {} : { text_content: text }),
  }
}

/** Every visible edge with both ends in `ids`, whatever was followed. */
function edgesAmong({ graph }: SearchIndex, ids: Set<string>): RetrievedEdge[] {
  const edges: RetrievedEdge[] = []
  for (const id of ids) {
    for (const { edge, other } of edgesOf(graph, id)) {
      if (edge.source === id && ids.has(other)) edges.push(describeEdge(edge))
    }
  }
  return edges.sort((a, b) => (a.id < b.id ? -1 : 1))
}

function describeEdge(edge: SearchEdge): RetrievedEdge {
  const { id, source, target, edge_type, connection_type, label, parent_node_id } = edge
  return { id, source, target, edge_type, connection_type, label, parent_node_id }
}
