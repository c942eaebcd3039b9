/** Writes the row of one node. Its `changed` is the version that `countUp` gives the organisation in the same transaction. */
import type { Selectable, Transaction } from 'kysely'
import { readRows } from '../sqlite/statements.ts'
import { unfinished } from './entries-ledger.ts'
import type { IndexSchema, NodeTable } from './schema.ts'

/** The columns that follow from the content of main. */
export const mainColumns = [
  'title',
  'title_key',
  'description',
  'tags',
  'properties',
  'created_at',
  'updated_at',
  'head',
  'tree',
] as const

export type MainFields = Pick<Selectable<NodeTable>, (typeof mainColumns)[number]>

export interface NodeRowChange {
  readonly orgId: string
  readonly nodeId: string
  readonly ledger: string
  /** True if the rows of entries follow this ledger too. */
  readonly hasEntries: boolean
  /** Bytes to add to the row. */
  readonly bytes: number
  /** Undefined if main did not move. */
  readonly main: MainFields | undefined
}

export const nextChange = '(select org.version + 1 from org where org.id = ?)'
const moveRow = 'version = version + 1, ledger = ?, entries_ledger = ?, bytes = bytes + ?'
const setMain = mainColumns.map((column) => `${column} = ?`).join(', ')
const updateNode = `update node set ${moveRow} where id = ? and version = ? returning changed`
const updateMain = `
  update node set ${moveRow}, changed = ${nextChange}, ${setMain} where id = ? and version = ? returning changed`
const insertMain = `
  insert into node (id, org_id, ledger, entries_ledger, bytes, version, changed, ${mainColumns.join(', ')})
  values (?, ?, ?, ?, ?, 1, ${nextChange}, ${mainColumns.map(() => '?').join(', ')}) returning changed`

/** Updates the row of this version. Returns its `changed`, or undefined if the row has another version. */
export async function updateNodeRow(
  trx: Transaction<IndexSchema>,
  version: number,
  { orgId, nodeId, bytes, main, ...ledgers }: NodeRowChange,
): Promise<number | undefined> {
  const moved = [...ledgersOf(ledgers), bytes]
  const [row] = main
    ? await readRows<Changed>(trx, updateMain, ...moved, orgId, ...valuesOf(main), nodeId, version)
    : await readRows<Changed>(trx, updateNode, ...moved, nodeId, version)
  return row?.changed
}

/** Inserts the row of a node, and returns its `changed`. */
export async function insertNodeRow(
  trx: Transaction<IndexSchema>,
  { orgId, nodeId, bytes, main, ...ledgers }: NodeRowChange & { readonly main: MainFields },
): Promise<number | undefined> {
  const fixed = [nodeId, orgId, ...ledgersOf(ledgers), bytes, orgId]
  const [row] = await readRows<Changed>(trx, insertMain, ...fixed, ...valuesOf(main))
  return row?.changed
}

type Changed = Pick<NodeTable, 'changed'>

export function ledgersOf({ ledger, hasEntries }: Pick<NodeRowChange, 'ledger' | 'hasEntries'>): [string, string] {
  return [ledger, hasEntries ? ledger : unfinished(ledger)]
}

export function valuesOf(main: MainFields): (string | null)[] {
  return mainColumns.map((column) => main[column])
}
