/** Rows of nodes that are only proposed. No query on `node` reads them, so that nothing shows them unasked. */
import type { Selectable, Transaction } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import type { NodeRow } from './node-queries.ts'
import { ledgersOf, type MainFields, mainColumns, type NodeRowChange, nextChange, valuesOf } from './node-row.ts'
import type { IndexDb, IndexSchema, ProposedNodeTable } from './schema.ts'

/** The columns that follow from the branch of the proposal. */
const columns = [
  'proposed_in',
  'title',
  'description',
  'tags',
  'properties',
  'created_at',
  'updated_at',
  'head',
] as const

export type ProposedFields = Pick<Selectable<ProposedNodeTable>, (typeof columns)[number]>

type Change = Omit<NodeRowChange, 'main'>
type Changed = Pick<ProposedNodeTable, 'changed'>

const insertRow = `
  insert into proposed_node (id, org_id, ledger, entries_ledger, bytes, version, changed, ${columns.join(', ')})
  values (?, ?, ?, ?, ?, 1, random() >> 12, ${columns.map(() => '?').join(', ')}) returning changed`
const updateRow = `
  update proposed_node set version = version + 1, ledger = ?, entries_ledger = ?, bytes = bytes + ?,
    ${columns.map((column) => `${column} = ?`).join(', ')} where id = ? and version = ? returning changed`
const insertMain = `
  insert into node (id, org_id, ledger, entries_ledger, bytes, version, changed, ${mainColumns.join(', ')})
  select id, org_id, ?, ?, bytes + ?, version + 1, ${nextChange}, ${mainColumns.map(() => '?').join(', ')}
  from proposed_node where id = ? and version = ? returning changed`
const deleteRow = 'delete from proposed_node where id = ?'

/** Writes the row, and returns its `changed`. Writes nothing and returns undefined if it has another version. */
export async function writeProposedRow(
  trx: Transaction<IndexSchema>,
  version: number | undefined,
  { orgId, nodeId, bytes, ...ledgers }: Change,
  fields: ProposedFields,
): Promise<number | undefined> {
  const moved = [...ledgersOf(ledgers), bytes]
  const values = columns.map((column) => fields[column])
  const [row] =
    version === undefined
      ? await readRows<Changed>(trx, insertRow, nodeId, orgId, ...moved, ...values)
      : await readRows<Changed>(trx, updateRow, ...moved, ...values, nodeId, version)
  return row?.changed
}

/** Moves the row of a node that has come into being. Returns its new `changed`, or undefined as writeProposedRow. */
export async function publishProposedRow(
  trx: Transaction<IndexSchema>,
  version: number,
  { orgId, nodeId, bytes, ...ledgers }: Change,
  main: MainFields,
): Promise<number | undefined> {
  const moved = [...ledgersOf(ledgers), bytes]
  const [row] = await readRows<Changed>(trx, insertMain, ...moved, orgId, ...valuesOf(main), nodeId, version)
  if (row !== undefined) await changeRows(trx, deleteRow, nodeId)
  return row?.changed
}

/** Returns the row of a proposed node of this organisation. It has the form of other rows. */
export function findProposedNode(db: IndexDb, orgId: string, nodeId: string): Promise<NodeRow | undefined> {
  return db
    .selectFrom('any_node')
    .selectAll()
    .where('id', '=', nodeId)
    .where('org_id', '=', orgId)
    .where('proposed_in', 'is not', null)
    .executeTakeFirst()
}

/** Maps the ids of proposed nodes of this change set to their titles. */
export async function readProposedTitles(db: IndexDb, orgId: string, changeSet: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('proposed_node')
    .select(['id', 'title'])
    .where('org_id', '=', orgId)
    .where('proposed_in', '=', changeSet)
    .execute()
  return new Map(rows.map(({ id, title }) => [id, title]))
}

/** Returns the head of the branch that proposes the node. Undefined without a commit. */
export async function findProposedHead(db: IndexDb, nodeId: string): Promise<string | undefined> {
  const row = await db.selectFrom('proposed_node').select('head').where('id', '=', nodeId).executeTakeFirst()
  return row?.head ?? undefined
}

/** Lists the proposed nodes of an organisation by id. */
export function listProposed(db: IndexDb, orgId: string): Promise<Pick<NodeRow, 'id' | 'title'>[]> {
  return db.selectFrom('proposed_node').select(['id', 'title']).where('org_id', '=', orgId).orderBy('id').execute()
}
