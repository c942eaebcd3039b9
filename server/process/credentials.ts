/**
 * Opens the database of accounts, sessions, invitations and keys.
 *
 * It is credentials.sqlite, or the one that DATABASE_URL names.
 */
import { chmod, open as openFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { codeOf } from '../../gitstore/errors.ts'
import { ignoreMissing, lexists } from '../../gitstore/fs-exists.ts'
import { credentialsMigrations } from '../../index/credentials/migrations.ts'
import type { CredentialsSchema } from '../../index/credentials/schema.ts'
import { findSigningKey } from '../../index/credentials/token-keys.ts'
import { openPostgres } from '../../index/postgres/database.ts'
import type { PostgresAddress } from '../../index/postgres/pool.ts'
import { type DatabaseObserver, identityOf } from '../../index/sqlite/connection.ts'
import { type Database, DatabaseError, openDatabase } from '../../index/sqlite/database.ts'
import { copyBeforeMigration } from '../../index/sqlite/migrate.ts'
import { type Config, postgresOf } from '../base/config.ts'
import { credentialsFile, isId, movedCredentialsFile } from '../domain/layout.ts'
import { withCredentialsLock } from '../domain/operator/credentials-lock.ts'

/** Milliseconds between two looks for the file. */
const checkEveryMs = 1_000
const gone = 'was deleted or replaced while the service ran'

export interface CredentialsOptions {
  readonly log: Logger
  readonly draining: AbortSignal
  readonly observer?: DatabaseObserver
}

/**
 * Opens the accounts, which cannot be rebuilt. A damaged file is never written to. If there are organisations, a
 * missing database is not created. If two places may hold accounts, neither is chosen.
 *
 * @throws DatabaseError with a message for the operator
 */
export async function openCredentials(
  config: Config,
  { log, draining, observer }: CredentialsOptions,
): Promise<Database<CredentialsSchema>> {
  const root = config.dataDir
  const postgres = postgresOf(config)
  // Locked: the older version could not use a copy of tables that another process has just upgraded.
  const opened = await withCredentialsLock(root, draining, () => {
    return postgres ? openPostgresBeside(root, postgres, observer) : openFileIn(root, log, observer)
  })
  if (opened === undefined) throw new DatabaseError('busy', 'The service is about to stop')
  return opened
}

async function openPostgresBeside(
  root: string,
  address: PostgresAddress,
  observer: DatabaseObserver | undefined,
): Promise<Database<CredentialsSchema>> {
  if ((await sizeOf(join(root, credentialsFile))) > 0)
    throw new DatabaseError(
      'storage_error',
      `Accounts are in ${credentialsFile}, but DATABASE_URL is set: move them with grove credentials-to-postgres, or unset DATABASE_URL`,
    )
  const opened = await openPostgres<CredentialsSchema>(address, credentialsMigrations, observer)
  try {
    if ((await hasOrganisations(root)) && (await findSigningKey(opened.read)) === undefined)
      throw new DatabaseError(
        'damaged',
        'The database of DATABASE_URL is empty, but there are organisations: restore its backup, or set DATABASE_URL to the right one',
      )
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function openFileIn(
  root: string,
  log: Logger,
  observer: DatabaseObserver | undefined,
): Promise<Database<CredentialsSchema>> {
  const file = join(root, credentialsFile)
  const advice = `replace it with the copy of the backup, and remove ${credentialsFile}-wal and -shm`
  const size = await sizeOf(file)
  if (size <= 0 && lexists(join(root, movedCredentialsFile)))
    throw new DatabaseError('damaged', 'Accounts were moved to PostgreSQL: set DATABASE_URL')
  if (size <= 0 && (await hasOrganisations(root))) {
    const what = size === 0 ? 'is empty' : 'is missing'
    throw new DatabaseError('damaged', `${credentialsFile} ${what}, but there are organisations: ${advice}`)
  }
  try {
    await keepPrivate(file)
    const copy = await copyBeforeMigration(file, credentialsMigrations)
    if (copy !== undefined) log.warn({ copy }, `${credentialsFile} is upgraded; a copy of the old version is kept`)
    const options = { synchronous: 'FULL', check: true, observer } as const
    const opened = await openDatabase<CredentialsSchema>(file, credentialsMigrations, options)
    return refusingWhenGone(opened, file, () =>
      log.fatal(`${credentialsFile} ${gone}; stop the service, ${advice}, and start it again`),
    )
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'damaged') throw error
    throw new DatabaseError('damaged', `${credentialsFile} is damaged and was not changed: ${advice}`, {
      cause: error,
    })
  }
}

/**
 * Refuses all work soon after the file was deleted or replaced. Otherwise, changes would be acknowledged and lost.
 *
 * @param report called once, before the first refusal
 */
function refusingWhenGone<S>(database: Database<S>, file: string, report: () => void): Database<S> {
  const identity = identityOf(file)
  let isGone = false
  const watching = setInterval(() => {
    if (identityOf(file) === identity) return
    clearInterval(watching)
    report()
    isGone = true
  }, checkEveryMs).unref()
  const refuse = () => {
    if (isGone) throw new DatabaseError('storage_error', `${credentialsFile} ${gone}`)
  }
  return {
    get read() {
      refuse()
      return database.read
    },
    write: async (work) => {
      refuse()
      return database.write(work)
    },
    close: () => {
      clearInterval(watching)
      return database.close()
    },
  }
}

async function hasOrganisations(root: string): Promise<boolean> {
  return (await readdir(root)).some(isId)
}

/** Returns the size in bytes, or -1 if there is no such file. */
async function sizeOf(file: string): Promise<number> {
  return (await ignoreMissing(stat(file)))?.size ?? -1
}

/**
 * Makes password hashes and keys readable only by the user of the service. The umask does not matter. SQLite gives a
 * new WAL the mode of the database.
 */
async function keepPrivate(file: string): Promise<void> {
  const handle = await openFile(file, 'a', 0o600)
  await handle.close()
  for (const path of [file, `${file}-wal`, `${file}-shm`])
    await chmod(path, 0o600).catch((error: unknown) => {
      // There is no WAL yet, or the file belongs to another user, who must protect it.
      if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EPERM') throw error
    })
}
