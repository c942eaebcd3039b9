/**
 * Queries for the levels of the tree: an organisation's roots, and a node's children. An index has each level in the
 * order of its titles' keys.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { Slice } from '../slice.ts'
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
export async function listLevel(
  db: IndexDb,
  at: LevelAt,
  { limit, offset, after }: Slice & { readonly after?: Place | undefined },
): Promise<PlacedNode[]> {
  const { from, id } = levelOf(at)
  const { rows } = await sql<PlacedNode>`
    select node.id, node.title, node.title_key
    from (select ${id} as id ${from} ${after ? sql`and (title_key, ${id}) > (${after.title_key}, ${after.id})` : sql``}
      order by title_key, ${id} limit ${sql.lit(limit)} offset ${offset}) as one
    cross join node on node.id = one.id order by node.title_key, node.id`.execute(db)
  return rows
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
  const { from, id } = levelOf(at)
  let known = 0
  let some = sql`${from} and (title_key, ${id}) <= (${place.title_key}, ${place.id})`
  const upTo = some
  while (total - known > entriesAtOnce) {
    const { rows } = await sql<Place>`
      select title_key, ${id} as id ${some}
      order by title_key, ${id} limit 1 offset ${sql.lit(entriesAtOnce - 1)}`.execute(db)
    const last = rows[0]
    if (last === undefined) break
    known += entriesAtOnce
    some = sql`${upTo} and (title_key, ${id}) > (${last.title_key}, ${last.id})`
    await nextTurn()
  }
  const { rows } = await sql<{ total: number }>`select count(*) as total ${some}`.execute(db)
  return known + Number(rows[0]?.total ?? 0)
}

/** Returns the place of a node of the level; undefined if the level lacks it. */
export async function findPlace(db: IndexDb, at: LevelAt, nodeId: string): Promise<Place | undefined> {
  const { sees, under } = at
  const { rows } = await sql<Place>`
    select id, title_key from node where id = ${nodeId} and org_id = ${sees.orgId} and ${
      under === undefined
        ? sql`is_root = 1`
        : sql`exists (select 1 from edge where holder = node.id and edge_type = 'parent_child' and key = ${under})`
    }`.execute(db)
  return rows[0]
}

/** Parents among which a path chooses: those in the details of a node. */
const firstParents = 200

/** Lists the ancestors along each first parent, from the node's parent upwards. In a cyclic graph, they repeat. */
export async function listFirstAncestors(
  db: IndexDb,
  { orgId }: Sees,
  nodeId: string,
  limit: number,
): Promise<Pick<PlacedNode, 'id' | 'title'>[]> {
  const { rows } = await sql<Pick<PlacedNode, 'id' | 'title'>>`
    with recursive above (id, depth) as (
      select ${nodeId}, 0
      union all
      select (
        select first.id from (
          select node.id, node.title_key from edge cross join node on node.id = edge.source and +node.org_id = ${orgId}
          where edge.target = above.id and edge.edge_type = 'parent_child'
          order by edge.source limit ${sql.lit(firstParents)}) as first
        order by first.title_key, first.id limit 1), depth + 1
      from above where id is not null and depth < ${sql.lit(limit)})
    select node.id, node.title from above cross join node on node.id = above.id where depth > 0 order by depth`.execute(
    db,
  )
  return rows
}

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
  const { rows } = await sql<{ id: string; total: number }>`
    select one.value as id, nodes as total from json_each(${JSON.stringify(ids)}) as one
    cross join level_count on level_count.org_id = ${sees.orgId} and level_count.parent = one.value`.execute(db)
  return new Map(rows.map(({ id, total }) => [id, Number(total)]))
}

/** The rows of a level, and the column of their ids. A child's edge is in its own organisation, and ends with it. */
function levelOf({ sees, under }: LevelAt): { readonly from: RawBuilder<unknown>; readonly id: RawBuilder<string> } {
  return under === undefined
    ? { from: sql`from node indexed by node_by_place where org_id = ${sees.orgId} and is_root = 1`, id: sql.ref('id') }
    : {
        from: sql`from edge indexed by edge_by_place
          where source = ${under} and org_id = ${sees.orgId} and edge_type = 'parent_child'`,
        id: sql.ref('target'),
      }
}
