/** Moves credentials from credentials.sqlite to PostgreSQL. The file is authoritative until it is renamed. */
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory } from '../../../gitstore/durable.ts'
import { lexists } from '../../../gitstore/fs-exists.ts'
import { copyToPostgres } from '../../../index/credentials/copies.ts'
import type { PostgresAddress } from '../../../index/postgres/pool.ts'
import { findDatabaseDamage } from '../../../index/sqlite/backup.ts'
import { credentialsFile, movedCredentialsFile, runFolder } from '../layout.ts'
import { listLiveProcesses } from '../live-processes.ts'
import { withCredentialsLock } from './credentials-lock.ts'

/**
 * Copies all rows in one transaction, then renames the file. If it is interrupted before that, the service continues
 * with the file. A repetition finds the same rows in the database, or refuses it. A service with DATABASE_URL does not
 * start while the file exists.
 *
 * @returns the reason for a refusal. Undefined: it is done
 * @throws DatabaseError; system errors
 */
export async function moveCredentials(
  root: string,
  postgres: PostgresAddress,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [file, moved] = [join(root, credentialsFile), join(root, movedCredentialsFile)]
  if (!lexists(file))
    return lexists(moved) ? `${credentialsFile} has already been moved` : `${root} has no ${credentialsFile}`
  if (lexists(moved)) return `${moved} already exists, from an earlier move`
  // A service or command that starts during the move waits.
  return withCredentialsLock(root, signal, async () => {
    if ((await listLiveProcesses(runFolder(root))).length > 0)
      return `A service or a command is using ${root}: stop it first`
    const damage = findDatabaseDamage(file)
    if (damage !== undefined) return `${credentialsFile} is damaged: ${damage}`
    signal.throwIfAborted()
    if ((await copyToPostgres(file, postgres)) === 'has accounts')
      return 'The database of DATABASE_URL has other accounts: use an empty one'
    await rename(file, moved)
    await syncDirectory(root)
    // Left by a killed process. Opening the file has already moved the rows of its log into it.
    for (const end of ['-wal', '-shm']) await rm(`${file}${end}`, { force: true })
    return undefined
  })
}
