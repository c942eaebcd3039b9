/**
 * Moves an organisation of this cell to another one.
 *
 * It is copied while it is in use. Then it takes no changes for a moment, in which the changes since are also copied.
 * Then the directory gives it to the other cell. Reads continue until then.
 *
 * The change of the directory is the commit point. Before it, everything can be undone. After it, each cell finishes
 * its part, in the command or in its sweep.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder } from '../../../../gitstore/durable.ts'
import { GitError } from '../../../../gitstore/errors.ts'
import { exists } from '../../../../gitstore/fs-exists.ts'
import { isOwnedByLiveProcess } from '../../../../gitstore/refs/ref-lock.ts'
import { recoverAll } from '../../../../gitstore/refs/ref-transaction.ts'
import { moveRepo } from '../../../../gitstore/repo-folders.ts'
import { beginMove, decideMove, findWholePlace, undoMove } from '../../../../index/credentials/place-moves.ts'
import { DatabaseError } from '../../../../index/sqlite/database.ts'
import { withFileLock } from '../../../../index/sqlite/file-lock.ts'
import { indexOrg } from '../../indexing/index-node.ts'
import { withNodeIntent } from '../../indexing/recovered.ts'
import { movedOrgFolder, orgFolder, trashFolder, trashName } from '../../layout.ts'
import { refuseInMaintenance } from '../../maintenance-mode.ts'
import type { CellDeps } from '../cell.ts'
import { close, isClosed, reopen } from '../closing.ts'
import { type CopyOptions, createCopier, type Destination, LeftClosedError, NotMovedError } from './copying.ts'
import { LogCopier } from './copying-log.ts'
import { listLeftSealed, openOwnLog, removeLog, settleLog } from './receive-log.ts'

export interface Moved {
  readonly repositories: number
  /** Milliseconds for which changes were refused. */
  readonly closedMs: number
  /** False: the other cell does not answer. Its sweep will see the directory and serve the organisation. */
  readonly isServed: boolean
}

/** Milliseconds for running changes to end after the organisation has stopped taking new ones. */
const changesEndMs = 30_000
const lookEveryMs = 20
/** Milliseconds for running reads to end before the folder goes. Clients must repeat longer ones. */
const readsEndMs = 1_000
/** Milliseconds for which the other cell is asked to serve the organisation. */
const arriveMs = 30_000

/**
 * Moves an organisation. Only one of a cell moves at a time.
 *
 * @throws LeftClosedError. Any other error, such as NotMovedError, means that everything is as before.
 */
export async function moveOrg(deps: CellDeps, orgId: string, to: Destination, options: CopyOptions): Promise<Moved> {
  deps.placement.lease.before()
  refuseInMaintenance(deps.store.root, deps.now)
  const moved = await alone(deps, options.signal, async () => {
    await finishDeparture(deps, orgId)
    await requireHere(deps, orgId)
    return moveAlone(deps, orgId, to, options)
  })
  options.signal.throwIfAborted()
  if (moved === undefined) throw new NotMovedError('Another process is moving an organisation of this cell')
  return moved
}

/**
 * Runs `work` while no other process moves an organisation of this cell. Undefined: a living process does.
 *
 * @throws DatabaseError; errors of `work`
 */
function alone<T>(
  { store }: Pick<CellDeps, 'store'>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | undefined> {
  let began = false
  return withFileLock(
    join(store.run, 'moves'),
    signal,
    () => {
      began = true
      return work()
    },
    0,
  ).catch((error: unknown) => {
    if (began || !(error instanceof DatabaseError && error.code === 'busy')) throw error
    return undefined
  })
}

async function moveAlone(deps: CellDeps, orgId: string, to: Destination, options: CopyOptions): Promise<Moved> {
  const { placement: cell } = deps
  const copy = createCopier(deps, orgId, to, options)
  const log = new LogCopier(deps, orgId, to, options)
  let closedAt = 0
  try {
    await copy.inUse()
    await log.inUse()
    await prepareAll(to, orgId)
    closedAt = performance.now()
    await close(deps.store, orgId)
    const begun = await deps.credentials.write((trx) => beginMove(trx, { orgId, from: cell.name, to: to.name }))
    if (begun === undefined) throw new NotMovedError('It is already moving, or was just deleted')
    await changesHaveEnded(deps, orgId, options.signal)
    await copy.last()
    await log.last()
    await prepareAll(to, orgId)
    options.signal.throwIfAborted()
    cell.lease.before()
    if (!(await deps.credentials.write((trx) => decideMove(trx, begun, to.name))))
      throw new NotMovedError('The service has undone the move')
  } catch (error) {
    const isAsBefore = closedAt === 0 || (await isUndone(deps, orgId))
    if (isAsBefore) throw exists(orgFolder(deps.store, orgId)) ? asNotMoved(error) : deletedMeanwhile(error)
  }
  const isServed = await arrived(to, orgId)
  const closedMs = performance.now() - closedAt
  if (isServed) {
    await sleep(readsEndMs)
    await leave(deps, orgId)
  }
  return { repositories: copy.repositories(), closedMs, isServed }
}

function asNotMoved(error: unknown): unknown {
  const isFault = error instanceof DatabaseError || error instanceof GitError
  return isFault ? new NotMovedError(error.message, { cause: error }) : error
}

function deletedMeanwhile(cause: unknown): NotMovedError {
  return new NotMovedError('It was deleted during the move', { cause })
}

async function requireHere({ credentials, placement: cell, store }: CellDeps, orgId: string): Promise<void> {
  const place = await findWholePlace(credentials.read, orgId)
  if (place === undefined || place.state === 'gone') throw new NotMovedError('There is no such organisation')
  if (place.cell !== cell.name) throw new NotMovedError(`The cell ${place.cell} has it: run the command there`)
  if (!exists(orgFolder(store, orgId))) throw new NotMovedError('Its folder is not here')
}

async function prepareAll(to: Destination, orgId: string): Promise<void> {
  for (let beyond: string | undefined = ''; beyond !== undefined; ) beyond = await to.prepare(orgId, beyond)
}

/** Waits until no token of a living process names a repository of it. Recovers those of dead processes. */
async function changesHaveEnded(deps: CellDeps, orgId: string, signal: AbortSignal): Promise<void> {
  await recoverAll(deps.store, (error) => deps.log.warn({ err: error }, 'a dead process could not be recovered'))
  for (const began = performance.now(); await isOwnedByLiveProcess(deps.store, orgId); ) {
    signal.throwIfAborted()
    if (performance.now() - began > changesEndMs)
      throw new NotMovedError('A running change does not end, or cannot be indexed')
    await sleep(lookEveryMs)
  }
}

/**
 * Undoes the move. Returns false if the directory has already given the organisation to the other cell.
 *
 * @throws LeftClosedError
 */
async function isUndone(deps: CellDeps, orgId: string): Promise<boolean> {
  const { credentials, placement: cell, store } = deps
  try {
    const found = await findWholePlace(credentials.read, orgId)
    if (found?.state === 'moving') await credentials.write((trx) => undoMove(trx, found))
    const isHere = (await findWholePlace(credentials.read, orgId))?.cell === cell.name
    if (isHere) {
      // If it fails, the sweep opens it.
      await openOwnLog(deps, orgId).catch((error: unknown) => {
        deps.log.warn({ err: error, orgId }, 'the log of an organisation that stays could not be opened yet')
      })
      await reopen(store, orgId)
    }
    return isHere
  } catch (error) {
    throw new LeftClosedError(error)
  }
}

async function arrived(to: Destination, orgId: string): Promise<boolean> {
  for (const began = performance.now(); ; await sleep(1_000)) {
    try {
      await to.arrive(orgId)
      return true
    } catch {
      if (performance.now() - began > arriveMs) return false
    }
  }
}

/** Moves an organisation that another cell has to the trash, with its deleted nodes. Its rows and its log go. */
async function leave(deps: CellDeps, orgId: string): Promise<void> {
  const { store } = deps
  const folder = orgFolder(store, orgId)
  const deleted = join(trashFolder(store), orgId)
  // First, because after a crash nothing would search for a folder that is left after the second step.
  if (exists(deleted)) await moveRepo(deleted, join(folder, trashName))
  await makeFolder(trashFolder(store))
  await moveRepo(folder, movedOrgFolder(store, orgId, deps.now()))
  await withNodeIntent(deps, orgId, [], () => indexOrg(deps, orgId))
  await removeLog(deps, orgId)
}

/**
 * Finishes or undoes the moves that dead processes have begun, as the directory says. An organisation of this cell
 * takes changes again. One that another cell has leaves when that cell serves it. Does nothing while a living process
 * moves one. Then it opens or removes the logs that they have sealed. For the sweep.
 *
 * @param orgIds organisations that are moving by the directory, or take no changes
 * @throws DatabaseError, GitError storage_*
 */
export async function finishDepartures(deps: CellDeps, orgIds: readonly string[]): Promise<void> {
  const sealed = await listLeftSealed(deps)
  if (orgIds.length + sealed.length === 0) return
  await alone(deps, deps.draining, async () => {
    for (const orgId of orgIds) {
      await finishDeparture(deps, orgId).catch((error: unknown) => {
        deps.log.error({ err: error, orgId }, 'the move of an organisation could not be ended; the next sweep retries')
      })
    }
    for (const orgId of sealed) await settleLog(deps, orgId)
  })
}

/** Ends one move. The caller holds the lock of `alone`. */
async function finishDeparture(deps: CellDeps, orgId: string): Promise<void> {
  const { credentials, log, placement: cell, store } = deps
  const place = await findWholePlace(credentials.read, orgId)
  const isLeft = place?.state === 'moving' ? place.target !== cell.name : isClosed(store, orgId)
  if (place === undefined || !isLeft) return
  if (await isUndone(deps, orgId))
    log.warn({ orgId }, 'undid the move of an organisation, whose command has ended early')
  else if (place.cell !== cell.name && place.state !== 'moving' && exists(orgFolder(store, orgId))) {
    await leave(deps, orgId)
    log.warn({ orgId, cell: place.cell }, 'finished the move of an organisation to another cell')
  }
}
