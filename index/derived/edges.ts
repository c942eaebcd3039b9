/** Queries for edges. */
import { sql } from 'kysely'
import { isInOrg } from './in-org.ts'
import type { IndexDb } from './schema.ts'
import type { Sees } from './sees.ts'

/** Lists the edges from parent to child within one organisation. */
export function listParentEdges(db: IndexDb) {
  return db
    .selectFrom('edge')
    .innerJoin('node as parent', 'parent.id', 'edge.source')
    .innerJoin('node as child', 'child.id', 'edge.target')
    .select(['edge.org_id', 'source', 'target'])
    .where('edge_type', '=', 'parent_child')
    .whereRef('parent.org_id', '=', 'child.org_id')
    .orderBy('source')
    .orderBy('target')
    .execute()
}

/** Returns the parents of each node, including ids that belong to no node. */
export async function readParentsOf(db: IndexDb, nodeIds: readonly string[]): Promise<Map<string, string[]>> {
  const parents = new Map<string, string[]>(nodeIds.map((id) => [id, []]))
  for (let at = 0; at < nodeIds.length; at += rowsAtOnce) {
    const rows = await db
      .selectFrom('edge')
      .select(['source', 'target'])
      .where('edge_type', '=', 'parent_child')
      .where('target', 'in', nodeIds.slice(at, at + rowsAtOnce))
      .execute()
    for (const { source, target } of rows) parents.get(target)?.push(source)
  }
  return parents
}

/** Lists the edges that other nodes hold to these nodes: from their children, and connections. */
export function listEdgesTo(db: IndexDb, { orgId }: Sees, nodeIds: readonly string[], limit: number) {
  if (nodeIds.length === 0) return Promise.resolve([])
  return db
    .selectFrom('edge')
    .select(['holder', 'key', 'edge_type', 'source', 'target', 'connection_type', 'label'])
    .where(isInOrg('org_id', orgId))
    .where((eb) =>
      eb.or([
        eb.and([eb('edge_type', '=', 'parent_child'), eb('source', 'in', nodeIds)]),
        eb.and([eb('edge_type', '=', 'connection'), eb('target', 'in', nodeIds)]),
      ]),
    )
    .orderBy('holder')
    .orderBy('key')
    .limit(limit)
    .execute()
}

/** Rows per statement. */
const rowsAtOnce = 500

/**
 * True if `ancestor` is above `nodeId`. `union` ends the walk even in a cyclic graph, which a damaged mirror can cause.
 */
export async function isAncestor(db: IndexDb, ancestor: string, nodeId: string): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    with recursive above (id) as (
      select ${nodeId}
      union
      select edge.source from edge join above on edge.target = above.id where edge.edge_type = 'parent_child')
    select id from above where id = ${ancestor}`.execute(db)
  return rows.length > 0
}

/** True if a rule for `under` and the nodes below it is for the node. Undefined: it is for all. */
export async function isWithin(db: IndexDb, nodeId: string, under: string | undefined): Promise<boolean> {
  return under === undefined || under === nodeId || isAncestor(db, under, nodeId)
}

/**
 * Lists the organisation's nodes among `parents` and their ancestors, by id, at most `limit`. The walk skips `child`
 * and does not continue through it.
 */
export async function listAbove(
  db: IndexDb,
  sees: Sees,
  child: string,
  parents: readonly string[],
  limit: number,
): Promise<{ readonly node_id: string; readonly title: string }[]> {
  const { rows } = await sql<{ node_id: string; title: string }>`
    with recursive above (id) as (
      select node.id from json_each(${JSON.stringify(parents)}) as parent
        cross join node on node.id = parent.value and node.org_id = ${sees.orgId} where node.id != ${child}
      union
      select edge.source from edge
        join above on edge.target = above.id
        join node on node.id = edge.source and node.org_id = ${sees.orgId}
        where edge.edge_type = 'parent_child' and edge.source != ${child}
      limit ${sql.lit(limit)})
    select node.id as node_id, node.title from above cross join node on node.id = above.id order by node.id`.execute(db)
  return rows
}
