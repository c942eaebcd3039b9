/** Applies missing migrations to a database, once, however many processes start together. */

import { type Migration, sql, type Transaction } from 'kysely'
import { DatabaseFault } from './database-fault.ts'

/**
 * Applies, in the order of their names, the migrations that the database of `trx` lacks. A second process waits for the write
 * transaction and then finds nothing to do; on PostgreSQL it may be refused a duplicate first, and has to look again.
 *
 * @param file its name, for the message
 * @throws DatabaseFault too_new: the database was made by a newer version
 */
export async function migrate<S>(
  trx: Transaction<S>,
  migrations: Record<string, Migration>,
  file: string,
): Promise<void> {
  await sql`create table if not exists schema_migration (name text primary key)`.execute(trx)
  const { rows } = await sql<{ name: string }>`select name from schema_migration`.execute(trx)
  const applied = new Set(rows.map((row) => row.name))
  for (const name of applied) {
    if (!(name in migrations))
      throw new DatabaseFault('too_new', `${file} was made by a newer version (${name}); start that one`)
  }
  for (const name of Object.keys(migrations).sort()) {
    if (applied.has(name)) continue
    // First, so that of two processes that write at the same time the second waits here, and is refused its duplicate.
    await sql`insert into schema_migration (name) values (${name})`.execute(trx)
    await migrations[name]?.up(trx)
  }
}
