/** What an answer says of its matches and nodes, how many of them it holds, and the edges among them. */

import type { EdgeTable } from '../../derived/schema.ts'
import type { Expansion } from '../ranking/expansion.ts'
import { explainMatch, explainNode, type MatchExplanation, type NodeExplanation } from '../ranking/explanation.ts'
import type { Coverage } from '../ranking/idf-overlap.ts'
import type { BridgedHits } from '../ranking/matches.ts'
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
  /** BM25 of the whole, or the mean of it and of the best passage; and what the bridge adds. */
  score: number
  /** From 1. */
  rank: number
  snippet: string
  /** The best passage, where there are several: the nearest heading above, '' if there is none, and its line, from 1. */
  passage?: { heading: string; line: number }
  /** The query's own words, in lower case and in its order. */
  matched_terms: string[]
  /** The match whose names, in lower case, led here. */
  bridge?: { from: string; words: string[] }
  commit_id?: string
  explanation?: MatchExplanation
}

export interface RetrievedNode extends Omit<RankedNode, 'gained' | 'edge'>, ShownText {
  title: string
  tags: string[]
  commit_id?: string
  /** Only the beginning of its text is searched. */
  partly_indexed?: boolean
  explanation?: NodeExplanation
}

/** UTF-16 units that are read for the snippets of one answer, in the order of rank, and the least for each match. */
const SNIPPET_READING = 1_048_576
const LEAST_READING = 16_384

/** All that an answer is made from. */
export interface Answering {
  readonly expansion: Expansion
  readonly coverage: Coverage
  readonly bridged: BridgedHits
  readonly described: Describer
  readonly explains: boolean
}

type Describer = (id: string) => DescribedNode | undefined

/** Reads each node once. */
export function createDescriber(rows: SearchRows): Describer {
  const known = new Map<string, DescribedNode | undefined>()
  return (id) => {
    if (!known.has(id)) known.set(id, rows.describe(id))
    return known.get(id)
  }
}

export function describeMatches(answer: Answering, hits: readonly ScoredHit[]): RetrievedMatch[] {
  const { expansion, coverage, bridged, described, explains } = answer
  const { corpus, query, scores } = coverage
  let unread = SNIPPET_READING
  return hits.map(({ id, score, terms }, i): RetrievedMatch => {
    const node = described(id)
    const start = expansion.rows.textStartOf(id)
    const source = start.slice(0, Math.max(unread, LEAST_READING))
    unread -= source.length
    const best = bridged.passages.get(id)
    // Of a text that is cut the passages may be others.
    const prose = proseOf(source)
    const passage = best && source === start ? passagesOf(node?.title ?? '', source, prose)[best.number] : undefined
    const shown = passage === undefined ? prose.text : prose.text.slice(passage.start, passage.end)
    const bridge = bridged.bridges.get(id)
    return {
      node_id: id,
      title: node?.title ?? '',
      score: roundScore(score),
      rank: i + 1,
      snippet: snippetOf(query, shown, languageIn(corpus, id)),
      ...(passage === undefined ? {} : { passage: { heading: passage.heading, line: passage.line } }),
      matched_terms: matchedWords(query, terms),
      ...(bridge === undefined ? {} : { bridge: { from: bridge.from, words: [...bridge.words] } }),
      ...commitOf(node),
      ...(explains ? { explanation: explainMatch(scores, query, bridged.top, id, best, bridge) } : {}),
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

/** @param show what it shows of its text */
export function describeNode(answer: Answering, node: RankedNode, show: ShowText | undefined): RetrievedNode {
  const { expansion, coverage, bridged, described, explains } = answer
  const found = described(node.id)
  return {
    id: node.id,
    title: found?.title ?? '',
    score: node.score,
    relation: node.relation,
    depth: node.depth,
    via: node.via,
    tags: found === undefined ? [] : (JSON.parse(found.tags) as string[]), // written by index-node.ts
    ...commitOf(found),
    ...((found?.bytes ?? 0) > INDEXED_BYTES ? { partly_indexed: true } : {}),
    ...(show && found ? show(found) : {}),
    ...(explains ? { explanation: explainNode(expansion, coverage, bridged.scoreOf(node.id), node) } : {}),
  }
}

/** Edges that are looked at to find those between two nodes of the answer, from the best node on; of one node the first so many. */
const MOST_LOOKED_AT = 1_000
const MOST_LOOKED_AT_A_NODE = MOST_EDGES_FROM - 1

/** Edges with both ends in `ids`, whatever was followed, by holder, type and key. */
export function edgesAmong(
  rows: SearchRows,
  orgId: string,
  ids: ReadonlySet<string>,
): { edges: EdgeTable[]; cut: boolean } {
  const found: string[] = []
  let left = MOST_LOOKED_AT
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

/** UTF-8 bytes of text in one answer. */
const MOST_TEXT = 16 * 1024 * 1024

interface Limited {
  /** `hasText` where texts were asked for and there was room. */
  nodes: { node: RankedNode; hasText: boolean }[]
  truncated: boolean
}

/**
 * At most `mostNodes` of `nodes` (best first) and, if `bytesOf` is given, 16 MiB of their text. Drops expanded nodes
 * from the first one whose text does not fit. Keeps every match; a match whose text does not fit has no text.
 */
export function withinLimits(nodes: RankedNode[], mostNodes: number, bytesOf?: (id: string) => number): Limited {
  const matches = nodes.filter(({ relation }) => relation === 'match')
  const others = nodes.filter(({ relation }) => relation !== 'match')
  const withText = new Set<string>()
  let room = MOST_TEXT
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
