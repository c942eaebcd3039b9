/** Queries for the tree of an organisation: roots, children, and numbers of children. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { isInOrg } from './in-org.ts'
import type { IndexSchema } from './schema.ts'

export interface TreeNode {
  readonly id: string
  readonly title: string
}

/** Rows per statement, which takes about 5 ms. */
const rowsAtOnce = 2_000

/** Lists the organisation's nodes without a parent in it, unordered. */
export async function listRoots(db: Kysely<IndexSchema>, orgId: string): Promise<TreeNode[]> {
  return inSlices<TreeNode & { created_at: string }>({ id: '', title: '', created_at: '' }, async (last) => {
    const { rows } = await sql<TreeNode & { created_at: string; is_root: number }>`
      select id, title, created_at, not exists (
        select 1 from edge join node as parent on parent.id = edge.source and parent.org_id = ${orgId}
        where edge.target = node.id and edge.edge_type = 'parent_child') as is_root
      from node where org_id = ${orgId} and (created_at, id) > (${last.created_at}, ${last.id})
      order by created_at, id limit ${rowsAtOnce}`.execute(db)
    return { rows: rows.filter(({ is_root }) => is_root === 1), last: rows.at(-1) }
  })
}

/** Lists the children of a node, unordered. */
export async function listChildren(db: Kysely<IndexSchema>, orgId: string, parentId: string): Promise<TreeNode[]> {
  return inSlices<TreeNode>({ id: '', title: '' }, async (last) => {
    const { rows } = await sql<TreeNode>`
      select node.id, node.title from edge join node on node.id = edge.target and node.org_id = ${orgId}
      where edge.source = ${parentId} and edge.edge_type = 'parent_child' and edge.target > ${last.id}
      order by edge.target limit ${rowsAtOnce}`.execute(db)
    return { rows, last: rows.at(-1) }
  })
}

/** Maps ids to numbers of children. Omits nodes without children. */
export async function countChildren(
  db: Kysely<IndexSchema>,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('edge')
    .innerJoin('node', 'node.id', 'edge.target')
    .select(['edge.source', sql<number>`count(*)`.as('total')])
    .where('edge.source', 'in', ids)
    .where('edge_type', '=', 'parent_child')
    .where(isInOrg('node.org_id', orgId))
    .groupBy('edge.source')
    .execute()
  return new Map(rows.map(({ source, total }) => [source, Number(total)]))
}

/** Reads slices after the last row until one is empty. Yields to the event loop between slices. */
async function inSlices<Row extends TreeNode>(
  first: Row,
  read: (last: Row) => Promise<{ rows: readonly Row[]; last: Row | undefined }>,
): Promise<TreeNode[]> {
  const all: TreeNode[] = []
  for (let last: Row | undefined = first; last; await nextTurn()) {
    const slice: Awaited<ReturnType<typeof read>> = await read(last)
    for (const { id, title } of slice.rows) all.push({ id, title })
    last = slice.last
  }
  return all
}
