/** What a node is linked with: parents, children, connections and exact counts, from the edge index. */
import { type Kysely, sql } from 'kysely'
import type { EdgeTable, IndexSchema } from '../../index/derived/schema.ts'

export interface Connection {
  readonly id: string
  /** The node whose repository holds it. */
  readonly node_id: string
  readonly source: string
  readonly target: string
  readonly type: string
  readonly label: string
}

/** Edges whose other end is deleted are hidden. */
export async function readNeighbours(db: Kysely<IndexSchema>, orgId: string, nodeId: string) {
  const [parents, children, connections, above, below] = await Promise.all([
    relatives(db, nodeId, 'target', 'source'),
    relatives(db, nodeId, 'source', 'target'),
    connectionsOf(db, orgId, nodeId),
    countReached(db, nodeId, 'up'),
    countReached(db, nodeId, 'down'),
  ])
  const counts = {
    num_parents: parents.length,
    num_children: children.length,
    num_ancestors: above,
    num_descendants: below,
  }
  return { parents, children, connections, ...counts }
}

function toConnection({
  key,
  holder,
  source,
  target,
  connection_type,
  label,
}: Omit<EdgeTable, 'org_id' | 'edge_type'>): Connection {
  return { id: key, node_id: holder, source, target, type: connection_type, label }
}

async function relatives(
  db: Kysely<IndexSchema>,
  nodeId: string,
  here: 'source' | 'target',
  there: 'source' | 'target',
) {
  return db
    .selectFrom('edge')
    .innerJoin('node', 'node.id', `edge.${there}`)
    .where(`edge.${here}`, '=', nodeId)
    .where('edge_type', '=', 'parent_child')
    .select(['node.id', 'node.title', 'edge.label'])
    .orderBy('node.title')
    .orderBy('node.id')
    .execute()
}

async function connectionsOf(db: Kysely<IndexSchema>, orgId: string, nodeId: string): Promise<Connection[]> {
  const rows = await db
    .selectFrom('edge')
    .innerJoin('node as from', 'from.id', 'edge.source')
    .innerJoin('node as to', 'to.id', 'edge.target')
    .where('edge_type', '=', 'connection')
    .where('edge.org_id', '=', orgId)
    .where((eb) => eb.or([eb('edge.source', '=', nodeId), eb('edge.target', '=', nodeId)]))
    .selectAll('edge')
    .orderBy('edge.holder')
    .orderBy('edge.key')
    .execute()
  return rows.map(toConnection)
}

/** Distinct nodes above or below; `union` ends a walk in a graph that damaged mirrors made cyclic. */
async function countReached(db: Kysely<IndexSchema>, nodeId: string, direction: 'up' | 'down'): Promise<number> {
  const [here, there] = direction === 'up' ? (['target', 'source'] as const) : (['source', 'target'] as const)
  const { rows } = await sql<{ reached: number }>`
    with recursive reached (id) as (
      select ${nodeId}
      union
      select edge.${sql.ref(there)} from edge
        join reached on edge.${sql.ref(here)} = reached.id
        join node on node.id = edge.${sql.ref(there)}
        where edge.edge_type = 'parent_child')
    select count(*) - 1 as reached from reached`.execute(db)
  return Number(rows[0]?.reached ?? 0)
}
