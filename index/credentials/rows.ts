/** All rows of credentials, by pages: copied to another database, compared with it. Either may be of either engine. */
import { sql } from 'kysely'
import type { CredentialsDb, CredentialsSchema } from './schema.ts'

/** The key of each table; no table comes before one that its rows name. Counts of rates, over within a day, are in no copy. */
const keys: Readonly<Record<Exclude<keyof CredentialsSchema, 'rate_count'>, readonly string[]>> = {
  account: ['id'],
  session: ['id'],
  refresh_token: ['hash'],
  reset_token: ['hash'],
  access_token: ['id'],
  account_address: ['account_id', 'address'],
  signing_key: ['id'],
  token_key: ['kid'],
  deleted_account: ['id'],
  invitation: ['id'],
  invitation_use: ['invitation_id', 'account_id'],
  pending_membership: ['account_id', 'org_id'],
  cell: ['name'],
  place: ['org_id'],
  org_card: ['org_id'],
  org_member: ['org_id', 'user_id'],
}

const tables = Object.entries(keys)

/** With at most 14 columns far below what either engine takes of parameters, 32,766. */
const pageRows = 1_000

type Row = Readonly<Record<string, string | number | null>>

/** Inserts every row of `from` into `to`, whose tables are empty. Returns how many. */
export async function copyRows(from: CredentialsDb, to: CredentialsDb): Promise<number> {
  let copied = 0
  for (const [table, key] of tables)
    for await (const rows of pagesOf(from, table, key)) {
      await insertRows(to, table, rows)
      copied += rows.length
    }
  return copied
}

/** Reads every row. Returns how many there are. */
export async function countRows(db: CredentialsDb): Promise<number> {
  let count = 0
  for (const [table, key] of tables) for await (const rows of pagesOf(db, table, key)) count += rows.length
  return count
}

export async function deleteRows(db: CredentialsDb): Promise<void> {
  for (const [table] of tables.toReversed()) await sql`delete from ${sql.table(table)}`.execute(db)
}

/** Whether both have the same rows. Text has the order of its bytes in both engines. */
export async function haveSameRows(one: CredentialsDb, other: CredentialsDb): Promise<boolean> {
  for (const [table, key] of tables) {
    const others = pagesOf(other, table, key)
    for await (const rows of pagesOf(one, table, key)) {
      const { value = [] } = await others.next()
      if (!isSame(rows, value)) return false
    }
    if (!(await others.next()).done) return false
  }
  return true
}

function isSame(rows: readonly Row[], others: readonly Row[]): boolean {
  const text = (all: readonly Row[]) => JSON.stringify(all.map((row) => Object.entries(row).sort(byName)))
  return text(rows) === text(others)
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

/** None of them is empty. */
async function* pagesOf(
  db: CredentialsDb,
  table: string,
  key: readonly string[],
): AsyncGenerator<readonly Row[], void> {
  const columns = sql.join(key.map((name) => sql.ref(name)))
  let beyond = sql``
  for (;;) {
    const { rows } = await sql<Row>`
      select * from ${sql.table(table)} ${beyond} order by ${columns} limit ${sql.lit(pageRows)}`.execute(db)
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageRows) return
    beyond = sql`where (${columns}) > (${sql.join(key.map((name) => last[name]))})`
  }
}

async function insertRows(db: CredentialsDb, table: string, rows: readonly Row[]): Promise<void> {
  const names = Object.keys(rows[0] ?? {})
  const values = rows.map((row) => sql`(${sql.join(names.map((name) => row[name]))})`)
  const columns = sql.join(names.map((name) => sql.ref(name)))
  await sql`insert into ${sql.table(table)} (${columns}) values ${sql.join(values)}`.execute(db)
}
