/**
 * The rows of an organisation that move with it to another cell.
 *
 * Both cells compare the digests of ranges of rows, so that only the differences are sent.
 */
import { createHash } from 'node:crypto'
import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { LogDb, LogSchema } from './schema.ts'

interface MovedTable {
  readonly name: keyof LogSchema
  /** The columns that order the rows of an organisation. With them, a row is unique. */
  readonly key: readonly string[]
  /** `own`: the table has the column org_id. `repository`: `node_id` names a row of recorded_repo. */
  readonly org: 'own' | 'repository'
  /** Columns that count rows of one database. They get other values in the other one. */
  readonly local?: readonly string[]
  /** True if rows come and go while the organisation is closed, such as hints. They are not counted. */
  readonly isLoose?: true
  /** True if the rows stay when the log is removed. They have their own retention. */
  readonly outlives?: true
  /** Tables whose rows go with a row of this one. */
  readonly dependent?: readonly (keyof LogSchema)[]
}

/** The tables in the order in which they are sent. The row of `log` is sent first, and again at the end. */
const movedTables: readonly MovedTable[] = [
  { name: 'event', key: ['seq'], org: 'own' },
  { name: 'recorded_repo', key: ['node_id'], org: 'own', dependent: ['recorded_ref', 'intent'] },
  { name: 'recorded_ref', key: ['node_id', 'ref'], org: 'repository' },
  { name: 'intent', key: ['node_id', 'ref', 'to_oid'], org: 'repository', isLoose: true },
  // Messages that are sent while the organisation moves are sent again, under the same id.
  { name: 'hook_state', key: ['hook_id'], org: 'own', isLoose: true },
  { name: 'delivery', key: ['id'], org: 'own', isLoose: true },
  { name: 'audit', key: ['id'], org: 'own', local: ['n'], isLoose: true, outlives: true },
]

export const movedTableNames: readonly string[] = movedTables.map(({ name }) => name)

/** The values of the key columns of a row. */
export type RowKey = readonly (string | number)[]

/** The rows after one key, up to and including another. Null: from the first, or to the last. */
export interface RowRange {
  readonly table: string
  readonly after: RowKey | null
  readonly until: RowKey | null
}

/** A row by the names of its columns. */
export type MovedRow = Readonly<Record<string, string | number | null>>

/** Returns the rows of a range in their order. @throws Error if there is no such table */
export async function listRange(
  db: LogDb,
  orgId: string,
  { table: name, after, until }: RowRange,
  limit: number,
): Promise<MovedRow[]> {
  const table = findTable(name)
  const { rows } =
    await sql<MovedRow>`${selectOf(table, orgId)} ${bound(table, '>', after)} ${bound(table, '<=', until)}
    order by ${sql.join(table.key.map((column) => columnOf(table, column)))} limit ${limit}`.execute(db)
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => !table.local?.includes(column))))
}

export function keyOf(name: string, row: MovedRow): RowKey {
  return findTable(name).key.map((column) => row[column] ?? '')
}

/** The digest of rows, which is the same in both databases. */
export function digestOfRows(rows: readonly MovedRow[]): string {
  const hash = createHash('sha256')
  for (const row of rows) hash.update(JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))))
  return hash.digest('hex')
}

/** The most rows of a range that one transaction removes. */
const removedAtOnce = 500

/** Removes up to some rows of a range that are not among `keep`. Returns true if none is left. */
export async function removeOthers(
  trx: Transaction<LogSchema>,
  orgId: string,
  range: RowRange,
  keep: readonly MovedRow[],
): Promise<boolean> {
  const table = findTable(range.table)
  const kept = new Set(keep.map((row) => JSON.stringify(keyOf(table.name, row))))
  const rows = await listRange(trx, orgId, range, keep.length + removedAtOnce)
  for (const row of rows) if (!kept.has(JSON.stringify(keyOf(table.name, row)))) await removeRow(trx, table, orgId, row)
  return rows.length < keep.length + removedAtOnce
}

async function removeRow(trx: Transaction<LogSchema>, table: MovedTable, orgId: string, row: MovedRow): Promise<void> {
  for (const dependent of table.dependent ?? [])
    await sql`delete from ${sql.table(dependent)} where node_id = ${row.node_id}`.execute(trx)
  const own = table.org === 'own' ? sql`org_id = ${orgId} and ` : sql``
  const same = table.key.map((column) => sql`${sql.ref(column)} = ${row[column]}`)
  await sql`delete from ${sql.table(table.name)} where ${own} ${sql.join(same, sql` and `)}`.execute(trx)
}

/** Inserts rows, or replaces those with the same keys. @throws DatabaseError if a table has no such column */
export async function putRows(trx: Transaction<LogSchema>, name: string, rows: readonly MovedRow[]): Promise<void> {
  const table = findTable(name)
  for (const row of rows) {
    const columns = Object.keys(row).map((column) => sql.ref(column))
    const values = Object.values(row)
    await sql`insert or replace into ${sql.table(table.name)} (${sql.join(columns)}) values (${sql.join(values)})`.execute(
      trx,
    )
  }
}

/** Counts the rows of an organisation by table. */
export async function countMovedRows(db: LogDb, orgId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of movedTables.filter(({ isLoose }) => isLoose !== true)) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from (${selectOf(table, orgId)})`.execute(db)
    counts[table.name] = Number(rows[0]?.count ?? 0)
  }
  return counts
}

/** Removes up to some rows of an organisation, its log last. Returns true if none is left. */
export async function removeLogSlice(trx: Transaction<LogSchema>, orgId: string): Promise<boolean> {
  // Rows that are found through another table go first.
  for (const { name } of movedTables.filter(({ outlives }) => outlives !== true).reverse())
    if (!(await removeOthers(trx, orgId, { table: name, after: null, until: null }, []))) return false
  await trx.deleteFrom('log').where('org_id', '=', orgId).execute()
  return true
}

function findTable(name: string): MovedTable {
  const table = movedTables.find((one) => one.name === name)
  if (table === undefined) throw new Error(`The table ${name} does not move`)
  return table
}

function columnOf(table: MovedTable, column: string): RawBuilder<unknown> {
  return table.org === 'repository' && column === 'node_id' ? sql.ref('repo.node_id') : sql.ref(`one.${column}`)
}

function selectOf(table: MovedTable, orgId: string): RawBuilder<unknown> {
  return table.org === 'own'
    ? sql`select one.* from ${sql.table(table.name)} as one where one.org_id = ${orgId}`
    : sql`select one.* from recorded_repo as repo cross join ${sql.table(table.name)} as one
        on one.node_id = repo.node_id where repo.org_id = ${orgId}`
}

/** The condition that a row is beyond a key. The first column is also compared on its own, so that an index finds it. */
function bound(table: MovedTable, operator: '>' | '<=', key: RowKey | null): RawBuilder<unknown> {
  const [first] = table.key
  if (key === null || first === undefined) return sql``
  const columns = sql.join(table.key.map((column) => columnOf(table, column)))
  const least = sql.raw(operator === '>' ? '>=' : '<=')
  return sql`and ${columnOf(table, first)} ${least} ${key[0]}
    and (${columns}) ${sql.raw(operator)} (${sql.join(key)})`
}
