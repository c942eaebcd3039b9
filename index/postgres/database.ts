/** A database in PostgreSQL. Several transactions write at a time: rows are held before they are judged. */
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
   * Runs `work` in one transaction of read committed, and again, up to five times, where it meets another: what it does
   * besides its statements it does several times. `work` may await only the transaction's own statements.
   *
   * @throws DatabaseError: busy, storage_* where PostgreSQL is away, outcome_unknown where it went during the commit
   */
  write<R>(work: (trx: Transaction<S>) => Promise<R>): Promise<R>
  /** Runs `work` in one transaction that sees one moment and cannot write; it may await only its own statements. */
  snapshot<R>(work: (trx: Transaction<S>) => Promise<R>): Promise<R>
}

/** Further attempts of a transaction that PostgreSQL ended because of another one. */
const repeats = 5
/** Milliseconds for which the start waits for another process that makes the tables. */
const migrationTimeoutMs = 60_000

/**
 * Applies every migration.
 *
 * @throws DatabaseError storage_error where PostgreSQL cannot be reached, too_new where a newer version has made the tables
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

/** As it is, whatever its tables are. Connects with the first statement. */
export async function connectPostgres<S>(
  address: PostgresAddress,
  observer?: DatabaseObserver,
): Promise<PostgresDatabase<S>> {
  const pool = await newPool(address)
  const read = new Kysely<S>({ dialect: postgresDialect(pool, 'read', observer) })
  const writer = new Kysely<S>({ dialect: postgresDialect(pool, 'write', observer) })
  return {
    read,
    write: (work) => repeated(() => writer.transaction().execute(work)),
    snapshot: (work) => read.transaction().execute(work),
    // Waits for what runs.
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

/** Two first starts meet in the catalogue; the second looks again once the first has committed. */
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
