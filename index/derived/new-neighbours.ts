/** The neighbours of a new node, from the rows that its creation has written. */

import * as limits from '../limits.ts'
import { readRows } from '../sqlite/statements.ts'
import { countReached, type NeighbourCounts, type NodeConnection, type RelatedNode } from './neighbours.ts'
import type { NewNodeRows } from './new-nodes.ts'
import type { IndexDb } from './schema.ts'
import type { Sees } from './sees.ts'

/** True if `newNeighbours` describes these edges. With more, only some are shown. */
export function areFewEdges({ edges }: Pick<NewNodeRows, 'edges'>): boolean {
  return edges.length <= limits.neighbours
}

interface Neighbours extends NeighbourCounts {
  readonly parents: RelatedNode[]
  readonly children: RelatedNode[]
  readonly connections: NodeConnection[]
}

/** Returns what `readNeighbours` returns for a node that no edge leads to. Without edges, it reads nothing. */
export async function newNeighbours(
  db: IndexDb,
  sees: Sees,
  { node, edges }: Pick<NewNodeRows, 'node' | 'edges'>,
): Promise<Neighbours> {
  const others = new Map((await readOthers(db, sees, edges)).map(({ id, title }) => [id, title]))
  const labels = new Map(
    edges.flatMap((edge) => (edge.edge_type === 'parent_child' ? [[edge.source, edge.label]] : [])),
  )
  const parents = [...others].flatMap(([id, title]) => {
    const label = labels.get(id)
    return label === undefined ? [] : [{ id, title, label }]
  })
  const connections = edges.flatMap(({ edge_type, key, source, target, connection_type: type, label }) => {
    const target_title = others.get(target)
    if (edge_type === 'parent_child' || target_title === undefined) return []
    return [{ id: key, node_id: node.id, source, target, source_title: node.title, target_title, type, label }]
  })
  return {
    parents,
    children: [],
    connections: connections.sort((a, b) => (a.id < b.id ? -1 : 1)),
    num_parents: parents.length,
    num_children: 0,
    num_ancestors: parents.length > 0 ? await countReached(db, sees, node.id, 'up') : 0,
    num_descendants: 0,
    num_connections: connections.length,
  }
}

interface Other {
  readonly id: string
  readonly title: string
}

/** Reads the nodes at the other ends, in the order of the tree. */
async function readOthers(db: IndexDb, sees: Sees, edges: NewNodeRows['edges']): Promise<Other[]> {
  if (edges.length === 0) return []
  const ids = edges.map(({ edge_type, source, target }) => (edge_type === 'parent_child' ? source : target))
  return readRows<Other>(db, othersInOrder, JSON.stringify(ids), sees.orgId)
}

const othersInOrder = `
  select id, title from node where id in (select value from json_each(?)) and +org_id = ? order by title_key, id`
