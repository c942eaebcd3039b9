/** A copy of a database that cannot be made again, kept before a newer version changes its tables. */

import { chmod, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Migration } from 'kysely'
import { copyDatabase, openToRead } from './backup.ts'
import { asDatabaseFault } from './database-fault.ts'

/** Copies that are kept: of the newest versions that were left. */
const kept = 2

/**
 * Copies `file` to `<file>.<newest migration in it>.bak`, durably, if `migrations` would change it. The caller excludes
 * others who would migrate it meanwhile. To go back to the older version: stop the service, rename the copy to `file`
 * without `-wal` and `-shm` beside it, start the older version.
 *
 * @returns the copy's path; undefined where nothing is to be migrated: the file is new, up to date or of a newer version
 * @throws DatabaseFault damaged, busy, storage_*
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
    throw asDatabaseFault(error, file)
  }
}

/** The names of the migrations that `file` has seen, in their order; none where it is missing or empty. */
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
