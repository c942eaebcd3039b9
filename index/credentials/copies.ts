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
import { copyRows, countRows, deleteRows, haveSameRows } from './rows.ts'
import type { CredentialsDb, CredentialsSchema } from './schema.ts'

/**
 * Writes the credentials in PostgreSQL, as they are at one moment, to `file`, which is missing or empty. It is not synced.
 *
 * @throws DatabaseFault
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
 * @throws DatabaseFault; outcome_unknown where PostgreSQL went during the commit
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
