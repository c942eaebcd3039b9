/** Opens a data folder: what the service and the commands have in common. */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { endCatFiles } from '../gitstore/cat-file.ts'
import { recoverAll, type Store } from '../gitstore/ref-transaction.ts'
import { openDatabase, openDerivedDatabase } from '../index/database.ts'
import { indexMigrations } from '../index/derived/migrations.ts'
import type { IndexSchema } from '../index/derived/schema.ts'
import { registerProcess, takeOver } from '../index/liveness.ts'
import { credentialsMigrations } from '../index/records/migrations.ts'
import type { CredentialsSchema } from '../index/records/schema.ts'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import { loadKeys } from './domain/accounts/tokens.ts'
import { followNote } from './domain/follow.ts'
import { openSearches } from './domain/search.ts'
import { checkUntilSound } from './domain/suspects.ts'

export interface OpenOptions {
  readonly log: Logger
  readonly now?: () => Date
  readonly draining?: AbortSignal
}

export interface Opened {
  readonly deps: Deps
  close(): Promise<void>
}

/** Everything that use cases need, with the work of dead processes finished or undone. What is open is closed on failure. */
export async function openDeps(config: Config, options: OpenOptions): Promise<Opened> {
  const { log, now = () => new Date(), draining = new AbortController().signal } = options
  const closing: (() => unknown)[] = []
  const close = async () => {
    for (const one of closing.reverse()) await one()
  }
  try {
    const root = config.dataDir
    const run = join(root, 'run')
    await mkdir(root, { recursive: true })
    const alive = await registerProcess(run)
    closing.push(() => alive.close(), endCatFiles)
    const credentials = await openDatabase<CredentialsSchema>(join(root, 'credentials.sqlite'), credentialsMigrations, {
      synchronous: 'FULL',
    })
    closing.push(() => credentials.close())
    const index = await openDerivedDatabase<IndexSchema>(join(root, 'index.sqlite'), indexMigrations)
    closing.push(() => index.close())
    const store: Store = {
      root,
      run,
      process: alive.id,
      takeOver: (id) => takeOver(run, id),
      recovered: (note) => followNote(deps, note),
      suspected: (repo) => void checkUntilSound(deps, repo),
    }
    const keys = await loadKeys(credentials, config.publicUrl, now())
    const deps: Deps = { config, now, log, credentials, index, store, keys, searches: openSearches(), draining }
    await recoverAll(store, (error) => {
      log.error(
        { err: error },
        'a transaction of a dead process could not be finished; whoever meets its locks tries again',
      )
    })
    return { deps, close }
  } catch (error) {
    await close()
    throw error
  }
}
