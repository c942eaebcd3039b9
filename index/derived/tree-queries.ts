/**
 * Queries for the levels of the tree: an organisation's roots, and a node's children. An index has each level in the
 * order of its titles' keys.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Slice } from '../slice.ts'
import { readRows } from '../sqlite/statements.ts'
import type { IndexDb } from './schema.ts'
import type { Sees } from './sees.ts'

/** The children of `under`, or the nodes without a parent. */
export interface LevelAt {
  readonly sees: Sees
  readonly under: string | undefined
}

/** A place in a level: after this key and id. The level may lack that node. */
export interface Place {
  readonly title_key: string
  readonly id: string
}

export interface PlacedNode extends Place {
  readonly title: string
}

/** Lists nodes of the level in its order, from its beginning or after a place. */
export function listLevel(
  db: IndexDb,
  at: LevelAt,
  { limit, offset, after }: Slice & { readonly after?: Place | undefined },
): Promise<PlacedNode[]> {
  const { from, id, values } = levelOf(at)
  const place = after === undefined ? [] : [after.title_key, after.id]
  const text = `select node.id, node.title, node.title_key
    from (select ${id} as id ${from} ${after === undefined ? '' : `and (title_key, ${id}) > (?, ?)`}
      order by title_key, ${id} limit ${limit} offset ?) as one
    cross join node on node.id = one.id order by node.title_key, node.id`
  return readRows(db, text, ...values, ...place, offset)
}

/** Counts the nodes of the level. */
export async function countLevel(db: IndexDb, { sees, under = '' }: LevelAt): Promise<number> {
  return (await countChildren(db, sees, [under])).get(under) ?? 0
}

/** Entries of an index per statement, which takes about 1 ms. */
const entriesAtOnce = 10_000

/**
 * Counts the nodes of the level up to and including a place. Yields to the event loop between statements.
 *
 * @param total the number of nodes in the level
 */
export async function countUpTo(db: IndexDb, at: LevelAt, place: Place, total: number): Promise<number> {
  const { from, id, values } = levelOf(at)
  const some = `${from} and (title_key, ${id}) <= (?, ?) and (title_key, ${id}) > (?, ?)`
  const sliceEnd = `select title_key, ${id} as id ${some} order by title_key, ${id} limit 1 offset ${entriesAtOnce - 1}`
  let known = 0
  let after: Place = { title_key: '', id: '' }
  const bounds = () => [...values, place.title_key, place.id, after.title_key, after.id]
  while (total - known > entriesAtOnce) {
    const [last] = await readRows<Place>(db, sliceEnd, ...bounds())
    if (last === undefined) break
    known += entriesAtOnce
    after = last
    await nextTurn()
  }
  const [row] = await readRows<{ total: number }>(db, `select count(*) as total ${some}`, ...bounds())
  return known + (row?.total ?? 0)
}

/** Returns the place of a node of the level; undefined if the level lacks it. */
export async function findPlace(db: IndexDb, { sees, under }: LevelAt, nodeId: string): Promise<Place | undefined> {
  const isHere =
    under === undefined
      ? 'is_root = 1'
      : "exists (select 1 from edge where holder = node.id and edge_type = 'parent_child' and key = ?)"
  const text = `select id, title_key from node where id = ? and org_id = ? and ${isHere}`
  return (await readRows<Place>(db, text, nodeId, sees.orgId, ...(under === undefined ? [] : [under])))[0]
}

/** Parents among which a path chooses: those in the details of a node. */
const firstParents = 200

/** Lists the ancestors along each first parent, from the node's parent upwards. In a cyclic graph, they repeat. */
export function listFirstAncestors(
  db: IndexDb,
  { orgId }: Sees,
  nodeId: string,
  limit: number,
): Promise<Pick<PlacedNode, 'id' | 'title'>[]> {
  return readRows(db, firstAncestors, nodeId, orgId, limit)
}

const firstAncestors = `
  with recursive above (id, depth) as (
    select ?, 0
    union all
    select (
      select first.id from (
        select node.id, node.title_key from edge cross join node on node.id = edge.source and +node.org_id = ?
        where edge.target = above.id and edge.edge_type = 'parent_child'
        order by edge.source limit ${firstParents}) as first
      order by first.title_key, first.id limit 1), depth + 1
    from above where id is not null and depth < ?)
  select node.id, node.title from above cross join node on node.id = above.id where depth > 0 order by depth`

/** Rows per statement, which takes about 5 ms. */
const rowsAtOnce = 2_000

/** Reads the whole level in its order, in slices. Yields to the event loop between them. */
export async function* readLevel(db: IndexDb, at: LevelAt): AsyncGenerator<PlacedNode[], void> {
  for (let after: Place | undefined; ; await nextTurn()) {
    const rows = await listLevel(db, at, { limit: rowsAtOnce, offset: 0, after })
    if (rows.length > 0) yield rows
    after = rows.at(-1)
    if (rows.length < rowsAtOnce) return
  }
}

/** Maps ids to numbers of children. Omits nodes without children. */
export async function countChildren(
  db: IndexDb,
  sees: Sees,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await readRows<{ id: string; total: number }>(db, childCounts, JSON.stringify(ids), sees.orgId)
  return new Map(rows.map(({ id, total }) => [id, total]))
}

const childCounts = `select one.value as id, nodes as total from json_each(?) as one
  cross join level_count on level_count.org_id = ? and level_count.parent = one.value`

/**
 * The rows of a level with their parameters, and the column of their ids. A child's edge is in its own organisation, and
 * ends with it.
 */
function levelOf({ sees, under }: LevelAt) {
  return under === undefined
    ? { id: 'id', from: 'from node indexed by node_by_place where org_id = ? and is_root = 1', values: [sees.orgId] }
    : { id: 'target', from: childEdges, values: [under, sees.orgId] }
}

const childEdges = "from edge indexed by edge_by_place where source = ? and org_id = ? and edge_type = 'parent_child'"
