/** The graph as pieces of JSON, from the rows and counts of one snapshot. */

import { type Counted, countRelatives } from '../../../index/graph/graph-counts.ts'
import type { GraphEdgeRow, GraphNodeRow, GraphRows } from '../../../index/graph/graph-rows.ts'
import { type GraphEdge, toGraphEdge } from '../../domain/format/graph-edges.ts'

interface GraphNode {
  readonly id: string
  readonly org_id: string
  readonly title: string
  readonly description: string
  readonly tags: readonly string[]
  readonly created_at: string
  readonly updated_at: string
  readonly num_parents: number
  readonly num_children: number
  readonly num_ancestors: number
  readonly num_descendants: number
}

export interface PublicGraph {
  readonly org_id: string
  readonly org_name: string
  /** Sorted by `created_at`, then `id`. */
  readonly nodes: readonly GraphNode[]
  /** Sorted by `id`. */
  readonly edges: readonly GraphEdge[]
  readonly total_nodes: number
  readonly total_edges: number
}

/** The version of the drawing: it is incremented when the same rows are drawn differently. */
const shape = 3

/** The version of an organisation's graph, including the version of the drawing. */
export function versionOf({ epoch, version }: { readonly epoch: string; readonly version: number }): string {
  return `${shape}-${epoch}-${version}`
}

/** The approximate length of a piece, in characters. */
const pieceLength = 1 << 20

/** Numbers of nodes: their positions among the sorted ids. Counts and arcs use them. */
type Numbers = ReadonlyMap<string, number>

export function numberNodes(nodes: readonly GraphNodeRow[]): Numbers {
  return new Map(
    nodes
      .map(({ id }) => id)
      .sort()
      .map((id, number) => [id, number]),
  )
}

export function countNodes({ edges }: GraphRows, numbers: Numbers): Counted {
  const arcs: number[] = []
  for (const [, type, , source, target] of edges) {
    if (type !== 'parent_child') continue
    const [parent, child] = [numbers.get(source), numbers.get(target)]
    if (parent !== undefined && child !== undefined) arcs.push(parent, child)
  }
  return countRelatives(numbers.size, Uint32Array.from(arcs))
}

/** The JSON of a PublicGraph in pieces, to be concatenated. Edges to other nodes are omitted. */
export function* drawGraph(rows: GraphRows, numbers: Numbers, counted: Counted): Generator<string> {
  const { org, nodes } = rows
  const edges = shownEdges(rows, numbers, counted)
  const head = { org_id: org.id, org_name: org.name, total_nodes: nodes.length, total_edges: edges.length }
  yield `${JSON.stringify(head satisfies Omit<PublicGraph, 'nodes' | 'edges'>).slice(0, -1)},"nodes":[`
  yield* encodeGraphPieces(nodes, (row) => JSON.stringify(toGraphNode(row, org.id, numbers.get(row.id) ?? 0, counted)))
  yield '],"edges":['
  yield* encodeGraphPieces(edges, (row) => JSON.stringify(fromTuple(row)))
  yield ']}'
}

/** Keeps what is at or below a node, by edges that close no cycle. Nodes keep their numbers, and so their counts. */
export function takePart(rows: GraphRows, numbers: Numbers, counted: Counted, under: string): [GraphRows, Numbers] {
  const children = new Map<string, string[]>()
  for (const [, type, , source, target] of shownEdges(rows, numbers, counted)) {
    if (type !== 'parent_child') continue
    const known = children.get(source)
    if (known) known.push(target)
    else children.set(source, [target])
  }
  const part = new Set([under])
  // The loop also visits what it adds.
  for (const id of part) for (const child of children.get(id) ?? []) part.add(child)
  const nodes = rows.nodes.filter(({ id }) => part.has(id))
  return [{ ...rows, nodes }, new Map([...numbers].filter(([id]) => part.has(id)))]
}

export function shownEdges({ edges }: GraphRows, numbers: Numbers, counted: Counted): readonly GraphEdgeRow[] {
  const { hidden, parents } = counted
  const cyclic = new Set<number>()
  for (let at = 0; at < hidden.length; at += 2) cyclic.add((hidden[at] ?? 0) * parents.length + (hidden[at + 1] ?? 0))
  return edges.filter(([, type, , source, target]) => {
    const [from, to] = [numbers.get(source), numbers.get(target)]
    if (from === undefined || to === undefined) return false
    return type === 'connection' || !cyclic.has(from * parents.length + to)
  })
}

function fromTuple([holder, edge_type, key, source, target, connection_type, label]: GraphEdgeRow): GraphEdge {
  return toGraphEdge({ holder, edge_type, key, source, target, connection_type, label })
}

function toGraphNode(row: GraphNodeRow, org_id: string, number: number, counted: Counted): GraphNode {
  // Listed by name: spreading the row takes four times as long.
  const { id, title, description, created_at, updated_at } = row
  return {
    id,
    org_id,
    title,
    description,
    tags: JSON.parse(row.tags) as string[], // written by index-node.ts
    created_at,
    updated_at,
    num_parents: counted.parents[number] ?? 0,
    num_children: counted.children[number] ?? 0,
    num_ancestors: counted.ancestors[number] ?? 0,
    num_descendants: counted.descendants[number] ?? 0,
  }
}

export function* encodeGraphPieces<T>(items: readonly T[], write: (item: T) => string): Generator<string> {
  let piece = ''
  for (const [at, item] of items.entries()) {
    piece += at === 0 ? write(item) : `,${write(item)}`
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}
