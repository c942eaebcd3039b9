/** The graph's rules, checked where main moves (contract §2): a DAG within one organisation, no dangling new edge. */
import { type Kysely, sql } from 'kysely'
import type { IndexSchema } from '../../index/derived/schema.ts'
import { findNode } from './access.ts'
import type { ContentProblem, NodeContent } from './entities.ts'

/**
 * What of `after` would break the graph, given that main now says `before`: only edges that are new are judged, so that
 * a neighbour deleted meanwhile never locks a repository.
 */
export async function graphProblems(
  db: Kysely<IndexSchema>,
  orgId: string,
  nodeId: string,
  before: NodeContent,
  after: NodeContent,
): Promise<ContentProblem[]> {
  const problems: ContentProblem[] = []
  for (const { id } of newParents(before, after)) {
    const path = `parents/${id}.json`
    if (id === nodeId) problems.push({ path, reason: 'a node cannot be its own parent' })
    else if (!(await findNode(db, orgId, id)))
      problems.push({ path, reason: `there is no node ${id} in this organisation` })
    else if (await isAncestorOf(db, nodeId, id))
      problems.push({ path, reason: `node ${id} is a descendant of this node: a cycle` })
  }
  const known = new Map(before.connections.map((connection) => [connection.id, connection.target]))
  for (const { id, target } of after.connections) {
    const path = `connections/${id}.json`
    if (known.get(id) === target) continue
    if (target === nodeId) problems.push({ path, reason: 'a node cannot be connected to itself' })
    else if (!(await findNode(db, orgId, target)))
      problems.push({ path, reason: `there is no node ${target} in this organisation` })
  }
  return problems
}

export function newParents(before: NodeContent, after: NodeContent): NodeContent['parents'] {
  const known = new Set(before.parents.map((parent) => parent.id))
  return after.parents.filter((parent) => !known.has(parent.id))
}

/** Whether `ancestor` is above `nodeId`; `union` makes the walk end in a graph that a damaged mirror made cyclic. */
async function isAncestorOf(db: Kysely<IndexSchema>, ancestor: string, nodeId: string): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    with recursive above (id) as (
      select ${nodeId}
      union
      select edge.source from edge join above on edge.target = above.id where edge.edge_type = 'parent_child')
    select id from above where id = ${ancestor}`.execute(db)
  return rows.length > 0
}
