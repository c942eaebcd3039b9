/** Follows edges from matches, within a budget of edges to read. */

import { type Corpus, type DocumentPlace, placeOf } from '../segments/corpus.ts'
import { type FollowedEdges, MOST_EDGES_AT, type SearchRows } from '../segments/rows.ts'
import { passesFilter } from './scope.ts'
import type { DocumentFilter } from './scores.ts'

/** How a node is reached from another. */
export type Relation = 'child' | 'parent' | 'connection'

export interface Neighbour {
  readonly id: string
  readonly weight: number
  readonly relation: Relation
}

/** The kinds of edges to follow. Connections are followed in both directions. */
export interface Following {
  readonly children: boolean
  readonly parents: boolean
  readonly connections: boolean
  /** True if connections of this type are followed. */
  connection(type: string): boolean
}

/** The edges and nodes to which scores may spread, for one query. */
export interface Expansion {
  readonly corpus: Corpus
  readonly rows: SearchRows
  readonly follow: Following
  readonly admission: DocumentFilter | undefined
  /** The nodes that fit the query best. A hub's edges to them are read in addition to its first ones. */
  readonly best: readonly string[]
  /** A cache of places by node id. */
  readonly places: Map<string, DocumentPlace | undefined>
  /** A cache of edges to `best`, by node, end and type. */
  readonly toBest: Map<string, FollowedEdges>
}

/** The weights of edges. `OTHERWISE` is against a connection, or between parent and child. */
const ALONG_CONNECTION = 1
const OTHERWISE = 0.25

/** The limit of edges of a node by direction and kind. One more is read to see whether there are more. */
const MOST_EDGES_A_KIND = MOST_EDGES_AT - 1

/** True if the node exists and is admitted. */
function isAdmitted(expansion: Expansion, id: string): boolean {
  const { corpus, admission, places } = expansion
  const place = places.has(id) ? places.get(id) : placeOf(corpus, id)
  places.set(id, place)
  return place !== undefined && passesFilter(admission, place)
}

export interface Neighbours {
  readonly neighbours: readonly Neighbour[]
  /** The number of edges that were read. */
  readonly looked: number
  /** True if there are more edges. */
  readonly cut: boolean
}

/**
 * Returns the distinct admitted neighbours of `id`, each by the edge with the greatest weight. The name of the relation
 * decides between equal edges. Reads at most `most` edges. A node with more leads to its first neighbours by
 * id, and also to those that fit the query best.
 */
export function neighboursOf(expansion: Expansion, id: string, most: number): Neighbours {
  const best = new Map<string, Neighbour>()
  const { follow } = expansion
  let looked = 0
  let cut = false
  const take = (relation: Relation, end: 'source' | 'target') => {
    const type = relation === 'connection' ? 'connection' : 'parent_child'
    const weight = relation === 'connection' && end === 'source' ? ALONG_CONNECTION : OTHERWISE
    const seen = lookAt(expansion, id, end, type, Math.max(0, Math.min(MOST_EDGES_A_KIND, most - looked)))
    looked += seen.others.length
    cut ||= seen.cut
    for (const [n, other] of seen.others.entries()) {
      if (other === id || (relation === 'connection' && !follow.connection(seen.connectionTypes[n] ?? ''))) continue
      const known = best.get(other)
      if (known && (known.weight > weight || (known.weight === weight && known.relation <= relation))) continue
      if (known || isAdmitted(expansion, other)) best.set(other, { id: other, weight, relation })
    }
  }
  if (follow.connections) take('connection', 'source')
  if (follow.connections) take('connection', 'target')
  if (follow.children) take('child', 'source')
  if (follow.parents) take('parent', 'target')
  return { neighbours: [...best.values()], looked, cut }
}

/** True if the node has edges of a kind that is followed. */
export function hasEdges({ rows, follow }: Expansion, id: string): boolean {
  const has = (end: 'source' | 'target', type: 'parent_child' | 'connection') =>
    rows.edgesAt(id, end, type, 1).others.length > 0
  return (
    (follow.connections && (has('source', 'connection') || has('target', 'connection'))) ||
    (follow.children && has('source', 'parent_child')) ||
    (follow.parents && has('target', 'parent_child'))
  )
}

function lookAt(
  expansion: Expansion,
  id: string,
  end: 'source' | 'target',
  type: 'parent_child' | 'connection',
  limit: number,
): FollowedEdges & { cut: boolean } {
  const { others, connectionTypes } = expansion.rows.edgesAt(id, end, type, limit + 1)
  if (others.length <= limit) return { others, connectionTypes, cut: false }
  const more = edgesToBest(expansion, id, end, type)
  return {
    others: [...others.slice(0, limit), ...more.others],
    connectionTypes: [...connectionTypes.slice(0, limit), ...more.connectionTypes],
    cut: true,
  }
}

function edgesToBest(
  { rows, best, toBest }: Expansion,
  id: string,
  end: 'source' | 'target',
  type: 'parent_child' | 'connection',
): FollowedEdges {
  if (best.length === 0) return { others: [], connectionTypes: [] }
  const key = `${id} ${end} ${type}`
  const edges = toBest.get(key) ?? rows.edgesTo(id, end, type, best)
  toBest.set(key, edges)
  return edges
}
