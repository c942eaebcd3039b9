/** Orders matches and the nodes that an expansion reaches from them, by one score. */
import { type Coverage, newShare, titleShare } from './coverage.ts'
import {
  degreeOf,
  type FollowedEdges,
  type Neighbour,
  neighboursOf,
  type Relation,
  type SearchGraph,
} from './expansion.ts'
import type { Level } from './levels.ts'
import type { Steps } from './steps.ts'

export interface Match {
  id: string
  /** BM25. */
  score: number
}

/** A node of the answer; `score` is BM25's plus what it gained from its neighbours, in the same unit. */
export interface RankedNode {
  id: string
  score: number
  relation: 'match' | Relation
  /** Hops from the nearest match. */
  depth: number
  /** The node one hop nearer from which most was gained; null for a match. */
  via: string | null
}

/** The edges and nodes to which scores may spread. */
export interface Expansion {
  graph: SearchGraph
  follow: FollowedEdges
  admits(id: string): boolean
}

/** The most nodes of one answer. Of one node, as many neighbours are considered. */
export const MOST_NODES = 500

const SEEDS = 8
const FRONTIER = 20
const SECOND_HOP = 0.7

/** A node that was reached; `gain` is a share of the best match's score. */
interface ReachedNode {
  gain: number
  depth: number
  via: string | null
  relation: 'match' | Relation
}

interface Source {
  id: string
  strength: number
}

/**
 * Ranks the matches (given best first) and the nodes reached from them, best first; `cut` if there were more than MOST_NODES.
 * Every match and every reached node leads on, but scores spread only from the best 8 matches and the best 20 nodes of the first
 * hop.
 * A second hop adds nodes and raises none that was reached before.
 *
 * Formula and figures: index/README.md. Spreading one hop lifts recall@5 of multi-hop questions from 69 to 94 % (2Wiki).
 * A second text query that adds entry points would come before this, where the `top_k` matches are chosen.
 */
export function* rankNodes(
  expansion: Expansion,
  coverage: Coverage,
  matches: Match[],
  level: Level,
): Steps<{ nodes: RankedNode[]; cut: boolean }> {
  const top = matches[0]?.score ?? 0
  const found = new Map<string, ReachedNode>(
    matches.map(({ id }) => [id, { gain: 0, depth: 0, via: null, relation: 'match' }]),
  )
  const scored = (id: string, step: ReachedNode): RankedNode => ({
    id,
    score: roundScore((coverage.scores.find(id)?.score ?? 0) + top * step.gain),
    relation: step.relation,
    depth: step.depth,
    via: step.via,
  })
  let cut = false
  if (level.hops > 0) cut = yield* expandOneHop(expansion, coverage, found, seedsOf(coverage, matches, top, level), 1)
  if (level.hops > 1) {
    const first = [...found].filter(([, step]) => step.depth === 1)
    first.sort(([a, { gain: x }], [b, { gain: y }]) => y - x || (a < b ? -1 : 1))
    const frontier = first.slice(0, FRONTIER).map(([id, { gain }]) => ({ id, strength: SECOND_HOP * gain }))
    const others = first
      .slice(FRONTIER)
      .map(([id, step]) => scored(id, step))
      .sort(byScore)
      .slice(0, MOST_NODES - FRONTIER)
    const sources = [...frontier, ...others.map(({ id }) => ({ id, strength: 0 }))]
    cut = (yield* expandOneHop(expansion, coverage, found, sources, 2)) || cut
  }
  const nodes = [...found].map(([id, step]) => scored(id, step)).sort(byScore)
  return { nodes, cut: cut || nodes.length > MOST_NODES }
}

/** Best first, equals by id. */
export function byScore(a: { id: string; score: number }, b: { id: string; score: number }): number {
  return b.score - a.score || (a.id < b.id ? -1 : 1)
}

/** Rounds to the 6 significant digits of an answer, so that scores that look equal are equal. */
export function roundScore(score: number): number {
  return Number(score.toPrecision(6))
}

function seedsOf(coverage: Coverage, matches: Match[], top: number, level: Level): Source[] {
  return matches.map(({ id, score }, rank) => ({
    id,
    strength: rank < SEEDS ? (level.strength * score * (0.2 + 0.8 * titleShare(coverage, id))) / top : 0,
  }))
}

/** Adds to `found` the nodes one hop from `sources`, in their order; true if neighbours of a hub were left out. */
function* expandOneHop(
  expansion: Expansion,
  coverage: Coverage,
  found: Map<string, ReachedNode>,
  sources: Source[],
  depth: number,
): Steps<boolean> {
  let cut = false
  for (const source of sources) {
    yield
    const neighbours = neighboursOf(expansion.graph, source.id, expansion.follow).filter(({ id }) =>
      expansion.admits(id),
    )
    const dilution =
      Math.max(
        1,
        neighbours.reduce((sum, { weight }) => sum + weight, 0),
      ) ** -0.25
    if (neighbours.length > MOST_NODES) cut = true
    for (const neighbour of best(coverage, neighbours)) {
      const known = found.get(neighbour.id)
      if (known && known.depth > 0 && known.depth < depth) continue
      const gain = source.strength === 0 ? 0 : dilution * gainOf(expansion, coverage, source, neighbour)
      if (!known) found.set(neighbour.id, { gain, depth, via: source.id, relation: neighbour.relation })
      else if (known.depth === 0 && depth === 1) known.gain = Math.max(known.gain, gain)
      else if (known.depth === depth && gain > known.gain) {
        found.set(neighbour.id, { gain, depth, via: source.id, relation: neighbour.relation })
      }
    }
  }
  return cut
}

function gainOf({ graph }: Expansion, coverage: Coverage, { id, strength }: Source, to: Neighbour): number {
  const novelty = 0.7 + 0.3 * newShare(coverage, id, to.id)
  return (strength * to.weight * novelty) / (1 + Math.log(1 + degreeOf(graph, to.id))) ** 0.25
}

function best({ scores }: Coverage, neighbours: Neighbour[]): Neighbour[] {
  if (neighbours.length <= MOST_NODES) return neighbours
  return neighbours
    .map((neighbour) => ({ id: neighbour.id, score: scores.find(neighbour.id)?.score ?? 0, neighbour }))
    .sort(byScore)
    .slice(0, MOST_NODES)
    .map(({ neighbour }) => neighbour)
}
