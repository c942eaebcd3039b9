/** Bytes of nodes, of deleted nodes, and of organisations. Triggers keep the sums. */
import type { Transaction } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import type { IndexDb, IndexSchema } from './schema.ts'
import { inSlices } from './slices.ts'

export interface Usage {
  readonly nodes: number
  /** Also of deleted nodes. */
  readonly bytes: number
}

/** Reads what an organisation uses, from one row. */
export async function readUsage(db: IndexDb, orgId: string): Promise<Usage> {
  const [row] = await readRows<Usage>(db, 'select nodes, bytes from org_usage where org_id = ?', orgId)
  return row ?? { nodes: 0, bytes: 0 }
}

/** Returns the bytes that each of some organisations uses. */
export async function listUsedBytes(db: IndexDb, orgIds: readonly string[]): Promise<Map<string, number>> {
  if (orgIds.length === 0) return new Map()
  const rows = await db.selectFrom('org_usage').select(['org_id', 'bytes']).where('org_id', 'in', orgIds).execute()
  return new Map(rows.map(({ org_id, bytes }) => [org_id, bytes]))
}

/** Adds bytes that were written to a node. Bytes that are not measured yet stay so. */
export async function addBytes(trx: Transaction<IndexSchema>, nodeId: string, bytes: number): Promise<void> {
  const isThere = (await changeRows(trx, addToNode, bytes, nodeId)) > 0
  if (!isThere) await changeRows(trx, addToProposed, bytes, nodeId)
}

const addToNode = 'update node set bytes = bytes + ? where id = ?'
const addToProposed = 'update proposed_node set bytes = bytes + ? where id = ?'

/** Returns the bytes of a node. Null: they are not measured yet. Undefined: it has no row. */
export async function findBytes(db: IndexDb, nodeId: string): Promise<number | null | undefined> {
  return (await db.selectFrom('any_node').select('bytes').where('id', '=', nodeId).executeTakeFirst())?.bytes
}

/** Sets the measured bytes of a node. Returns false if others were added since `before` was read. */
export async function replaceBytes(
  trx: Transaction<IndexSchema>,
  nodeId: string,
  before: number | null,
  bytes: number,
): Promise<boolean> {
  const replace = (table: string) => `update ${table} set bytes = ? where id = ? and bytes is ?`
  if ((await changeRows(trx, replace('node'), bytes, nodeId, before)) > 0) return true
  return (await changeRows(trx, replace('proposed_node'), bytes, nodeId, before)) > 0
}

/** Lists the nodes in the trash of an organisation that have a row. */
export async function listTrashBytes(db: IndexDb, orgId: string): Promise<string[]> {
  const rows = await db.selectFrom('trash_usage').select('node_id').where('org_id', '=', orgId).execute()
  return rows.map(({ node_id }) => node_id)
}

/** Replaces the rows of nodes in the trash. Nodes without bytes have no row. */
export async function replaceTrashBytes(
  trx: Transaction<IndexSchema>,
  orgId: string,
  bytesOf: ReadonlyMap<string, number>,
): Promise<void> {
  await inSlices([...bytesOf], async (some) => {
    const ids = some.map(([id]) => id)
    await trx.deleteFrom('trash_usage').where('org_id', '=', orgId).where('node_id', 'in', ids).execute()
    const rows = some.flatMap(([node_id, bytes]) => (bytes > 0 ? [{ org_id: orgId, node_id, bytes }] : []))
    if (rows.length > 0) await trx.insertInto('trash_usage').values(rows).execute()
  })
}
