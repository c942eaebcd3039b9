/** Opens a data folder, for the service and for the commands. */

import { join } from 'node:path'
import type { Logger } from 'pino'
import { syncDirectory } from '../../gitstore/durable.ts'
import { endCatFiles } from '../../gitstore/objects/cat-file.ts'
import { recoverAll } from '../../gitstore/refs/ref-transaction.ts'
import { endRemovals } from '../../gitstore/refs/unindexed-moves.ts'
import type { Fence, Store } from '../../gitstore/store.ts'
import { indexMigrations } from '../../index/derived/migrations.ts'
import type { IndexSchema } from '../../index/derived/schema.ts'
import { logMigrations } from '../../index/log/migrations.ts'
import type { LogSchema } from '../../index/log/schema.ts'
import { claimDeadProcess, type LiveProcess, registerProcess } from '../../index/sqlite/file-lock.ts'
import { type DerivedDatabase, openDerivedDatabase } from '../../index/sqlite/rebuildable-database.ts'
import type { Config } from '../base/config.ts'
import { openKeys } from '../domain/accounts/keys.ts'
import { unlimitedSignIns } from '../domain/accounts/sign-ins.ts'
import { auditRound, flushAudit } from '../domain/audit/audit.ts'
import { checkUntilWritable } from '../domain/background/read-only.ts'
import { Cell } from '../domain/cells/cell.ts'
import { openLease } from '../domain/cells/lease.ts'
import { freeReserve, watchReserve } from '../domain/disk-reserve.ts'
import { recoverNoted, recoverRepository } from '../domain/indexing/recovered.ts'
import { eventsFile, indexFile, runFolder, searchFolder, vectorsFile } from '../domain/layout.ts'
import { unlimitedMail } from '../domain/mail/limits.ts'
import { refuseInMaintenance, watchMaintenanceMode } from '../domain/maintenance-mode.ts'
import { type Placement, singleService } from '../domain/placement.ts'
import { openSearchThread } from '../domain/search/search-thread.ts'
import type { Services } from '../domain/services.ts'
import { newMetrics } from '../metrics/metrics.ts'
import { databaseObserver, storeObserver } from '../metrics/observers.ts'
import { openCredentials } from './credentials.ts'
import { makeDataFolder, rememberCell } from './data-folder.ts'
import { openEmbeddings } from './embeddings.ts'
import { isOtherVersionAlive, refuseOtherMajor, writeVersion } from './versions.ts'

export interface OpenOptions {
  readonly log: Logger
  readonly now?: () => Date
  readonly draining?: AbortSignal
  /** The number of this process among those that share the port. */
  readonly worker?: number
  /** True: a cell that cannot write is not opened. Otherwise it is opened read-only. */
  readonly writes?: boolean
  /** True: opens the model for search by meaning, if one is configured. */
  readonly embeds?: boolean
}

export interface Opened {
  /** The index may be incomplete, and sign-ins are not limited. */
  readonly deps: Services
  readonly index: DerivedDatabase<IndexSchema>
  close(): Promise<void>
}

/** Functions that close what is open, called in reverse order. */
type Closing = (() => unknown)[]

/** Opens all dependencies and finishes or undoes the work of dead processes. Closes what is open on failure. */
export async function openDeps(config: Config, options: OpenOptions): Promise<Opened> {
  const closing: Closing = []
  const close = async () => {
    for (const one of closing.reverse()) await one()
  }
  try {
    const { deps, index } = await open(config, options, closing)
    await recoverAll(deps.store, (error) => {
      deps.log.error(
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

async function open(config: Config, options: OpenOptions, closing: Closing): Promise<Omit<Opened, 'close'>> {
  const { log, now = () => new Date(), draining = new AbortController().signal, worker = 1 } = options
  const metrics = newMetrics(worker)
  const alive = await joinProcesses(config, closing)
  const observer = databaseObserver(metrics, 'credentials')
  const credentials = await openCredentials(config, { log, draining, observer })
  closing.push(() => credentials.close())
  const placement = await openPlacement(config, { credentials, alive, ...options })
  closing.push(() => placement.close())
  const index = await openIndex(config, alive, { log, draining, metrics })
  closing.push(() => index.close())
  const events = await openEvents(config.dataDir, { log, draining, metrics })
  closing.push(() => events.close())
  const store = storeOf(config.dataDir, alive, { placement, metrics }, () => deps)
  const keys = await openKeys(credentials, config.publicUrl, now())
  const search = openSearch(config, log)
  closing.push(() => search.close())
  const deps: Services = {
    config,
    listening: { port: config.port },
    now,
    log,
    credentials,
    index,
    events,
    store,
    keys,
    search,
    metrics,
    limitSignIn: unlimitedSignIns,
    limitMail: unlimitedMail,
    placement,
    maintenance: watchMaintenanceMode(config.dataDir),
    reserve: watchReserve(config, log),
    draining,
    rounds: new Set(),
  }
  deps.rounds.add(auditRound(deps)).add({ name: 'the search thread', settle: search.settle })
  closing.push(() => flushAudit(deps))
  if (options.embeds !== true) return { deps, index }
  const embeddings = await openEmbeddings(deps, () => isAlone(config, alive), closing)
  return { deps: { ...deps, ...(embeddings && { embeddings }) }, index }
}

/** True if no process of another version uses the data folder. */
async function isAlone({ dataDir }: Config, alive: LiveProcess): Promise<boolean> {
  return !(await isOtherVersionAlive(runFolder(dataDir), alive.id))
}

/** Registers this process in the data folder, which it creates if necessary. @throws ConfigError */
async function joinProcesses(config: Config, closing: Closing): Promise<LiveProcess> {
  const run = runFolder(config.dataDir)
  await makeDataFolder(config.dataDir)
  freeReserve(config)
  await rememberCell(config)
  const alive = await registerProcess(run)
  closing.push(() => alive.close(), endRemovals, endCatFiles)
  // A lock that survives a power cut must name a process folder that also survives it.
  await syncDirectory(run)
  await writeVersion(alive.dir)
  await refuseOtherMajor(run, alive.id)
  return alive
}

function openIndex(
  config: Config,
  alive: LiveProcess,
  { log, draining, metrics }: Pick<Services, 'log' | 'draining' | 'metrics'>,
): Promise<DerivedDatabase<IndexSchema>> {
  const root = config.dataDir
  return openDerivedDatabase<IndexSchema>(join(root, indexFile), indexMigrations, {
    lockPrefix: join(runFolder(root), 'index'),
    closing: draining,
    observer: databaseObserver(metrics, 'index'),
    mayReplaceNewer: () => isAlone(config, alive),
    report: (done, error) => log.warn(error === undefined ? {} : { err: error }, done),
  })
}

/** Opens the database of events. If it is damaged or deleted, it begins again with the present. */
async function openEvents(
  root: string,
  { log, draining, metrics }: Pick<Services, 'log' | 'draining' | 'metrics'>,
): Promise<DerivedDatabase<LogSchema>> {
  const run = runFolder(root)
  const events = await openDerivedDatabase<LogSchema>(join(root, eventsFile), logMigrations, {
    lockPrefix: join(run, 'events'),
    closing: draining,
    observer: databaseObserver(metrics, 'events'),
    mayReplaceNewer: async () => false,
    report: (done, error) => log.warn(error === undefined ? {} : { err: error }, done),
  })
  // Nothing fills it: each log begins with the present.
  void events.keepWhole(async () => true)
  return events
}

/** @param deps returns the dependencies, to which this store belongs. Called after a recovery or a failed sync. */
function storeOf(
  root: string,
  alive: LiveProcess,
  { placement, metrics }: Pick<Services, 'placement' | 'metrics'>,
  deps: () => Services,
): Store {
  const run = runFolder(root)
  return {
    root,
    run,
    process: alive.id,
    claimDeadProcess: (id) => claimDeadProcess(run, id),
    onRecovered: (note) => recoverNoted(deps(), note),
    indexRepo: (repo) => recoverRepository(deps(), repo),
    onReadOnly: (repo) => void checkUntilWritable(deps(), repo),
    observer: storeObserver(metrics),
    fence: fenceOf(root, placement.fence, () => deps().now()),
  }
}

/** The fence of the placement, which also refuses changes in maintenance mode. */
function fenceOf(root: string, fence: Fence, now: () => Date): Fence {
  return {
    ...fence,
    enter: (folders) => {
      fence.enter(folders)
      refuseInMaintenance(root, now)
    },
  }
}

function openSearch({ dataDir, searchMemory }: Config, log: Logger): Services['search'] {
  return openSearchThread(
    {
      file: join(dataDir, indexFile),
      vectorsFile: join(dataDir, vectorsFile),
      folder: searchFolder(dataDir),
      memoryBytes: searchMemory,
    },
    {
      warned: (message, code) =>
        log.warn({ code, reason: message }, 'files of the search index could not be read or written'),
      died: (error) => log.error({ err: error }, 'the search thread died and is restarted'),
    },
  )
}

/** @throws LeaseError if another service has this cell's name; DatabaseError */
async function openPlacement(
  config: Config,
  options: OpenOptions & Pick<Services, 'credentials'> & { readonly alive: LiveProcess },
): Promise<Placement> {
  if (config.cell === undefined) return singleService
  const { credentials, alive, log, draining = new AbortController().signal, writes = false } = options
  const lease = await openLease({
    ...config.cell,
    credentials,
    log,
    draining,
    run: runFolder(config.dataDir),
    process: alive.id,
    leave: alive.close,
    isNeeded: writes,
  })
  return new Cell({ ...config.cell, root: config.dataDir, credentials, lease })
}
