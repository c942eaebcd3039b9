/** Edges as the graph and the search answer them. */
import type { EdgeTable } from '../../../index/derived/schema.ts'
import { edgeName, type NamedEdge } from './paths.ts'

/** An edge of the graph. Searches return edges of the same form. */
export interface GraphEdge extends NamedEdge {
  readonly parent_node_id: string
}

export function toGraphEdge(edge: Omit<EdgeTable, 'org_id'>): GraphEdge {
  const { holder, key, source, target, edge_type, connection_type, label } = edge
  const id = edgeName(holder, edge_type === 'parent_child' ? 'parents' : 'connections', key)
  return { id, source, target, edge_type, connection_type, label, parent_node_id: source }
}
