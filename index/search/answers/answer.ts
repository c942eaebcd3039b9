/** Builds search results: descriptions of matches and nodes, their limits, and the edges among them. */

import type { EdgeTable } from '../../derived/schema.ts'
import * as limits from '../../limits.ts'
import type { MeaningGain } from '../meaning/gains.ts'
import type { Signals } from '../meaning/gate.ts'
import type { Expansion } from '../ranking/expansion.ts'
import { explainMatch, explainNode, type MatchExplanation, type NodeExplanation } from '../ranking/explanation.ts'
import type { Coverage } from '../ranking/idf-overlap.ts'
import type { NamedNodes, RankedHits } from '../ranking/matches.ts'
import type { Query } from '../ranking/query.ts'
import type { RankedNode } from '../ranking/ranking.ts'
import { roundScore, type ScoredHit } from '../ranking/scores.ts'
import { type DescribedNode, INDEXED_BYTES, MOST_EDGES_FROM, type SearchRows } from '../segments/rows.ts'
import { languageIn } from '../segments/terms.ts'
import { passagesOf } from '../text/passages.ts'
import { proseOf } from '../text/prose.ts'
import type { ShownText, ShowText } from './shown-text.ts'
import { snippetOf } from './snippet.ts'

export interface RetrievedMatch {
  node_id: string
  title: string
  /** BM25 of the whole node, or the mean of that and the best passage's. Includes the gain by meaning. */
  score: number
  /** The rank, from 1. */
  rank: number
  snippet: string
  /** The best of several passages. `heading` is the nearest heading above and may be empty. Lines count from 1. */
  passage?: { heading: string; line: number }
  /** The matched words of the query, in lower case and in its order. */
  matched_terms: string[]
  /** ISO 8601. */
  updated_at: string
  /** The ancestors, from a root to the parent, by the first parent of each. */
  path: { id: string; title: string }[]
  /** The cosine of the two vectors, if the meaning led here or raised the score. */
  meaning?: { similarity: number }
  commit_id?: string
  explanation?: MatchExplanation
}

export interface RetrievedNode extends Omit<RankedNode, 'gained' | 'edge'>, ShownText {
  title: string
  tags: string[]
  commit_id?: string
  /** The match whose names, in lower case, led here or raised the score. */
  bridge?: { from: string; words: string[] }
  /** True if only the beginning of the text is searched. */
  partly_indexed?: boolean
  explanation?: NodeExplanation
}

/** UTF-16 units to read for snippets, in total and at least for each match. Matches are read in order of rank. */
const SNIPPET_READING = 1_048_576
const LEAST_READING = 16_384

/** The gains by meaning. */
interface AnsweredMeaning {
  readonly gains: ReadonlyMap<string, MeaningGain>
  readonly signals: Signals
  /** Returns the number of the passage nearest to the question, of a node that gains. */
  passageOf(id: string): number | undefined
}

/** Stands for the number of a passage where none is known. */
const NO_PASSAGE = -1

/** The inputs of a result. */
export interface Answering {
  readonly expansion: Expansion
  readonly coverage: Coverage
  readonly ranked: RankedHits
  readonly names: NamedNodes
  readonly meaning: AnsweredMeaning | undefined
  readonly described: Describer
  readonly explains: boolean
}

type Describer = (id: string) => DescribedNode | undefined

/** Returns a function that describes nodes, and reads each node once. */
export function createDescriber(rows: SearchRows): Describer {
  const known = new Map<string, DescribedNode | undefined>()
  return (id) => {
    if (!known.has(id)) known.set(id, rows.describe(id))
    return known.get(id)
  }
}

/** @param skipped the number of better hits that are not described */
export function describeMatches(
  answer: Answering,
  orgId: string,
  hits: readonly ScoredHit[],
  skipped: number,
): RetrievedMatch[] {
  const { expansion, coverage, ranked, meaning, described } = answer
  const { corpus, query } = coverage
  let unread = SNIPPET_READING
  return hits.map(({ id, score, terms }, i): RetrievedMatch => {
    const node = described(id)
    const start = expansion.rows.textStartOf(id)
    const source = start.slice(0, Math.max(unread, LEAST_READING))
    unread -= source.length
    const number = meaning?.passageOf(id) ?? ranked.passages.get(id)?.number ?? NO_PASSAGE
    // A truncated text may have different passages.
    const prose = proseOf(source)
    const isWhole = number !== NO_PASSAGE && source === start
    const passage = isWhole ? passagesOf(node?.title ?? '', source, prose)[number] : undefined
    const shown = passage ?? { start: 0, end: prose.text.length }
    const gain = meaning?.gains.get(id)
    return {
      node_id: id,
      title: node?.title ?? '',
      score: roundScore(score),
      rank: skipped + i + 1,
      snippet: snippetOf(query, prose, shown, languageIn(corpus, id)),
      ...(passage === undefined ? {} : { passage: { heading: passage.heading, line: passage.line } }),
      matched_terms: matchedWords(query, terms),
      updated_at: node?.updated_at ?? '',
      path: pathTo(answer, orgId, id),
      ...(gain === undefined ? {} : { meaning: { similarity: gain.similarity } }),
      ...commitOf(node),
      ...(answer.explains ? { explanation: explanationOf(answer, id) } : {}),
    }
  })
}

function explanationOf({ coverage, ranked, meaning }: Answering, id: string): MatchExplanation {
  const { scores, query } = coverage
  const byWords = explainMatch(scores, query, id, ranked.passages.get(id))
  const gain = meaning?.gains.get(id)
  if (meaning === undefined || gain === undefined) return byWords
  const { similarity, z, score } = gain
  return { ...byWords, meaning: { similarity, z, unsure: { ...meaning.signals }, score } }
}

/** The maximum number of ancestors in a path. The highest ones are left out. */
const MOST_ANCESTORS = 12

function pathTo(
  { expansion: { rows }, described }: Answering,
  orgId: string,
  id: string,
): { id: string; title: string }[] {
  const path: { id: string; title: string }[] = []
  const seen = new Set([id])
  for (let at = rows.parentOf(id, orgId); at !== undefined && !seen.has(at); at = rows.parentOf(at, orgId)) {
    if (path.length === MOST_ANCESTORS) break
    seen.add(at)
    path.unshift({ id: at, title: described(at)?.title ?? '' })
  }
  return path
}

function commitOf(node: DescribedNode | undefined): { commit_id?: string } {
  return typeof node?.head === 'string' ? { commit_id: node.head } : {}
}

function matchedWords(query: Query, terms: readonly string[]): string[] {
  const concepts = new Set(terms.map((term) => query.conceptOf.get(term)))
  return [...query.words].filter(([, concept]) => concepts.has(concept)).map(([word]) => word)
}

/** Describes a node of the result. @param show returns the part of its text to show */
export function describeNode(answer: Answering, node: RankedNode, show: ShowText | undefined): RetrievedNode {
  const { expansion, coverage, ranked, names, described, explains } = answer
  const found = described(node.id)
  const bridge = names.bridges.get(node.id)
  return {
    id: node.id,
    title: found?.title ?? '',
    score: node.score,
    relation: node.relation,
    depth: node.depth,
    via: node.via,
    tags: found === undefined ? [] : (JSON.parse(found.tags) as string[]), // written by index-node.ts
    ...(bridge === undefined ? {} : { bridge: { from: bridge.from, words: [...bridge.words] } }),
    ...commitOf(found),
    ...((found?.bytes ?? 0) > INDEXED_BYTES ? { partly_indexed: true } : {}),
    ...(show && found ? show(found) : {}),
    ...(explains
      ? {
          explanation: explainNode(
            expansion,
            coverage,
            ranked.scoreOf(node.id),
            ranked.top * (bridge?.gain ?? 0),
            node,
          ),
        }
      : {}),
  }
}

const MOST_LOOKED_AT_A_NODE = MOST_EDGES_FROM - 1

/** Returns the edges with both ends in `ids`, by holder, type and key. It does not matter which edges were followed. */
export function edgesAmong(
  rows: SearchRows,
  orgId: string,
  ids: ReadonlySet<string>,
): { edges: EdgeTable[]; cut: boolean } {
  const found: string[] = []
  let left = limits.connectionEdges
  let cut = false
  for (const id of ids) {
    if (left === 0) {
      cut = true
      break
    }
    const limit = Math.min(left, MOST_LOOKED_AT_A_NODE)
    const { targets, numbers } = rows.edgesFrom(id)
    cut ||= targets.length > limit
    left -= Math.min(targets.length, limit)
    found.push(...numbers.slice(0, limit).filter((_, n) => ids.has(targets[n] ?? '')))
  }
  return { edges: rows.edges(found).filter(isOfOrg).sort(byName), cut }

  function isOfOrg(edge: EdgeTable): boolean {
    return edge.org_id === orgId
  }
}

function byName(a: EdgeTable, b: EdgeTable): number {
  return compare(a.holder, b.holder) || compare(a.edge_type, b.edge_type) || compare(a.key, b.key)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

interface Limited {
  /** `hasText` is true if texts were requested and this one fits. */
  nodes: { node: RankedNode; hasText: boolean }[]
  truncated: boolean
}

/**
 * Limits the number of nodes (best first) to `limits.searchNodes`. If `bytesOf` is given, also limits their text to 16 MiB.
 * Drops expanded nodes from the first one whose text does not fit. Keeps every match, but without its text if that does
 * not fit.
 */
export function withinLimits(nodes: RankedNode[], mostNodes: number, bytesOf?: (id: string) => number): Limited {
  const matches = nodes.filter(({ relation }) => relation === 'match')
  const others = nodes.filter(({ relation }) => relation !== 'match')
  const withText = new Set<string>()
  let room = limits.searchTextBytes
  const fits = (id: string): boolean => {
    if (!bytesOf) return true
    const bytes = bytesOf(id)
    if (bytes > room) return false
    room -= bytes
    withText.add(id)
    return true
  }
  const whole = matches.filter(({ id }) => fits(id)).length === matches.length
  const affordable = others.slice(0, Math.max(0, mostNodes - matches.length))
  const end = affordable.findIndex(({ id }) => !fits(id))
  const gone = new Set(others.slice(end < 0 ? affordable.length : end).map(({ id }) => id))
  const kept = nodes.filter(({ id }) => !gone.has(id))
  return { nodes: kept.map((node) => ({ node, hasText: withText.has(node.id) })), truncated: !whole || gone.size > 0 }
}
