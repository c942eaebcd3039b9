/** Opens a data folder, for the service and for the commands. */

import { chmod, open as openFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { syncDirectory } from '../gitstore/durable.ts'
import { codeOf } from '../gitstore/errors.ts'
import { endCatFiles } from '../gitstore/objects/cat-file.ts'
import { recoverAll, type Store } from '../gitstore/refs/ref-transaction.ts'
import { credentialsMigrations } from '../index/credentials/migrations.ts'
import type { CredentialsSchema } from '../index/credentials/schema.ts'
import { indexMigrations } from '../index/derived/migrations.ts'
import type { IndexSchema } from '../index/derived/schema.ts'
import type { DatabaseObserver } from '../index/sqlite/connection.ts'
import { type Database, DatabaseFault, openDatabase } from '../index/sqlite/database.ts'
import { registerProcess, takeOver, withFileLock } from '../index/sqlite/file-lock.ts'
import { copyBeforeMigration } from '../index/sqlite/migration-copy.ts'
import { type DerivedDatabase, openDerivedDatabase } from '../index/sqlite/rebuildable-database.ts'
import type { Config } from './config.ts'
import { makeDataFolder } from './data-folder.ts'
import type { Deps } from './deps.ts'
import { openKeys } from './domain/accounts/keys.ts'
import { unlimitedSignIns } from './domain/accounts/sign-ins.ts'
import { checkUntilWritable } from './domain/background/read-only.ts'
import { indexNoted } from './domain/indexing/index-node.ts'
import { credentialsFile, indexFile, isId, runFolder, searchFolder } from './domain/layout.ts'
import { openSearchThread } from './domain/search/search-thread.ts'
import { newMetrics } from './metrics/metrics.ts'
import { databaseObserver, storeObserver } from './metrics/observers.ts'
import { isOtherVersionAlive, refuseOtherMajor, writeVersion } from './versions.ts'

/** Milliseconds that another process may take to open and upgrade credentials. */
const openingTimeoutMs = 120_000

export interface OpenOptions {
  readonly log: Logger
  readonly now?: () => Date
  readonly draining?: AbortSignal
  /** The number of this process among those that share the port. */
  readonly worker?: number
}

export interface Opened {
  /** The index may be incomplete, and sign-ins are not limited. */
  readonly deps: Deps
  readonly index: DerivedDatabase<IndexSchema>
  close(): Promise<void>
}

/** Opens all dependencies and finishes or undoes the work of dead processes. Closes what is open on failure. */
export async function openDeps(config: Config, options: OpenOptions): Promise<Opened> {
  const { log, now = () => new Date(), draining = new AbortController().signal, worker = 1 } = options
  const metrics = newMetrics(worker)
  const closing: (() => unknown)[] = []
  const close = async () => {
    for (const one of closing.reverse()) await one()
  }
  try {
    const root = config.dataDir
    const run = runFolder(root)
    await makeDataFolder(root)
    const alive = await registerProcess(run)
    closing.push(() => alive.close(), endCatFiles)
    // Synced, so that a lock that survives a power cut names a folder that survives it.
    await syncDirectory(run)
    await writeVersion(alive.dir)
    await refuseOtherMajor(run, alive.id)
    const credentials = await openCredentials(root, log, draining, databaseObserver(metrics, 'credentials'))
    closing.push(() => credentials.close())
    const index = await openDerivedDatabase<IndexSchema>(join(root, indexFile), indexMigrations, {
      lockPrefix: join(run, 'index'),
      closing: draining,
      observer: databaseObserver(metrics, 'index'),
      mayReplaceNewer: async () => !(await isOtherVersionAlive(run, alive.id)),
      report: (done, error) => log.warn(error === undefined ? {} : { err: error }, done),
    })
    closing.push(() => index.close())
    const store: Store = {
      root,
      run,
      process: alive.id,
      takeOver: (id) => takeOver(run, id),
      recovered: (note) => indexNoted(deps, note),
      becameReadOnly: (repo) => void checkUntilWritable(deps, repo),
      observer: storeObserver(metrics),
    }
    const keys = await openKeys(credentials, config.publicUrl, now())
    const search = openSearchThread(
      { file: join(root, indexFile), folder: searchFolder(root), memoryBytes: config.searchMemory },
      {
        warned: (message, code) =>
          log.warn({ code, reason: message }, 'files of the search index could not be read or written'),
        died: (error) => log.error({ err: error }, 'the search thread died and is started anew'),
      },
    )
    closing.push(() => search.close())
    const deps: Deps = {
      config,
      now,
      log,
      credentials,
      index,
      store,
      keys,
      search,
      metrics,
      limitSignIn: unlimitedSignIns,
      draining,
    }
    await recoverAll(store, (error) => {
      log.error(
        { err: error },
        'a transaction of a dead process could not be finished; the next writer that finds its locks retries',
      )
    })
    return { deps, index, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Password hashes and keys: for the user of the service alone, whatever its umask. The log gets the mode of the database. */
async function keepPrivate(file: string): Promise<void> {
  const handle = await openFile(file, 'a', 0o600)
  await handle.close()
  for (const path of [file, `${file}-wal`, `${file}-shm`])
    await chmod(path, 0o600).catch((error: unknown) => {
      // No log yet; or the file is another user's, who has to see to it.
      if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EPERM') throw error
    })
}

/**
 * Accounts cannot be rebuilt: a damaged file is never written to, and a missing one is not replaced beside organisations.
 *
 * @throws DatabaseFault damaged, with a message for the operator
 */
async function openCredentials(
  root: string,
  log: Logger,
  draining: AbortSignal,
  observer: DatabaseObserver,
): Promise<Database<CredentialsSchema>> {
  const file = join(root, credentialsFile)
  const advice = `put the backup's copy in its place and remove ${credentialsFile}-wal and -shm`
  const found = await stat(file).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if ((found?.size ?? 0) === 0 && (await readdir(root)).some(isId)) {
    const what = found ? 'is empty' : 'is missing'
    throw new DatabaseFault('damaged', `${credentialsFile} ${what}, though there are organisations: ${advice}`)
  }
  const openUpgraded = async () => {
    await keepPrivate(file)
    const copy = await copyBeforeMigration(file, credentialsMigrations)
    if (copy !== undefined) log.warn({ copy }, `${credentialsFile} is upgraded; a copy of it as it was is kept`)
    return openDatabase<CredentialsSchema>(file, credentialsMigrations, { synchronous: 'FULL', check: true, observer })
  }
  // Under a lock: a copy of tables that another process has upgraded meanwhile would be of no use to the older version.
  const turn = join(runFolder(root), 'credentials-opening')
  const opened = await withFileLock(turn, draining, openUpgraded, openingTimeoutMs).catch((error: unknown) => {
    if (!(error instanceof DatabaseFault) || error.code !== 'damaged') throw error
    throw new DatabaseFault('damaged', `${credentialsFile} is damaged and was left as it is: ${advice}`, {
      cause: error,
    })
  })
  if (opened === undefined) throw new DatabaseFault('busy', 'The service is about to stop')
  return opened
}
