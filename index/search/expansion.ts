/** The edges between documents, and which of them an expansion of matches follows. */
export interface SearchEdge {
  /** Unique among all holders. */
  id: string
  source: string
  target: string
  edge_type: 'parent_child' | 'connection'
  connection_type: string
  label: string
  parent_node_id: string
  /** The node whose repository holds the edge; one of its ends. */
  holder: string
}

/** Every edge that is held, visible or not. An edge is visible while both of its ends are present. */
export interface SearchGraph {
  present: Set<string>
  held: Map<string, SearchEdge[]>
  /** By either end. */
  touching: Map<string, Set<SearchEdge>>
  /** Distinct visible neighbours by node; cleared by any edit, filled on demand. */
  degrees: Map<string, number>
}

/** How one node is reached from another. */
export type Relation = 'child' | 'parent' | 'connection'

export interface Neighbour {
  id: string
  weight: number
  relation: Relation
}

/** Which edges are followed; a connection is followed in both directions. */
export interface FollowedEdges {
  children: boolean
  parents: boolean
  connection(type: string): boolean
}

/** How much of a score an edge carries: all of it along a connection, a quarter against one or between parent and child. */
const ALONG_CONNECTION = 1
const OTHERWISE = 0.25

export function createSearchGraph(): SearchGraph {
  return { present: new Set(), held: new Map(), touching: new Map(), degrees: new Map() }
}

export function setPresent(graph: SearchGraph, id: string, present: boolean): void {
  if (graph.present.has(id) === present) return
  if (present) graph.present.add(id)
  else graph.present.delete(id)
  graph.degrees.clear()
}

/** Replaces all edges that `holder` holds. */
export function setHeldEdges(graph: SearchGraph, holder: string, edges: SearchEdge[]): void {
  for (const edge of graph.held.get(holder) ?? []) {
    detach(graph, edge.source, edge)
    detach(graph, edge.target, edge)
  }
  for (const edge of edges) {
    attach(graph, edge.source, edge)
    attach(graph, edge.target, edge)
  }
  if (edges.length > 0) graph.held.set(holder, [...edges])
  else graph.held.delete(holder)
  graph.degrees.clear()
}

function attach(graph: SearchGraph, end: string, edge: SearchEdge): void {
  const edges = graph.touching.get(end)
  if (edges) edges.add(edge)
  else graph.touching.set(end, new Set([edge]))
}

function detach(graph: SearchGraph, end: string, edge: SearchEdge): void {
  const edges = graph.touching.get(end)
  edges?.delete(edge)
  if (edges?.size === 0) graph.touching.delete(end)
}

/** The visible edges of `id` with their other ends. */
export function* edgesOf(graph: SearchGraph, id: string): Generator<{ edge: SearchEdge; other: string }> {
  if (!graph.present.has(id)) return
  for (const edge of graph.touching.get(id) ?? []) {
    const other = edge.source === id ? edge.target : edge.source
    if (other !== id && graph.present.has(other)) yield { edge, other }
  }
}

/** The distinct neighbours of `id`, each by the edge that carries most; of equals the first by name of its relation. */
export function neighboursOf(graph: SearchGraph, id: string, follow: FollowedEdges): Neighbour[] {
  const best = new Map<string, Neighbour>()
  for (const { edge, other } of edgesOf(graph, id)) {
    const relation = relationOf(edge, id)
    if (!follows(follow, relation, edge)) continue
    const weight = relation === 'connection' && edge.source === id ? ALONG_CONNECTION : OTHERWISE
    const known = best.get(other)
    if (!known || weight > known.weight || (weight === known.weight && relation < known.relation)) {
      best.set(other, { id: other, weight, relation })
    }
  }
  return [...best.values()]
}

function relationOf(edge: SearchEdge, from: string): Relation {
  if (edge.edge_type === 'connection') return 'connection'
  return edge.source === from ? 'child' : 'parent'
}

function follows(follow: FollowedEdges, relation: Relation, edge: SearchEdge): boolean {
  if (relation === 'child') return follow.children
  return relation === 'parent' ? follow.parents : follow.connection(edge.connection_type)
}

/** The number of distinct visible neighbours of `id`, over edges of any kind. */
export function degreeOf(graph: SearchGraph, id: string): number {
  const known = graph.degrees.get(id)
  if (known !== undefined) return known
  const others = new Set<string>()
  for (const { other } of edgesOf(graph, id)) others.add(other)
  graph.degrees.set(id, others.size)
  return others.size
}
