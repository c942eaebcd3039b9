/** Queries on a node's neighbours: parents, children, connections and exact counts. */
import { type Kysely, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { Slice } from '../slice.ts'
import { compileOnce } from '../sqlite/compiled.ts'
import { isInOrg } from './in-org.ts'
import type { EdgeTable, IndexSchema } from './schema.ts'

export interface NodeConnection {
  readonly id: string
  /** The node whose repository holds it. */
  readonly node_id: string
  readonly source: string
  readonly target: string
  readonly source_title: string
  /** Empty where the node is deleted. */
  readonly target_title: string
  readonly type: string
  readonly label: string
}

/** The most parents, children and connections in the details of a node, of each kind. */
const maxNeighbours = 200

/** Edges whose other end is deleted are hidden. */
export async function readNeighbours(db: Kysely<IndexSchema>, orgId: string, nodeId: string) {
  const [parents, children, connections, counts] = await Promise.all([
    firstParents(db, orgId, nodeId),
    firstChildren(db, orgId, nodeId),
    firstConnections(db, orgId, nodeId),
    countsOf(db, orgId, nodeId),
  ])
  return { parents, children, connections: connections.map(toConnection), ...counts }
}

/** The connections that the node holds and those that lead to it: by holder, then by id. */
export async function readConnections(
  db: Kysely<IndexSchema>,
  orgId: string,
  nodeId: string,
  slice: Slice,
): Promise<NodeConnection[]> {
  return (await slicedConnections(db, orgId, nodeId, slice).execute()).map(toConnection)
}

/** The edges that the node's own files have, without the titles of their other ends. The counts are those of all. */
export async function readOwnEdges(db: Kysely<IndexSchema>, orgId: string, nodeId: string) {
  const [parents, { connections }, counts] = await Promise.all([
    firstParents(db, orgId, nodeId),
    readOwnConnections(db, orgId, nodeId, { limit: maxNeighbours, offset: 0 }),
    countsOf(db, orgId, nodeId),
  ])
  const untitled = parents.map((parent) => ({ ...parent, title: '' })).sort((a, b) => (a.id < b.id ? -1 : 1))
  return { parents: untitled, children: [], connections, ...counts }
}

/** The connections that the node holds, without the titles of their targets; by id. */
export async function readOwnConnections(db: Kysely<IndexSchema>, orgId: string, nodeId: string, slice: Slice) {
  const own = connectionsOf(db, orgId, nodeId).where('edge.holder', '=', nodeId)
  const [rows, { total }] = await Promise.all([
    slicedConnections(db, orgId, nodeId, slice).where('edge.holder', '=', nodeId).execute(),
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
  slicedConnections(db, orgId, nodeId, { limit: maxNeighbours, offset: 0 }),
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

const firstParents = compileOnce(2, (db: Kysely<IndexSchema>, orgId: string, nodeId: string) =>
  firstRelatives(db, orgId, nodeId, 'target', 'source'),
)

const firstChildren = compileOnce(2, (db: Kysely<IndexSchema>, orgId: string, nodeId: string) =>
  firstRelatives(db, orgId, nodeId, 'source', 'target'),
)

/** The first ones by id, ordered by title. */
function firstRelatives(db: Kysely<IndexSchema>, orgId: string, nodeId: string, here: End, there: End) {
  const first = relativesOf(db, orgId, nodeId, here, there)
    .select(['node.id', 'node.title', 'edge.label'])
    .orderBy('node.id')
    .limit(maxNeighbours)
  return db.selectFrom(first.as('first')).selectAll().orderBy('title').orderBy('id')
}

type End = 'source' | 'target'

function relativesOf(db: Kysely<IndexSchema>, orgId: string, nodeId: string, here: End, there: End) {
  return db
    .selectFrom('edge')
    .innerJoin('node', 'node.id', `edge.${there}`)
    .where(`edge.${here}`, '=', nodeId)
    .where('edge_type', '=', 'parent_child')
    .where(isInOrg('node.org_id', orgId))
}

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

interface NeighbourCounts {
  readonly num_parents: number
  readonly num_children: number
  readonly num_ancestors: number
  readonly num_descendants: number
  readonly num_connections: number
}

const countAll = sql<number>`count(*)`.as('total')

/** By node and version of the graph: a hub has as many as the organisation has nodes. */
const known = new LRUCache<string, NeighbourCounts>({ max: 10_000 })

/** Distinct nodes that are there, ancestors and descendants over `main` alone. Remembered for a version of the graph. */
export async function countsOf(db: Kysely<IndexSchema>, orgId: string, nodeId: string): Promise<NeighbourCounts> {
  // Read now: the caller's row may be older than the node's latest rows.
  const [graph] = await graphState(db, orgId)
  const { epoch, graph_version } = graph ?? {}
  const key = `${epoch} ${graph_version} ${nodeId}`
  const counts = known.get(key) ?? (await count(db, orgId, nodeId))
  if (epoch !== undefined) known.set(key, counts)
  return counts
}

const graphState = compileOnce(1, (db: Kysely<IndexSchema>, orgId: string) =>
  db.selectFrom('org').select(['epoch', 'graph_version']).where('id', '=', orgId),
)

async function count(db: Kysely<IndexSchema>, orgId: string, nodeId: string): Promise<NeighbourCounts> {
  const [parents, children, connections] = await Promise.all([
    relativesOf(db, orgId, nodeId, 'target', 'source').select(countAll).executeTakeFirstOrThrow(),
    relativesOf(db, orgId, nodeId, 'source', 'target').select(countAll).executeTakeFirstOrThrow(),
    connectionsOf(db, orgId, nodeId).select(countAll).executeTakeFirstOrThrow(),
  ])
  return {
    num_parents: Number(parents.total),
    num_children: Number(children.total),
    num_ancestors: await countReached(db, orgId, nodeId, 'up'),
    num_descendants: await countReached(db, orgId, nodeId, 'down'),
    num_connections: Number(connections.total),
  }
}

/** Distinct nodes above or below; `union` ends the walk also in a cyclic graph, which damaged mirrors can cause. */
async function countReached(
  db: Kysely<IndexSchema>,
  orgId: string,
  nodeId: string,
  direction: 'up' | 'down',
): Promise<number> {
  const [here, there] = direction === 'up' ? (['target', 'source'] as const) : (['source', 'target'] as const)
  const { rows } = await sql<{ reached: number }>`
    with recursive reached (id) as (
      select ${nodeId}
      union
      select edge.${sql.ref(there)} from edge
        join reached on edge.${sql.ref(here)} = reached.id
        join node on node.id = edge.${sql.ref(there)} and node.org_id = ${orgId}
        where edge.edge_type = 'parent_child')
    select count(*) - 1 as reached from reached`.execute(db)
  return Number(rows[0]?.reached ?? 0)
}
