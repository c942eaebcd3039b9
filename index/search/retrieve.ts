/** Answers a question from a search index: matches, ranked nodes, and the connections among them. */
import { edgesOf, type FollowedEdges, type SearchEdge } from './expansion.ts'
import { type ExpansionDepth, LEVELS, type Level } from './levels.ts'
import { withinLimits } from './limits.ts'
import { parseQuery, type Query } from './query.ts'
import { byScore, type Match, type RankedNode, rankNodes, roundScore } from './ranking.ts'
import { type Scope, scopeTest } from './scope.ts'
import type { SearchIndex } from './search-index.ts'
import { snippetOf } from './snippet.ts'
import { inSteps, type Steps } from './steps.ts'
import { type Scores, scoreTerms } from './text-index.ts'

export type { SearchEdge } from './expansion.ts'
export { CUTS, wholeLetters } from './room.ts'
export {
  createSearchIndex,
  fittingCut,
  heapOf,
  removeNode,
  type SearchDocument,
  type SearchIndex,
  setDocument,
  setEdges,
} from './search-index.ts'

/** As in spec/openapi.yaml; the caller has checked its shape. */
export interface SearchQuestion {
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
  /** Only the beginning of its text is searched. */
  partly_indexed?: boolean
  /** The indexed part of the text. */
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

/** UTF-16 units that are read for the snippets of one answer, in the order of rank, and the least for each match. */
const SNIPPET_READING = 1_048_576
const LEAST_READING = 16_384

/** Edges in one answer, those with the least ids: about 4 MB. */
const MOST_EDGES = 10_000

/** Never throws. The answer depends on the question and the content of the index, not on the order of its edits. */
export function* retrieve(index: SearchIndex, question: SearchQuestion): Steps<Retrieved> {
  const { graph, texts, documents } = index
  const level = LEVELS[question.expansion_depth]
  const scope = question.scope ?? {}
  const admits = yield* scopeTest(graph, documents, scope)
  const query = yield* parseQuery(texts, question.query)
  const scores = scoreTerms(texts, query.field, query.terms)
  yield
  const matches = yield* bestMatches(scores, question.top_k, admits)

  const expansion = { graph, admits, follow: followOf(level, scope) }
  const ranked = yield* rankNodes(expansion, { texts, query, scores, concepts: new Map() }, matches, level)
  const bytesOf = (id: string) => documents.get(id)?.bytes ?? 0
  const limited = withinLimits(ranked.nodes, question.include_raw_text ? bytesOf : undefined)
  const among = level.hops === 0 ? [] : yield* edgesAmong(index, new Set(limited.nodes.map(({ node }) => node.id)))
  return {
    query: question.query,
    matches: yield* describeMatches(index, query, scores, matches),
    nodes: limited.nodes.map(({ node, hasText }) => describeNode(index, node, hasText)),
    connections: among.slice(0, MOST_EDGES).map(describeEdge),
    truncated: ranked.cut || limited.truncated || among.length > MOST_EDGES,
  }
}

function followOf(level: Level, { connection_types }: Scope): FollowedEdges {
  return {
    children: level.children,
    parents: level.parents,
    connection: (type) => level.connections && connection_types?.includes(type) !== false,
  }
}

/** Rounds scores before it orders the matches, so that the cut at `limit` follows the scores of the answer. */
function* bestMatches(scores: Scores, limit: number, admits: (id: string) => boolean): Steps<Match[]> {
  const best: Match[] = []
  yield* inSteps(scores.ranked(), ({ id, score }) => {
    if (!admits(id)) return true
    const match = { id, score: roundScore(score) }
    if (match.score < (best[limit - 1]?.score ?? 0)) return false
    best.push(match)
    return true
  })
  return best.sort(byScore).slice(0, limit)
}

function* describeMatches(
  { documents }: SearchIndex,
  query: Query,
  scores: Scores,
  matches: Match[],
): Steps<RetrievedMatch[]> {
  const described: RetrievedMatch[] = []
  let unread = SNIPPET_READING
  for (const [i, { id, score }] of matches.entries()) {
    const document = documents.get(id)
    const text = document?.text.slice(0, Math.max(unread, LEAST_READING)) ?? ''
    unread -= text.length
    described.push({
      node_id: id,
      title: document?.title ?? '',
      score,
      rank: i + 1,
      snippet: yield* snippetOf(query, text),
      matched_terms: matchedWords(query, scores.find(id)?.terms ?? []),
      ...(document?.commitId === undefined ? {} : { commit_id: document.commitId }),
    })
  }
  return described
}

function matchedWords(query: Query, terms: string[]): string[] {
  const concepts = new Set(terms.map((term) => query.conceptOf.get(term)))
  return [...query.words].filter(([, concept]) => concepts.has(concept)).map(([word]) => word)
}

function describeNode({ documents }: SearchIndex, node: RankedNode, hasText: boolean): RetrievedNode {
  const document = documents.get(node.id)
  const text = document?.text ?? ''
  const isCut = document !== undefined && Buffer.byteLength(text) < document.bytes
  return {
    id: node.id,
    title: document?.title ?? '',
    score: node.score,
    relation: node.relation,
    depth: node.depth,
    via: node.via,
    tags: document?.tags ?? [],
    ...(document?.commitId === undefined ? {} : { commit_id: document.commitId }),
    ...(isCut ? { partly_indexed: true } : {}),
    ...(hasText ? { text_content: text } : {}),
  }
}

/** Visible edges with both ends in `ids`, whatever was followed, in the order of their ids; one more than MOST_EDGES at most. */
function* edgesAmong({ graph }: SearchIndex, ids: Set<string>): Steps<SearchEdge[]> {
  let edges: SearchEdge[] = []
  for (const id of ids) {
    yield* inSteps(edgesOf(graph, id), ({ edge, other }) => {
      if (edge.source === id && ids.has(other)) edges.push(edge)
      if (edges.length > 4 * MOST_EDGES) edges = firstById(edges)
    })
  }
  return firstById(edges)
}

function firstById(edges: SearchEdge[]): SearchEdge[] {
  return edges.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, MOST_EDGES + 1)
}

function describeEdge(edge: SearchEdge): RetrievedEdge {
  const { id, source, target, edge_type, connection_type, label, parent_node_id } = edge
  return { id, source, target, edge_type, connection_type, label, parent_node_id }
}
