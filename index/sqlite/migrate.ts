/**
 * Applies missing migrations once, however many processes start together. Copies a database first if it cannot be
 * rebuilt.
 */

import { chmod, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Migration, sql, type Transaction } from 'kysely'
import { copyDatabase, openToRead } from './backup.ts'
import { asDatabaseError, DatabaseError } from './database-fault.ts'

/**
 * Applies the migrations that the database of `trx` lacks, in the order of their names. A second process waits for the
 * write transaction and then finds nothing to do. On PostgreSQL it may fail with a duplicate key, and must try again.
 *
 * @param file the name of the database, for the message
 * @throws DatabaseError too_new: a newer version created the database
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
      throw new DatabaseError(
        'too_new',
        `${file} was created by a newer version of Grove (${name}); start that version`,
      )
  }
  for (const name of Object.keys(migrations).sort()) {
    if (applied.has(name)) continue
    // This comes first, so that a second process waits here and then fails with a duplicate key.
    await sql`insert into schema_migration (name) values (${name})`.execute(trx)
    await migrations[name]?.up(trx)
  }
}

/** The number of copies to keep, the newest first. */
const kept = 2

/**
 * Copies `file` durably to `<file>.<newest migration in it>.bak` if `migrations` would change it. The caller must keep
 * other processes from migrating it at the same time. To go back to the older version, stop the service and remove
 * `<file>-wal` and `<file>-shm`. Then rename the copy to `file` and start the older version.
 *
 * @returns the copy's path; undefined if the file needs no migration: it is new, up to date, or from a newer version
 * @throws DatabaseError damaged, busy, storage_*
 */
export async function copyBeforeMigration(
  file: string,
  migrations: Readonly<Record<string, Migration>>,
): Promise<string | undefined> {
  try {
    const applied = await appliedMigrations(file)
    const newest = applied.at(-1)
    const isNewer = applied.some((name) => !(name in migrations))
    if (newest === undefined || isNewer || applied.length === Object.keys(migrations).length) return undefined
    const copy = `${file}.${newest}.bak`
    const fresh = `${copy}.new`
    await rm(fresh, { force: true })
    copyDatabase(file, fresh)
    await chmod(fresh, 0o600)
    await synced(fresh)
    await rename(fresh, copy)
    await removeOlder(file)
    await synced(dirname(file))
    return copy
  } catch (error) {
    throw asDatabaseError(error, file)
  }
}

/** Returns the names of the migrations applied to `file`, in order. A missing or empty file has none. */
export async function appliedMigrations(file: string): Promise<string[]> {
  const size = await stat(file).then(
    (found) => found.size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return 0
      throw error
    },
  )
  if (size === 0) return []
  const db = openToRead(file)
  try {
    const tables = db.prepare("select name from sqlite_master where name = 'schema_migration'").all()
    if (tables.length === 0) return []
    return db.prepare<[], string>('select name from schema_migration order by name').pluck().all()
  } finally {
    db.close()
  }
}

async function removeOlder(file: string): Promise<void> {
  const isCopy = (name: string) => name.startsWith(`${basename(file)}.`) && name.endsWith('.bak')
  const copies = (await readdir(dirname(file))).filter(isCopy).sort()
  for (const name of copies.slice(0, -kept)) await rm(join(dirname(file), name), { force: true })
}

async function synced(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
