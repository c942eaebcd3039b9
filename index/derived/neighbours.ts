/** Queries for a node's neighbours: parents, children, connections and exact counts. */
import { type Kysely, sql } from 'kysely'
import { createCache } from '../../gitstore/caching/caches.ts'
import * as limits from '../limits.ts'
import { type Slice, totalWith } from '../slice.ts'
import { compileOnce } from '../sqlite/compiled.ts'
import { readRows } from '../sqlite/statements.ts'
import { isInOrg } from './in-org.ts'
import type { EdgeTable, IndexSchema } from './schema.ts'
import type { Sees } from './sees.ts'
import { countChildren } from './tree-queries.ts'

export interface NodeConnection {
  readonly id: string
  /** The node whose repository holds the connection. */
  readonly node_id: string
  readonly source: string
  readonly target: string
  readonly source_title: string
  /** Empty if the node is deleted. */
  readonly target_title: string
  readonly type: string
  readonly label: string
}

/** Returns a node's first neighbours and their counts. Omits edges whose other end is deleted. */
export async function readNeighbours(db: Kysely<IndexSchema>, sees: Sees, nodeId: string) {
  const [parents, children, connections, counts] = await Promise.all([
    firstParents(db, sees.orgId, nodeId),
    firstChildren(db, sees.orgId, nodeId),
    firstConnections(db, sees.orgId, nodeId),
    countsOf(db, sees, nodeId),
  ])
  return { parents, children, connections: connections.map(toConnection), ...counts }
}

/** Lists the connections from and to a node, by holder, then by id. */
export async function readConnections(
  db: Kysely<IndexSchema>,
  sees: Sees,
  nodeId: string,
  slice: Slice,
): Promise<NodeConnection[]> {
  return (await slicedConnections(db, sees.orgId, nodeId, slice).execute()).map(toConnection)
}

/** Returns the edges in the node's own files, without the titles of their other ends. Counts include all edges. */
export async function readOwnEdges(db: Kysely<IndexSchema>, sees: Sees, nodeId: string) {
  const [parents, { connections }, counts] = await Promise.all([
    firstParents(db, sees.orgId, nodeId),
    readOwnConnections(db, sees, nodeId, { limit: limits.neighbours, offset: 0 }),
    countsOf(db, sees, nodeId),
  ])
  const untitled = parents.map((parent) => ({ ...parent, title: '' })).sort((a, b) => (a.id < b.id ? -1 : 1))
  return { parents: untitled, children: [], connections, ...counts }
}

/** Lists the connections that the node holds, by id, without the titles of their targets. */
export async function readOwnConnections(db: Kysely<IndexSchema>, sees: Sees, nodeId: string, slice: Slice) {
  const own = connectionsOf(db, sees.orgId, nodeId).where('edge.holder', '=', nodeId)
  const [rows, { total }] = await Promise.all([
    slicedConnections(db, sees.orgId, nodeId, slice).where('edge.holder', '=', nodeId).execute(),
    own.select(countAll).executeTakeFirstOrThrow(),
  ])
  const connections = rows.map((row) => ({ ...toConnection(row), target_title: '' }))
  return { connections, total: Number(total) }
}

function slicedConnections(db: Kysely<IndexSchema>, orgId: string, nodeId: string, { limit, offset }: Slice) {
  return connectionsOf(db, orgId, nodeId)
    .selectAll('edge')
    .select(['from.title as source_title', 'to.title as target_title'])
    .orderBy('edge.holder')
    .orderBy('edge.key')
    .limit(limit)
    .offset(offset)
}

const firstConnections = compileOnce(2, (db: Kysely<IndexSchema>, orgId: string, nodeId: string) =>
  slicedConnections(db, orgId, nodeId, { limit: limits.neighbours, offset: 0 }),
)

function toConnection({
  key,
  holder,
  source,
  target,
  source_title,
  target_title,
  connection_type,
  label,
}: Omit<EdgeTable, 'org_id' | 'edge_type'> & Pick<NodeConnection, 'source_title' | 'target_title'>): NodeConnection {
  return { id: key, node_id: holder, source, target, source_title, target_title, type: connection_type, label }
}

/** The first parents by id, in the order of the tree. */
const firstParents = compileOnce(2, (db: Kysely<IndexSchema>, orgId: string, nodeId: string) => {
  const first = parentsOf(db, orgId, nodeId)
    .select(['node.id', 'node.title', 'node.title_key', 'edge.label'])
    .orderBy('node.id')
    .limit(limits.neighbours)
  return db.selectFrom(first.as('first')).select(['id', 'title', 'label']).orderBy('title_key').orderBy('id')
})

export interface RelatedNode {
  readonly id: string
  readonly title: string
  readonly label: string
}

/** The first children in the order of the tree, from the index of the level. */
const firstChildren = compileOnce(2, (db: Kysely<IndexSchema>, orgId: string, nodeId: string) => ({
  compile: () =>
    sql<RelatedNode>`
      select node.id, node.title, one.label from (
        select target, label from edge indexed by edge_by_place
        where source = ${nodeId} and org_id = ${orgId} and edge_type = 'parent_child'
        order by title_key, target limit ${sql.lit(limits.neighbours)}) as one
      cross join node on node.id = one.target order by node.title_key, node.id`.compile(db),
}))

function parentsOf(db: Kysely<IndexSchema>, orgId: string, nodeId: string) {
  return db
    .selectFrom('edge')
    .innerJoin('node', 'node.id', 'edge.source')
    .where('edge.target', '=', nodeId)
    .where('edge_type', '=', 'parent_child')
    .where(isInOrg('node.org_id', orgId))
}

/** Lists the other nodes with a connection to this node, by id. */
export async function listLinkingNodes(
  db: Kysely<IndexSchema>,
  { orgId }: Sees,
  nodeId: string,
  page: Slice,
): Promise<{ rows: { id: string; title: string }[]; total: number }> {
  const listed = `select distinct node.id, node.title ${linkingNodes} order by edge.source limit ${page.limit} offset ?`
  const rows = await readRows<{ id: string; title: string }>(db, listed, nodeId, nodeId, orgId, page.offset)
  const counted = `select count(distinct edge.source) as total ${linkingNodes}`
  const count = async () => (await readRows<{ total: number }>(db, counted, nodeId, nodeId, orgId))[0]?.total ?? 0
  return { rows, total: await totalWith(rows, page, count) }
}

const linkingNodes = `from edge join node on node.id = edge.source
  where edge.target = ? and edge.edge_type = 'connection' and edge.source <> ? and +node.org_id = ?`

function connectionsOf(db: Kysely<IndexSchema>, orgId: string, nodeId: string) {
  return db
    .selectFrom('edge')
    .innerJoin('node as from', 'from.id', 'edge.source')
    .innerJoin('node as to', 'to.id', 'edge.target')
    .where('edge_type', '=', 'connection')
    .where(isInOrg('from.org_id', orgId))
    .where(isInOrg('to.org_id', orgId))
    .where((eb) => eb.or([eb('edge.source', '=', nodeId), eb('edge.target', '=', nodeId)]))
}

export interface NeighbourCounts {
  readonly num_parents: number
  readonly num_children: number
  readonly num_ancestors: number
  readonly num_descendants: number
  readonly num_connections: number
}

const countAll = sql<number>`count(*)`.as('total')

/** Counts by node and version of the graph. Counting is slow for a hub, which may reach every node. */
const known = createCache<NeighbourCounts>('neighbours')

/** Counts distinct existing neighbours on `main`. Caches the counts for a version of the graph. */
export async function countsOf(db: Kysely<IndexSchema>, sees: Sees, nodeId: string): Promise<NeighbourCounts> {
  // Read here, because the caller's row may be older than the node's latest rows.
  const [graph] = await graphState(db, sees.orgId)
  const { epoch, graph_version } = graph ?? {}
  const key = `${epoch} ${graph_version} ${nodeId}`
  const counts = known.get(key) ?? (await count(db, sees, nodeId))
  if (epoch !== undefined) known.set(key, counts)
  return counts
}

const graphState = compileOnce(1, (db: Kysely<IndexSchema>, orgId: string) =>
  db.selectFrom('org').select(['epoch', 'graph_version']).where('id', '=', orgId),
)

async function count(db: Kysely<IndexSchema>, sees: Sees, nodeId: string): Promise<NeighbourCounts> {
  const [parents, children, connections] = await Promise.all([
    parentsOf(db, sees.orgId, nodeId).select(countAll).executeTakeFirstOrThrow(),
    countChildren(db, sees, [nodeId]),
    connectionsOf(db, sees.orgId, nodeId).select(countAll).executeTakeFirstOrThrow(),
  ])
  return {
    num_parents: Number(parents.total),
    num_children: children.get(nodeId) ?? 0,
    num_ancestors: await countReached(db, sees, nodeId, 'up'),
    num_descendants: await countReached(db, sees, nodeId, 'down'),
    num_connections: Number(connections.total),
  }
}

/**
 * Counts distinct nodes above or below. `union` ends the walk even in a cyclic graph, which damaged mirrors can cause.
 */
export async function countReached(
  db: Kysely<IndexSchema>,
  sees: Sees,
  nodeId: string,
  direction: 'up' | 'down',
): Promise<number> {
  const [row] = await readRows<{ reached: number }>(db, reached[direction], nodeId, sees.orgId)
  return row?.reached ?? 0
}

const reachedBy = (here: 'source' | 'target', there: 'source' | 'target') => `
  with recursive reached (id) as (
    select ?
    union
    select edge.${there} from edge
      join reached on edge.${here} = reached.id
      join node on node.id = edge.${there} and node.org_id = ?
      where edge.edge_type = 'parent_child')
  select count(*) - 1 as reached from reached`
const reached = { up: reachedBy('target', 'source'), down: reachedBy('source', 'target') }
