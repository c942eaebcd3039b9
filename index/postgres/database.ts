/** A database in PostgreSQL. Several transactions write at a time, so they lock rows before they check them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, type Migration, type Transaction } from 'kysely'
import type { DatabaseObserver } from '../sqlite/connection.ts'
import type { Database } from '../sqlite/database.ts'
import { DatabaseBusyError } from '../sqlite/database-fault.ts'
import { migrate } from '../sqlite/migrate.ts'
import { postgresDialect } from './driver.ts'
import { isConflict, isMigratedBeside } from './faults.ts'
import { newPool, type PostgresAddress } from './pool.ts'

export interface PostgresDatabase<S> extends Database<S> {
  /**
   * Runs `work` in one read-committed transaction. Repeats it up to five times if it conflicts with another one, so any
   * side effects of `work` are repeated. `work` may await only the transaction's own statements.
   *
   * @throws DatabaseError: busy, storage_* if PostgreSQL is unavailable, outcome_unknown if it disconnects during the
   * commit
   */
  write<R>(work: (trx: Transaction<S>) => R | Promise<R>): Promise<R>
  /** Runs `work` in one read-only snapshot transaction. `work` may await only its own statements. */
  snapshot<R>(work: (trx: Transaction<S>) => Promise<R>): Promise<R>
}

/** How often a transaction is retried after a conflict with another one. */
const repeats = 5
/** Milliseconds that the start waits for another process to create the tables. */
const migrationTimeoutMs = 60_000

/**
 * Connects, and applies every migration.
 *
 * @throws DatabaseError storage_error if PostgreSQL cannot be reached, too_new if a newer version created the tables
 */
export async function openPostgres<S>(
  address: PostgresAddress,
  migrations: Record<string, Migration>,
  observer?: DatabaseObserver,
): Promise<PostgresDatabase<S>> {
  const db = await connectPostgres<S>(address, observer)
  try {
    await whileOthersMigrate(() => db.write((trx) => migrate(trx, migrations, 'The database of DATABASE_URL')))
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Opens the database without migrating its tables. Connects with the first statement. */
export async function connectPostgres<S>(
  address: PostgresAddress,
  observer?: DatabaseObserver,
): Promise<PostgresDatabase<S>> {
  const pool = await newPool(address)
  const read = new Kysely<S>({ dialect: postgresDialect(pool, 'read', observer) })
  const writer = new Kysely<S>({ dialect: postgresDialect(pool, 'write', observer) })
  return {
    read,
    write: (work) => repeated(() => writer.transaction().execute(async (trx) => work(trx))),
    snapshot: (work) => read.transaction().execute(work),
    // Waits for running statements.
    close: () => pool.end(),
  }
}

async function repeated<R>(work: () => Promise<R>): Promise<R> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error)) throw error
      if (attempt === repeats) throw new DatabaseBusyError({ cause: error })
    }
    await sleep(2 ** attempt * (1 + Math.random()))
  }
}

/** Retries a migration while another first start changes the catalogue, until that one has committed. */
async function whileOthersMigrate(work: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + migrationTimeoutMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isMigratedBeside(error) || performance.now() > deadline) throw error
    }
    await sleep(20 + Math.random() * 100)
  }
}
