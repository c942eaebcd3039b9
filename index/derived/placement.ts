/**
 * Keeps `node.is_root`: which nodes have no parent in their organisation. Edges to deleted nodes keep their rows, so a
 * node that is created or deleted changes its children's value.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql, type Transaction } from 'kysely'
import type { Database } from '../sqlite/database.ts'
import { changeRows, readRows } from '../sqlite/statements.ts'
import type { IndexDb, IndexSchema } from './schema.ts'

/** Children per transaction, which takes about 5 ms. */
const childrenAtOnce = 500

const settle = `
  update node set is_root = not is_root
  where id in (select value from json_each(?)) and is_root <> not exists (
    select 1 from edge join node as parent on parent.id = edge.source and parent.org_id = node.org_id
    where edge.target = node.id and edge.edge_type = 'parent_child')`

/** Sets `is_root` of these nodes, after their edges are written. */
export async function settleNodes(trx: Transaction<IndexSchema>, nodeIds: readonly string[]): Promise<void> {
  await changeRows(trx, settle, JSON.stringify(nodeIds))
}

/**
 * Sets `is_root` of the children of created or deleted nodes. If they are more than one transaction settles, leaves them
 * to settleOrg.
 */
export async function settleChildren(
  trx: Transaction<IndexSchema>,
  orgId: string,
  parents: readonly string[],
): Promise<void> {
  const children = await readRows<{ id: string }>(trx, childrenOf, JSON.stringify(parents), orgId)
  if (children.length > childrenAtOnce) await changeRows(trx, keepUnsettled, orgId, JSON.stringify(parents), orgId)
  else if (children.length > 0)
    await settleNodes(
      trx,
      children.map(({ id }) => id),
    )
}

const childrenOf = `
  select target as id from edge indexed by edge_by_place
  where source in (select value from json_each(?)) and org_id = ? and edge_type = 'parent_child'
  limit ${childrenAtOnce + 1}`
const keepUnsettled = `
  insert into unsettled_parent (org_id, parent, after_key, after_id)
    select ?, value, '', '' from json_each(?) as one where exists (
      select 1 from edge indexed by edge_by_place
      where source = one.value and org_id = ? and edge_type = 'parent_child')
    on conflict (org_id, parent) do update set after_key = '', after_id = ''`

/** Sets `is_root` where it is still to be set. Each slice is a transaction. */
export async function settleOrg(index: Database<IndexSchema>, orgId: string): Promise<void> {
  while (await hasUnsettled(index.read, orgId)) {
    await index.write((trx) => settleSlice(trx, orgId))
    await nextTurn()
  }
}

async function hasUnsettled(db: IndexDb, orgId: string): Promise<boolean> {
  return (await readRows(db, 'select 1 from unsettled_parent where org_id = ? limit 1', orgId)).length > 0
}

/** Settles the next children of one node. */
async function settleSlice(trx: Transaction<IndexSchema>, orgId: string): Promise<void> {
  const unsettled = trx.selectFrom('unsettled_parent').selectAll().where('org_id', '=', orgId)
  const row = await unsettled.limit(1).executeTakeFirst()
  if (row === undefined) return
  const { parent, after_key, after_id } = row
  const { rows } = await sql<{ id: string; title_key: string }>`
    select target as id, title_key from edge indexed by edge_by_place
    where source = ${parent} and org_id = ${orgId} and edge_type = 'parent_child'
      and (title_key, target) > (${after_key}, ${after_id})
    order by title_key, target limit ${sql.lit(childrenAtOnce)}`.execute(trx)
  const ids = rows.map(({ id }) => id)
  await settleNodes(trx, ids)
  const last = rows.at(-1)
  if (last === undefined || rows.length < childrenAtOnce)
    await trx.deleteFrom('unsettled_parent').where('org_id', '=', orgId).where('parent', '=', parent).execute()
  else
    await trx
      .updateTable('unsettled_parent')
      .set({ after_key: last.title_key, after_id: last.id })
      .where('org_id', '=', orgId)
      .where('parent', '=', parent)
      .execute()
}
