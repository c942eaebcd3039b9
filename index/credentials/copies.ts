/** Copies of credentials: `credentials.sqlite` is the form in which they leave PostgreSQL, and come to it. */

import { basename } from 'node:path'
import { Kysely, sql } from 'kysely'
import { connectPostgres, openPostgres } from '../postgres/database.ts'
import type { PostgresAddress } from '../postgres/pool.ts'
import { openHandle } from '../sqlite/connection.ts'
import { openDatabase } from '../sqlite/database.ts'
import { sqliteDialect } from '../sqlite/driver.ts'
import { migrate } from '../sqlite/migrate.ts'
import { hasAccounts } from './accounts.ts'
import { credentialsMigrations } from './migrations.ts'
import type { CredentialsDb, CredentialsSchema } from './schema.ts'

/**
 * Writes the credentials in PostgreSQL, as they are at one moment, to `file`, which is missing or empty. It is not synced.
 *
 * @throws DatabaseError
 */
export async function copyFromPostgres(address: PostgresAddress, file: string): Promise<void> {
  const from = await openPostgres<CredentialsSchema>(address, credentialsMigrations)
  const handle = openHandle(file)
  try {
    handle.pragma('journal_mode = memory')
    handle.pragma('synchronous = off')
    const to = new Kysely<CredentialsSchema>({ dialect: sqliteDialect(handle, 'write') })
    await to.transaction().execute((trx) => migrate(trx, credentialsMigrations, basename(file)))
    // Each page a transaction of its own: one over all would wait for PostgreSQL.
    await from.snapshot((trx) => copyRows(trx, to))
  } finally {
    handle.close()
    await from.close()
  }
}

/** What has become of `copyToPostgres`; `same`: the very rows are there already. */
export type Filled = 'copied' | 'same' | 'has accounts'

/**
 * Copies `file`, which this upgrades, to a database that has no accounts, in one transaction. Keys that are there without
 * accounts are replaced.
 *
 * @throws DatabaseError; outcome_unknown where PostgreSQL went during the commit
 */
export async function copyToPostgres(file: string, address: PostgresAddress): Promise<Filled> {
  const from = await openDatabase<CredentialsSchema>(file, credentialsMigrations, { synchronous: 'FULL', check: true })
  try {
    const to = await openPostgres<CredentialsSchema>(address, credentialsMigrations)
    try {
      return await to.write((trx) => fill(from.read, trx))
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}

async function fill(from: CredentialsDb, trx: CredentialsDb): Promise<Filled> {
  // Against a service that makes its first account meanwhile.
  await sql`lock table account, signing_key in exclusive mode`.execute(trx)
  if (await hasAccounts(trx)) return (await haveSameRows(from, trx)) ? 'same' : 'has accounts'
  await deleteRows(trx)
  await copyRows(from, trx)
  return 'copied'
}

export interface CredentialsState {
  /** The newest migration; undefined: there are no tables. */
  readonly schema: string | undefined
  /** Undefined: nothing is wrong. */
  readonly fault: string | undefined
}

/** Reads every row, and changes nothing. */
export async function examinePostgres(address: PostgresAddress): Promise<CredentialsState> {
  const db = await connectPostgres<CredentialsSchema>(address)
  try {
    return await db.snapshot(stateIn)
  } catch (error) {
    return { schema: undefined, fault: `cannot be read: ${error instanceof Error ? error.message : error}` }
  } finally {
    await db.close()
  }
}

async function stateIn(trx: CredentialsDb): Promise<CredentialsState> {
  const found = await sql<{ found: string | null }>`select to_regclass('schema_migration')::text as found`.execute(trx)
  if (!found.rows[0]?.found) return { schema: undefined, fault: 'is empty, and all accounts are missing' }
  const { rows } = await sql<{ name: string }>`select name from schema_migration`.execute(trx)
  const applied = rows.map(({ name }) => name).sort()
  const schema = applied.at(-1)
  const newer = applied.find((name) => !(name in credentialsMigrations))
  if (newer !== undefined) return { schema, fault: `was made by a newer version (${newer})` }
  // Of tables that the next start upgrades the present names are not known here.
  if (applied.length === Object.keys(credentialsMigrations).length) await countRows(trx)
  return { schema, fault: undefined }
}

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
async function copyRows(from: CredentialsDb, to: CredentialsDb): Promise<number> {
  let copied = 0
  for (const [table, key] of tables)
    for await (const rows of pagesOf(from, table, key)) {
      await insertRows(to, table, rows)
      copied += rows.length
    }
  return copied
}

/** Reads every row. Returns how many there are. */
async function countRows(db: CredentialsDb): Promise<number> {
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
