/** Queries for nodes. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Selectable, sql } from 'kysely'
import { type Slice, totalOf, totalWith } from '../slice.ts'
import { compileOnce } from '../sqlite/compiled.ts'
import { readRows } from '../sqlite/statements.ts'
import type { StateNode } from './branches.ts'
import { entriesLedger } from './entries-ledger.ts'
import { isInOrg } from './in-org.ts'
import type { EdgeTable, IndexDb, NodeTable } from './schema.ts'
import type { Sees } from './sees.ts'
import { typeTextSql } from './type-text.ts'

export interface NodeRow extends Selectable<NodeTable> {
  /** The change set of a node that is only proposed, or an empty text. Null or absent for a node that is there. */
  readonly proposed_in?: string | null
}

/** True for the row of a node that is only proposed. */
export function isProposed(row: Pick<NodeRow, 'proposed_in'> | undefined): boolean {
  return typeof row?.proposed_in === 'string'
}

export async function findNode(db: IndexDb, sees: Sees, nodeId: string): Promise<NodeRow | undefined> {
  return (await nodeInOrg(db, nodeId, sees.orgId))[0]
}

const nodeInOrg = compileOnce(2, (db: IndexDb, nodeId: string, orgId: string) =>
  db.selectFrom('node').selectAll().where('id', '=', nodeId).where('org_id', '=', orgId),
)

/** Maps ids to titles. Omits ids that belong to no node of the organisation. */
export async function readTitles(db: IndexDb, sees: Sees, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('node')
    .select(['id', 'title'])
    .where('id', 'in', ids)
    .where(isInOrg('org_id', sees.orgId))
    .execute()
  return new Map(rows.map(({ id, title }) => [id, title]))
}

/** Maps ids of nodes to their property `type`. Null if it is not a text. Omits ids without a node. */
export async function readTypeTexts(
  db: IndexDb,
  orgId: string,
  ids: readonly string[],
): Promise<Map<string, string | null>> {
  const texts = new Map<string, string | null>()
  for (let at = 0; at < ids.length; at += rowsAtOnce) {
    const some = ids.slice(at, at + rowsAtOnce)
    const rows = await db
      .selectFrom('node')
      .select(['id', sql<string | null>`${sql.raw(typeTextSql)}`.as('type')])
      .where('id', 'in', some)
      .where(isInOrg('org_id', orgId))
      .execute()
    for (const { id, type } of rows) texts.set(id, type)
  }
  return texts
}

/** Lists the parents of a node, and the connections that it holds. */
export async function readHeldEdges(db: IndexDb, nodeId: string) {
  const rows = await db
    .selectFrom('edge')
    .select(['edge_type', 'key', 'target', 'connection_type'])
    .where('holder', '=', nodeId)
    .execute()
  const isParent = ({ edge_type }: { edge_type: EdgeTable['edge_type'] }) => edge_type === 'parent_child'
  return {
    parents: rows.filter(isParent).map(({ key }) => ({ id: key })),
    connections: rows
      .filter((row) => !isParent(row))
      .map(({ key, target, connection_type }) => ({ id: key, target, type: connection_type })),
  }
}

/** Maps the ids of nodes, proposed or not, to their organisations. Omits nodes without a row. */
export async function readOrgsOf(db: IndexDb, nodeIds: readonly string[]): Promise<Map<string, string>> {
  const orgs = new Map<string, string>()
  for (let at = 0; at < nodeIds.length; at += rowsAtOnce) {
    const some = nodeIds.slice(at, at + rowsAtOnce)
    const rows = await db.selectFrom('any_node').select(['id', 'org_id']).where('id', 'in', some).execute()
    for (const { id, org_id } of rows) orgs.set(id, org_id)
  }
  return orgs
}

/** Returns the ids that no node has. They may be those of proposed nodes. */
export async function listMissing(db: IndexDb, nodeIds: readonly string[]): Promise<string[]> {
  const missing = new Set(nodeIds)
  for (let at = 0; at < nodeIds.length; at += rowsAtOnce) {
    const some = nodeIds.slice(at, at + rowsAtOnce)
    for (const { id } of await db.selectFrom('node').select('id').where('id', 'in', some).execute()) missing.delete(id)
  }
  return [...missing]
}

/** Rows per statement. */
const rowsAtOnce = 500

/** Returns the version of the rows of a node, proposed or not. */
export function findNodeVersion(
  db: IndexDb,
  nodeId: string,
): Promise<Pick<NodeRow, 'version' | 'changed'> | undefined> {
  return db.selectFrom('any_node').select(['version', 'changed']).where('id', '=', nodeId).executeTakeFirst()
}

/** Returns the ledger commit that the rows were read from, or undefined without a row. */
export async function findIndexedLedger(db: IndexDb, nodeId: string): Promise<string | undefined> {
  return (await db.selectFrom('any_node').select('ledger').where('id', '=', nodeId).executeTakeFirst())?.ledger
}

/** Returns the ledger commit that all rows of entries were read from. Null or undefined if there is none. */
export async function findEntriesLedger(db: IndexDb, nodeId: string): Promise<string | null | undefined> {
  const row = await db.selectFrom('any_node').select('entries_ledger').where('id', '=', nodeId).executeTakeFirst()
  return row && entriesLedger(row)
}

/** Lists versions and ledger commits of nodes, proposed or not, which identify their state. */
export function listNodeStates(db: IndexDb, nodeIds: readonly string[]) {
  return db
    .selectFrom('any_node as node')
    .innerJoin('org', 'org.id', 'node.org_id')
    .select([
      'node.id',
      'node.org_id',
      'node.ledger',
      'node.entries_ledger',
      'node.version',
      'node.changed',
      'org.epoch',
    ])
    .where('node.id', 'in', nodeIds)
    .execute()
}

/**
 * Yields node ids, oldest first, with a turn of the event loop after each thousand. A node that is created or moved
 * during the walk may be missing.
 */
export async function* eachNodeId(db: IndexDb, orgId: string): AsyncGenerator<string> {
  for (let last: Pick<NodeRow, 'id' | 'created_at'> | undefined = { created_at: '', id: '' }; last !== undefined; ) {
    const rows: Pick<NodeRow, 'id' | 'created_at'>[] = await db
      .selectFrom('node')
      .select(['id', 'created_at'])
      .where('org_id', '=', orgId)
      .where(sql<boolean>`(created_at, id) > (${last.created_at}, ${last.id})`)
      .orderBy('created_at')
      .orderBy('id')
      .limit(idsPerTurn)
      .execute()
    for (const { id } of rows) yield id
    last = rows.length < idsPerTurn ? undefined : rows.at(-1)
    await nextTurn()
  }
}

const idsPerTurn = 1_000

/** Lists nodes updated after `time`, by time and id. Starts after `last` if it is given. */
export function listNodesUpdatedAfter(
  db: IndexDb,
  orgId: string,
  time: string,
  last: Pick<NodeRow, 'id' | 'updated_at'> | undefined,
  limit: number,
): Promise<(StateNode & Pick<NodeRow, 'updated_at'>)[]> {
  const from = last ?? { updated_at: time, id: beyondIds }
  return db
    .selectFrom('node')
    .select(['id', 'head', 'ledger', 'created_at', 'updated_at'])
    .where('org_id', '=', orgId)
    .where(sql<boolean>`(updated_at, id) > (${from.updated_at}, ${from.id})`)
    .orderBy('updated_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

type ChangePlace = Pick<NodeRow, 'id' | 'updated_at'>

/** A part of the list of nodes by change. Both ends are exclusive; undefined: all. */
interface ChangeRange {
  readonly before: ChangePlace | undefined
  readonly after: ChangePlace | undefined
}

/** Lists nodes, last changed first, then by id downwards. */
export function listNodesByChange(
  db: IndexDb,
  sees: Sees,
  range: ChangeRange,
  limit: number,
): Promise<Pick<NodeRow, 'id' | 'title' | 'created_at' | 'updated_at' | 'head'>[]> {
  const { from, values } = nodesInRange(sees, range)
  const text = `select id, title, created_at, updated_at, head ${from} order by updated_at desc, id desc limit ${limit}`
  return readRows(db, text, ...values)
}

/** Counts the nodes of that list, up to `most`. */
export async function countNodesByChange(db: IndexDb, sees: Sees, range: ChangeRange, most: number): Promise<number> {
  const { from, values } = nodesInRange(sees, range)
  const text = `select count(*) as total from (select 1 ${from} limit ${most})`
  return (await readRows<{ total: number }>(db, text, ...values))[0]?.total ?? 0
}

function nodesInRange({ orgId }: Sees, { before, after }: ChangeRange) {
  const isBefore = before ? 'and (updated_at, id) < (?, ?)' : ''
  const isAfter = after ? 'and (updated_at, id) > (?, ?)' : ''
  const places = [before, after].flatMap((place) => (place ? [place.updated_at, place.id] : []))
  return { from: `from node where org_id = ? ${isBefore} ${isAfter}`, values: [orgId, ...places] }
}

/** A string that sorts after all ids. */
const beyondIds = '\uffff'

/** Lists the properties of all nodes as JSON, oldest node first. */
export function listNodeProperties(db: IndexDb, orgId: string) {
  return db
    .selectFrom('node')
    .select(['id', 'title', 'properties'])
    .where('org_id', '=', orgId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** Maps node ids to head and tree of main. */
export async function readMainTrees(
  db: IndexDb,
  orgId: string,
): Promise<Map<string, Pick<NodeRow, 'head' | 'tree' | 'title'>>> {
  const rows = await db.selectFrom('node').select(['id', 'head', 'tree', 'title']).where('org_id', '=', orgId).execute()
  return new Map(rows.map(({ id, ...row }) => [id, row]))
}

/** Lists the content of these nodes on main. `tags` and `properties` are JSON, `text` may be empty. */
export function listNodeContents(db: IndexDb, ids: readonly string[]) {
  return db
    .selectFrom('node')
    .leftJoin('node_text', 'node_text.node_id', 'node.id')
    .select(['node.id', 'node.tags', 'node.properties', (eb) => eb.fn.coalesce('text', sql<string>`''`).as('text')])
    .where('node.id', 'in', ids)
    .execute()
}

interface NodeFilter {
  readonly tag?: string
  readonly parent_id?: string
  /** The default is `created`. */
  readonly order?: 'created' | 'changed'
  /** The last node of the page before. `time` is the one that `order` sorts by. */
  readonly after?: { readonly time: string; readonly id: string } | undefined
}

/**
 * Lists nodes, oldest or last changed first, and one more than `limit`. `properties` is JSON, or null if it is longer
 * than `propertiesBytes`.
 */
export async function listNodeRows(
  db: IndexDb,
  sees: Sees,
  { tag, parent_id, order = 'created', after, limit, offset }: NodeFilter & Slice,
  propertiesBytes: number,
) {
  // Finds children by their edges. Finds tagged nodes among those of the organisation: other organisations may use the
  // tag.
  const isHere = parent_id === undefined ? sql<boolean>`org_id = ${sees.orgId}` : isInOrg('org_id', sees.orgId)
  let all = db.selectFrom('node').where(isHere)
  if (tag !== undefined) {
    const tagged = db.selectFrom('node_tag').select('node_id').where('tag', '=', tag)
    all = all.where(sql`+id`, 'in', tagged)
  }
  if (parent_id !== undefined) {
    const children = db
      .selectFrom('edge')
      .innerJoin('node as parent', 'parent.id', 'edge.source')
      .select('edge.target')
      .where('parent.id', '=', parent_id)
      .where('edge_type', '=', 'parent_child')
    all = all.where('id', 'in', children)
  }
  const short = sql<string | null>`case when octet_length(properties) <= ${propertiesBytes} then properties end`
  const [column, way, beyond] =
    order === 'created' ? (['created_at', 'asc', '>'] as const) : (['updated_at', 'desc', '<'] as const)
  const rows = await all
    .$if(after !== undefined, (some) =>
      some.where((eb) => eb(eb.refTuple(column, 'id'), beyond, eb.tuple(after?.time ?? '', after?.id ?? ''))),
    )
    .select(['id', 'org_id', 'title', 'tags', 'created_at', 'updated_at', 'head'])
    .select(short.as('properties'))
    .orderBy(column, way)
    .orderBy('id', way)
    .limit(limit + 1)
    .offset(offset)
    .execute()
  const isAll = tag === undefined && parent_id === undefined
  const count = () => (isAll ? countNodes(db, sees) : totalOf(all))
  return { rows, total: await (after === undefined ? totalWith(rows, { limit: limit + 1, offset }, count) : count()) }
}

/** Counts the nodes of an organisation from one row. Counting the rows of a million nodes takes 40 ms. */
async function countNodes(db: IndexDb, sees: Sees): Promise<number> {
  const [row] = await readRows<{ total: number }>(db, nodesInUse, sees.orgId, sees.orgId)
  return row?.total ?? 0
}

const nodesInUse = `
  select nodes - (select count(*) from proposed_node where org_id = ?) as total from org_usage where org_id = ?`

/** Lists the titles of nodes, oldest first, and the total. */
export async function listNodeTitles(db: IndexDb, sees: Sees, { limit, offset }: Slice) {
  const all = db.selectFrom('node').where('org_id', '=', sees.orgId)
  const rows = await all
    .select(['id', 'title'])
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
  return { rows, total: await countNodes(db, sees) }
}

export type NodePlace = Pick<NodeRow, 'created_at' | 'id'>

/** Lists nodes, oldest first, starting after `last`. */
export function listNodesAfter(db: IndexDb, sees: Sees, last: NodePlace, limit: number): Promise<NodePlace[]> {
  return db
    .selectFrom('node')
    .select(['created_at', 'id'])
    .where('org_id', '=', sees.orgId)
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '>', eb.tuple(last.created_at, last.id)))
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Returns the node's text, or an empty string if it has none. */
export async function readNodeText(db: IndexDb, nodeId: string): Promise<string> {
  return (await textOfNode(db, nodeId))[0]?.text ?? ''
}

const textOfNode = compileOnce(1, (db: IndexDb, nodeId: string) =>
  db.selectFrom('node_text').select('text').where('node_id', '=', nodeId),
)
