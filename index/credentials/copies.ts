/** Copies credentials between PostgreSQL and the file format `credentials.sqlite`. */

import { basename } from 'node:path'
import { Kysely, sql } from 'kysely'
import { connectPostgres, openPostgres } from '../postgres/database.ts'
import type { PostgresAddress } from '../postgres/pool.ts'
import { openToRead } from '../sqlite/backup.ts'
import { openHandle } from '../sqlite/connection.ts'
import { openDatabase } from '../sqlite/database.ts'
import { sqliteDialect } from '../sqlite/driver.ts'
import { migrate } from '../sqlite/migrate.ts'
import { hasAccounts } from './accounts.ts'
import { credentialsMigrations } from './migrations.ts'
import type { CredentialsDb, CredentialsSchema, Webhook } from './schema.ts'

/**
 * Writes a snapshot of the credentials in PostgreSQL to `file`. The file must be missing or empty, and is not synced.
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
    // Each page has its own transaction: one over all pages would await PostgreSQL.
    await from.snapshot((trx) => copyRows(trx, to))
  } finally {
    handle.close()
    await from.close()
  }
}

/** Deletes what a restored service would send again: mails and turns of digests. @param file a copy of the credentials */
export function removeMails(file: string): void {
  const handle = openHandle(file)
  try {
    handle.pragma('journal_mode = memory')
    handle.pragma('secure_delete = on')
    const exists = handle.prepare("select 1 from sqlite_schema where name = 'mail'").get() !== undefined
    if (exists) handle.exec('delete from mail')
    const hasTurns = handle.prepare("select 1 from sqlite_schema where name = 'digest_turn'").get() !== undefined
    if (hasTurns) handle.exec('delete from digest_turn')
  } finally {
    handle.close()
  }
}

/** The result of `copyToPostgres`. `same`: the database already has exactly these rows. */
export type Filled = 'copied' | 'same' | 'has accounts'

/**
 * Upgrades `file` and copies it to a database without accounts, in one transaction. If the database has keys but no
 * accounts, they are replaced.
 *
 * @throws DatabaseError; outcome_unknown if PostgreSQL disconnects during the commit
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
  // A service may be creating its first account at the same time.
  await sql`lock table account, signing_key in exclusive mode`.execute(trx)
  if (await hasAccounts(trx)) return (await haveSameRows(from, trx)) ? 'same' : 'has accounts'
  await deleteRows(trx)
  await copyRows(from, trx)
  return 'copied'
}

export interface CredentialsState {
  /** The newest migration; undefined if there are no tables. */
  readonly schema: string | undefined
  /** Undefined if no problem was found. */
  readonly fault: string | undefined
  /** The stored secrets of webhooks. Absent with a fault, and in the tables of an older version. */
  readonly secrets?: readonly StoredSecret[]
}

type StoredSecret = Pick<Webhook, 'id' | 'secret_sealed'>

/** Returns the stored secrets of webhooks. Changes nothing. */
export function readSecrets(file: string): StoredSecret[] {
  const db = openToRead(file)
  try {
    const exists = db.prepare("select 1 from sqlite_schema where name = 'webhook'").get() !== undefined
    return exists ? (db.prepare('select id, secret_sealed from webhook').all() as StoredSecret[]) : [] // its columns
  } finally {
    db.close()
  }
}

/** Checks the database by reading every row. Changes nothing. */
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
  if (newer !== undefined) return { schema, fault: `was created by a newer version of Grove (${newer})` }
  // The tables of an older version may have other names than those below.
  if (applied.length !== Object.keys(credentialsMigrations).length) return { schema, fault: undefined }
  await countRows(trx)
  return {
    schema,
    fault: undefined,
    secrets: await trx.selectFrom('webhook').select(['id', 'secret_sealed']).execute(),
  }
}

/**
 * The key of each table. Every table comes after the tables that it references. Rate counts expire within a day, and
 * codes and assertions of OAuth within minutes. The documents of programs are a cache. None of them are copied, and
 * neither are mails and turns of digests, which a restored service would send.
 */
const keys: Readonly<
  Record<
    Exclude<
      keyof CredentialsSchema,
      'rate_count' | 'oauth_code' | 'oauth_client' | 'oauth_assertion' | 'logout_token' | 'mail' | 'digest_turn'
    >,
    readonly string[]
  >
> = {
  account: ['id'],
  identity: ['id'],
  session: ['id'],
  refresh_token: ['hash'],
  reset_token: ['hash'],
  email_token: ['hash'],
  access_token: ['id'],
  oauth_grant: ['id'],
  oauth_token: ['hash'],
  account_address: ['account_id', 'address'],
  signing_key: ['id'],
  token_key: ['kid'],
  deleted_account: ['id'],
  invitation: ['id'],
  invitation_use: ['invitation_id', 'account_id'],
  pending_membership: ['account_id', 'org_id'],
  read_mark: ['account_id', 'node_id', 'number'],
  webhook: ['id'],
  follow: ['account_id', 'org_id', 'node_id'],
  inbox_mark: ['account_id', 'org_id'],
  feed_token: ['account_id'],
  cell: ['name'],
  place: ['org_id'],
  org_limit: ['org_id'],
  org_card: ['org_id'],
  org_member: ['org_id', 'user_id'],
}

const tables = Object.entries(keys)

/** Rows per page. With at most 14 columns, this is far below the 32,766 parameters that either engine accepts. */
const pageRows = 1_000

type Row = Readonly<Record<string, string | number | null>>

/** Inserts every row of `from` into the empty tables of `to`. Returns the number of rows. */
async function copyRows(from: CredentialsDb, to: CredentialsDb): Promise<number> {
  let copied = 0
  for (const [table, key] of tables)
    for await (const rows of pagesOf(from, table, key)) {
      await insertRows(to, table, rows)
      copied += rows.length
    }
  return copied
}

/** Counts all rows by reading each of them. */
async function countRows(db: CredentialsDb): Promise<number> {
  let count = 0
  for (const [table, key] of tables) for await (const rows of pagesOf(db, table, key)) count += rows.length
  return count
}

export async function deleteRows(db: CredentialsDb): Promise<void> {
  for (const [table] of tables.toReversed()) await sql`delete from ${sql.table(table)}`.execute(db)
}

/** True if both have the same rows. Both engines sort strings by their bytes. */
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

/** Yields the rows of a table in pages, none of them empty. */
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
