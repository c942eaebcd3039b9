/** Ranks matches, and the nodes that an expansion reaches from them, by one score. */

import * as limits from '../../limits.ts'
import { type Expansion, type Neighbour, type Neighbours, neighboursOf, type Relation } from './expansion.ts'
import { type Coverage, newShare, titleShare } from './idf-overlap.ts'
import type { NamedNodes } from './matches.ts'
import { roundScore } from './scores.ts'

/** The levels of expansion from the matches. */
export type ExpansionDepth = 'none' | 'shallow' | 'standard' | 'deep'

export interface Level {
  hops: 0 | 1 | 2
  children: boolean
  parents: boolean
  connections: boolean
  /** The share of a seed's score that its neighbours may receive: α in index/README.md. */
  strength: number
}

/** The levels. Each one reaches all nodes of the previous one. */
export const LEVELS: Record<ExpansionDepth, Level> = {
  none: { hops: 0, children: false, parents: false, connections: false, strength: 0 },
  shallow: { hops: 1, children: true, parents: false, connections: false, strength: 0.5 },
  standard: { hops: 1, children: true, parents: true, connections: false, strength: 1 },
  deep: { hops: 2, children: true, parents: true, connections: true, strength: 1 },
}

export interface Match {
  readonly id: string
  /** The score from `scoreOf`. */
  readonly score: number
}

type ReachedBy = 'match' | 'bridge' | Relation

/** A node of the result. `score` is the score of its words plus its gain from neighbours, in the same unit. */
export interface RankedNode {
  readonly id: string
  readonly score: number
  readonly relation: ReachedBy
  /** Hops from a match. A bridge is one. */
  readonly depth: number
  /** The node one hop nearer that gave the greatest gain. The match of a bridge; null for a match. */
  readonly via: string | null
  /** The unrounded gain, which `score` includes, and the edge that it came by. */
  readonly gained: number
  readonly edge: GainingEdge | undefined
}

const SEEDS = 8
const FRONTIER = 20
const SECOND_HOP = 0.7

const LEAST_EDGES_OF_A_SOURCE = 40
/** A reserve of a hop. The last source may be a hub, whose edges of each kind to the 20 best hits exceed its limit. */
const EDGES_OF_LAST_HUB = 100

/** The edge that gave a node its gain: `strength · weight · dilution · novelty / (1 + ln(1 + degree))^¼`. */
interface GainingEdge {
  readonly from: string
  /** The strength of the other end, as a share of the best match's score. */
  readonly strength: number
  readonly weight: number
  readonly dilution: number
}

/** A reached node. `gain` is a share of the best match's score. */
interface ReachedNode {
  gain: number
  edge: GainingEdge | undefined
  /** The hop along edges that reached it; 0 for matches and bridges. */
  hop: number
  depth: number
  via: string | null
  relation: ReachedBy
}

interface Source {
  readonly id: string
  readonly strength: number
}

/**
 * Ranks the matches and the nodes reached from them, best first. The matches are given best first. `cut` is true if
 * some were not considered.
 *
 * Edges of all these nodes are followed. But scores spread only from the best 8 matches and bridges, and the best 20
 * nodes of the first hop. A second hop adds nodes, but does not raise nodes that were reached before. A hop reads at
 * most 700 edges, of the best nodes first.
 *
 * Spreading one hop lifts recall@5 of multi-hop queries from 69 to 94 % (2Wiki). Formula: index/README.md. Figures:
 * test/bench/search.md.
 */
export function rankNodes(
  expansion: Expansion,
  coverage: Coverage,
  matches: readonly Match[],
  { scoreOf, ids, bridges }: NamedNodes,
  level: Level,
): { nodes: RankedNode[]; cut: boolean } {
  const top = matches[0]?.score ?? 0
  const entry = { gain: 0, edge: undefined, hop: 0 }
  const found = new Map<string, ReachedNode>(
    matches.map(({ id }) => [id, { ...entry, depth: 0, via: null, relation: 'match' }]),
  )
  for (const id of ids) found.set(id, { ...entry, depth: 1, via: bridges.get(id)?.from ?? null, relation: 'bridge' })
  const entries = [...found.keys()].map((id) => ({ id, score: roundScore(scoreOf(id)) })).sort(byScore)
  const scored = (id: string, step: ReachedNode): RankedNode => ({
    id,
    score: roundScore(scoreOf(id) + top * step.gain),
    relation: step.relation,
    depth: step.depth,
    via: step.via,
    gained: top * step.gain,
    edge: step.edge,
  })
  let cut = false
  if (level.hops > 0)
    cut = expandOneHop(expansion, coverage, found, seedsOf(expansion, coverage, entries, top, level), 1)
  if (level.hops > 1) {
    // A node with one edge was reached by it, and leads nowhere else.
    const leadsOn = (id: string) => expansion.rows.degreeOf(id) > 1
    const first = [...found].filter(([id, step]) => step.hop === 1 && leadsOn(id))
    first.sort(([a, { gain: x }], [b, { gain: y }]) => y - x || (a < b ? -1 : 1))
    const frontier = first.slice(0, FRONTIER).map(([id, { gain }]) => ({ id, strength: SECOND_HOP * gain }))
    const others = first
      .slice(FRONTIER)
      .map(([id, step]) => scored(id, step))
      .sort(byScore)
      .slice(0, limits.searchNodes - FRONTIER)
    const sources = [...frontier, ...others.map(({ id }) => ({ id, strength: 0 }))]
    // Nodes that are already found gain nothing more.
    const best = expansion.best.filter((id) => !found.has(id))
    cut = expandOneHop({ ...expansion, best, toBest: new Map() }, coverage, found, sources, 2) || cut
  }
  const nodes = [...found].map(([id, step]) => scored(id, step)).sort(byScore)
  return { nodes, cut: cut || nodes.length > limits.searchNodes }
}

/** Compares by score, best first, equal ones by id. */
function byScore(a: { id: string; score: number }, b: { id: string; score: number }): number {
  return b.score - a.score || (a.id < b.id ? -1 : 1)
}

function seedsOf(
  { rows }: Expansion,
  coverage: Coverage,
  matches: readonly Match[],
  top: number,
  { strength }: Level,
): Source[] {
  return matches.map(({ id, score }, rank) => {
    if (rank >= SEEDS) return { id, strength: 0 }
    const share = titleShare(coverage, id, rows.describe(id)?.title ?? '')
    // All scores are 0 if only titles that begin with the query were found.
    return { id, strength: top === 0 ? 0 : (strength * score * (0.2 + 0.8 * share)) / top }
  })
}

/** Adds to `found` the nodes one hop from `sources`, in their order. Returns true if edges or nodes were left out. */
function expandOneHop(
  expansion: Expansion,
  coverage: Coverage,
  found: Map<string, ReachedNode>,
  sources: readonly Source[],
  hop: number,
): boolean {
  const reached = neighboursOfAll(expansion, sources)
  for (const { source, neighbours } of reached) {
    const total = neighbours.reduce((sum, { weight }) => sum + weight, 0)
    const dilution = Math.max(1, total) ** -0.25
    const depth = (found.get(source.id)?.depth ?? 0) + 1
    for (const neighbour of neighbours) {
      const known = found.get(neighbour.id)
      if (known && known.hop > 0 && known.hop < hop) continue
      const gain = source.strength === 0 ? 0 : dilution * gainOf(expansion, coverage, source, neighbour)
      if (known && gain <= known.gain) continue
      const { id, weight, relation } = neighbour
      const edge = gain === 0 ? undefined : { from: source.id, strength: source.strength, weight, dilution }
      if (known?.hop !== 0) found.set(id, { gain, edge, hop, depth, via: source.id, relation })
      else if (hop === 1) found.set(id, { ...known, gain, edge })
    }
  }
  return reached.length < sources.length || reached.some(({ cut }) => cut)
}

interface Reached extends Neighbours {
  readonly source: Source
}

/**
 * Returns the neighbours of the first sources, within the budget. Reads a few edges of each source with a strength,
 * then more of those that have more, then a few of each other source.
 */
function neighboursOfAll(expansion: Expansion, sources: readonly Source[]): Reached[] {
  let left = limits.hopEdges - EDGES_OF_LAST_HUB
  const few = (source: Source): Reached[] => {
    if (left <= 0) return []
    const found = neighboursOf(expansion, source.id, Math.min(left, LEAST_EDGES_OF_A_SOURCE))
    left -= found.looked
    return [{ source, ...found }]
  }
  const more = (reached: Reached): Reached => {
    if (!reached.cut || left <= 0) return reached
    const most = Math.min(limits.nodeEdges, reached.looked + left)
    const found = neighboursOf(expansion, reached.source.id, most)
    left -= found.looked - reached.looked
    return { source: reached.source, ...found }
  }
  const strong = sources.filter(({ strength }) => strength > 0).flatMap(few)
  return [...strong.map(more), ...sources.filter(({ strength }) => strength === 0).flatMap(few)]
}

function gainOf(expansion: Expansion, coverage: Coverage, { id, strength }: Source, to: Neighbour): number {
  return (
    (strength * to.weight * noveltyOf(coverage, id, to.id)) / (1 + Math.log(1 + expansion.rows.degreeOf(to.id))) ** 0.25
  )
}

/** Returns a factor for the query words that a neighbour adds, 0.7 to 1. */
export function noveltyOf(coverage: Coverage, from: string, to: string): number {
  return 0.7 + 0.3 * newShare(coverage, from, to)
}
