/**
 * Receives an organisation that another cell sends.
 *
 * Its repositories are in a folder that nothing serves, and its rows in the index, until the directory gives it to this
 * cell.
 */
import { mkdir, readFile, rm, rmdir, stat, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { makeFolder, replaceFile, syncDirectory } from '../../../../gitstore/durable.ts'
import { GitError, isDamage } from '../../../../gitstore/errors.ts'
import { exists, ignoreMissing, listNames } from '../../../../gitstore/fs-exists.ts'
import { createRepoBy } from '../../../../gitstore/new-repos.ts'
import { findDamage } from '../../../../gitstore/objects/fsck.ts'
import { withRepoIntent } from '../../../../gitstore/refs/ref-transaction.ts'
import { listRefs } from '../../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../../gitstore/repo.ts'
import { moveRepo, repoExists } from '../../../../gitstore/repo-folders.ts'
import { unfinishedName } from '../../../../gitstore/temporary-names.ts'
import { receivePack, refsDigest, replaceRefs } from '../../../../gitstore/transfer/pack-transfer.ts'
import { type BegunMove, endMove, findWholePlace } from '../../../../index/credentials/place-moves.ts'
import { listNodeStates } from '../../../../index/derived/node-queries.ts'
import type { MovedRow, RowRange } from '../../../../index/log/moved-tables.ts'
import { withFileLock } from '../../../../index/sqlite/file-lock.ts'
import { AppError } from '../../../base/errors.ts'
import { correctBytes, countTrash } from '../../indexing/byte-counts.ts'
import { indexOrg } from '../../indexing/index-node.ts'
import { withNodeIntent } from '../../indexing/recovered.ts'
import {
  type IndexOne,
  indexMoved,
  indexMovedOrg,
  indexOne,
  type UnreadableRepository,
} from '../../indexing/reindex.ts'
import { listNodes } from '../../indexing/stored-repositories.ts'
import { arrivingFolder, epochFile, isId, orgFolder, trashFolder, trashName } from '../../layout.ts'
import type { CellDeps } from '../cell.ts'
import type { ArrivedLog, MovedLog } from './copying.ts'
import { arrivingOf, isMovable, listMovable } from './movable.ts'
import {
  digestOfArrived,
  holdArriving,
  openOwnLog,
  readArrivedLog,
  removeLog,
  takeLog,
  takeRange,
} from './receive-log.ts'

/** Milliseconds for which one request indexes. */
const prepareMs = 5_000
/** Milliseconds for which one arrival waits for another. */
const arrivalsMs = 60_000
/** Nodes compared with the index at a time. */
const nodesAtOnce = 100
/** Milliseconds after which the folder of an unfinished move is removed, unless another move begins. */
const abandonedAfterMs = 24 * 3_600_000

/** The sending cell and the organisation. `http` has verified the cell. */
export interface Sender {
  readonly cell: string
  readonly orgId: string
}

/** Runs a step of a move as a change. Maintenance mode waits for it, or refuses it. @throws AppError maintenance */
export function asChange<T>({ store }: Pick<CellDeps, 'store'>, step: () => Promise<T>): Promise<T> {
  return withRepoIntent(store, basename(arrivingFolder(store.root)), '', step)
}

/** Returns the digest of the refs of each repository that has arrived, by its path. @throws errors of `accept` */
export async function listArrived(deps: CellDeps, sender: Sender): Promise<Record<string, string>> {
  await accept(deps, sender)
  const folder = arrivingOf(deps.store, sender.orgId)
  // A move calls this first. It uses the repositories that an earlier one sent, so they must not be removed.
  await ignoreMissing(utimes(folder, deps.now(), deps.now()))
  const found: Record<string, string> = {}
  for (const path of await listMovable(folder, join(folder, trashName))) {
    found[path] = refsDigest(listRefs({ dir: join(folder, path) }, 'refs/'))
    await nextTurn()
  }
  return found
}

/** Returns the refs of a repository, or none if it has not arrived. @throws errors of `accept` */
export async function refsOfArrived(deps: CellDeps, sender: Sender, path: string): Promise<ReadonlyMap<string, Oid>> {
  await accept(deps, sender)
  const repo = repoAt(deps, sender, path)
  return repoExists(repo) ? listRefs(repo, 'refs/', 'afresh') : new Map()
}

/** @throws errors of `accept`; GitError native_failed: the pack is damaged, or needs objects that are missing */
export async function takeObjects(
  deps: CellDeps,
  sender: Sender,
  path: string,
  pack: Readable,
  signal: AbortSignal,
): Promise<void> {
  await accept(deps, sender)
  await receivePack(await madeRepo(deps, sender, path), pack, signal)
}

/**
 * Sets the refs and returns their digest. They and all objects that they reach are then durable.
 *
 * @throws errors of `accept`; AppError repo_damaged, outcome_unknown
 */
export async function takeRefs(
  deps: CellDeps,
  sender: Sender,
  path: string,
  refs: ReadonlyMap<string, Oid>,
): Promise<string> {
  await accept(deps, sender)
  const repo = await madeRepo(deps, sender, path)
  await replaceRefs(repo, refs)
  const damage = await findDamage(repo)
  if (damage !== undefined) throw new AppError('repo_damaged', `${path}: ${damage}`)
  deps.placement.lease.after()
  return refsDigest(listRefs(repo, 'refs/', 'afresh'))
}

/** Removes a repository that the source no longer has. @throws errors of `accept` */
export async function dropArrived(deps: CellDeps, sender: Sender, path: string): Promise<void> {
  await accept(deps, sender)
  await rm(repoAt(deps, sender, path).dir, { recursive: true, force: true })
}

/** Takes the row of the organisation's log. @throws errors of `accept` */
export async function takeArrivingLog(deps: CellDeps, sender: Sender, log: MovedLog): Promise<void> {
  await accept(deps, sender)
  // `removeLog` searches for this folder.
  await makeFolder(arrivingOf(deps.store, sender.orgId))
  await takeLog(deps, sender.orgId, log)
}

/** Returns the digest of the rows of a range that have arrived. @throws errors of `accept` */
export async function digestOfArrivedRange(deps: CellDeps, sender: Sender, range: RowRange): Promise<string> {
  await accept(deps, sender)
  return digestOfArrived(deps, sender.orgId, range)
}

/** Replaces the rows of a range, and returns their digest. @throws errors of `accept` */
export async function takeArrivingRange(
  deps: CellDeps,
  sender: Sender,
  range: RowRange,
  rows: readonly MovedRow[],
): Promise<string> {
  await accept(deps, sender)
  return takeRange(deps, sender.orgId, range, rows)
}

/** Returns what has arrived of the log, which is durable then. @throws errors of `accept` */
export async function listArrivedLog(deps: CellDeps, sender: Sender): Promise<ArrivedLog> {
  await accept(deps, sender)
  const arrived = await readArrivedLog(deps, sender.orgId)
  deps.placement.lease.after()
  return arrived
}

/**
 * Indexes the nodes after `beyond` that have arrived, for some seconds. Returns the last node that is indexed, or
 * undefined if all are.
 *
 * @throws errors of `accept`
 * @throws AppError node_exists (another organisation of this cell has a node with the same id), repo_damaged
 */
export async function prepareArrival(deps: CellDeps, sender: Sender, beyond: string): Promise<string | undefined> {
  await accept(deps, sender)
  return indexArrived(deps, sender, beyond, performance.now() + prepareMs)
}

/**
 * Renames into place an organisation that the directory gives to this cell, and serves it. May be repeated.
 *
 * @throws AppError moving: the directory has not given it to this cell
 * @throws DatabaseError busy: another organisation is arriving
 * @throws GitError storage_error: nothing of it is here
 * @throws errors of `prepareArrival`
 */
export async function activateArrival(deps: CellDeps, at: Pick<Sender, 'orgId'>): Promise<void> {
  await alone(deps, () => arriveAlone(deps, at))
}

/**
 * Runs `work` while no other process activates or removes arrivals. Another cell's request and the sweep may compete.
 */
function alone<T>({ store, draining }: CellDeps, work: () => Promise<T>): Promise<T | undefined> {
  return withFileLock(join(store.run, 'arrivals'), draining, work, arrivalsMs)
}

async function arriveAlone(deps: CellDeps, at: Pick<Sender, 'orgId'>): Promise<void> {
  const cell = deps.placement
  const place = await findWholePlace(deps.credentials.read, at.orgId)
  if (place?.cell !== cell.name || (place.state === 'moving' && place.target !== cell.name))
    throw new AppError('moving', 'The directory does not say that the organisation is here')
  if (place.state !== 'moving') return
  cell.lease.before()
  const folder = arrivingOf(deps.store, at.orgId)
  if (exists(folder)) await putIntoPlace(deps, at, place)
  // The sending cell removes its folder only after the end of the move.
  else if (!exists(orgFolder(deps.store, at.orgId)))
    throw new GitError('storage_error', 'The repositories that another cell has sent are missing', { orgId: at.orgId })
  // The organisation is served only once its log takes events.
  await openOwnLog(deps, at.orgId)
  await indexOrg(deps, at.orgId)
  await deps.credentials.write((trx) => endMove(trx, place))
}

async function putIntoPlace(deps: CellDeps, at: Pick<Sender, 'orgId'>, { epoch }: BegunMove): Promise<void> {
  const folder = arrivingOf(deps.store, at.orgId)
  await indexArrived(deps, at, '', Number.POSITIVE_INFINITY)
  await replaceFile(join(folder, epochFile), `${epoch}\n`)
  const trash = join(trashFolder(deps.store), at.orgId)
  const deleted = await listNames(join(folder, trashName))
  if (deleted.length > 0) await makeFolder(trash)
  for (const name of deleted) {
    // One of the same node and time remains if the organisation was here before.
    await rm(join(trash, name), { recursive: true, force: true })
    await moveRepo(join(folder, trashName, name), join(trash, name))
  }
  await rmdir(join(folder, trashName)).catch(() => undefined)
  await withNodeIntent(deps, at.orgId, [], async () => {
    await moveRepo(folder, orgFolder(deps.store, at.orgId))
    await indexOrg(deps, at.orgId)
    await countTrash(deps, at.orgId, () => true)
  })
}

/** Returns how often the organisation in that folder had moved when it came. 1: not at all. @throws system errors */
export async function readEpoch(folder: string): Promise<number> {
  const text = (await ignoreMissing(readFile(join(folder, epochFile), 'utf8'))) ?? ''
  return /^\d{1,15}\n$/.test(text) ? Number(text) : 1
}

/** Removes the folders of abandoned moves. For the sweep. */
export async function removeAbandoned(deps: CellDeps): Promise<void> {
  for (const orgId of (await listNames(arrivingFolder(deps.store.root))).filter(isId)) {
    if (deps.draining.aborted) return
    if (await isAbandoned(deps, orgId)) await abandon(deps, orgId)
  }
}

async function isAbandoned(deps: CellDeps, orgId: string): Promise<boolean> {
  const sent = await ignoreMissing(stat(arrivingOf(deps.store, orgId)))
  const place = await findWholePlace(deps.credentials.read, orgId)
  if (sent === undefined || (place?.state === 'moving' && place.target === deps.placement.name)) return false
  return place?.state === 'gone' || deps.now().getTime() - sent.mtimeMs > abandonedAfterMs
}

/** Removes the folder, the rows that were indexed beforehand, and the log. */
async function abandon(deps: CellDeps, orgId: string): Promise<void> {
  // Renamed first, because a partly removed organisation must not arrive.
  const going = join(deps.store.root, unfinishedName())
  const isPutAside = await alone(deps, async () => {
    // Checked again, because it may have just arrived.
    if (!(await isAbandoned(deps, orgId))) return false
    await withNodeIntent(deps, orgId, [], async () => {
      await moveRepo(arrivingOf(deps.store, orgId), going)
      await indexOrg(deps, orgId)
    })
    return true
  })
  if (!isPutAside) return
  await rm(going, { recursive: true, force: true })
  await removeLog(deps, orgId)
  deps.log.warn({ orgId }, 'removed what another cell had sent of an organisation that never moved here')
}

/** Indexes like `prepareArrival`, until that time of `performance.now()`. */
async function indexArrived(
  deps: CellDeps,
  { orgId }: Pick<Sender, 'orgId'>,
  beyond: string,
  until: number,
): Promise<string | undefined> {
  const staged = stagedDeps(deps)
  await holdArriving(deps, orgId)
  const failed: UnreadableRepository[] = []
  await indexMovedOrg(staged, orgId, failed)
  const nodes = (await listNodes(staged, orgId)).filter((id) => id > beyond)
  while (nodes.length > 0 && failed.length === 0) {
    const some = nodes.splice(0, nodesAtOnce)
    await indexMoved(staged, orgId, some, failed, indexMeasured)
    const other = (await listNodeStates(deps.index.read, some)).find((row) => row.org_id !== orgId)
    if (other !== undefined)
      throw new AppError('node_exists', `The organisation ${other.org_id} in this cell also has a node ${other.id}`)
    if (nodes.length > 0 && failed.length === 0 && performance.now() > until) return some.at(-1)
    await nextTurn()
  }
  const [first] = failed
  if (first === undefined) return undefined
  throw isDamage(first.error) ? new AppError('repo_damaged', `${first.path}: ${first.reason}`) : first.error
}

/** Indexes a node and measures it, because Git has written its packs. */
const indexMeasured: IndexOne = async (deps, orgId, nodeId) => {
  await indexOne(deps, orgId, nodeId)
  if (nodeId !== undefined) await correctBytes(deps, orgId, nodeId)
}

/** Returns dependencies whose repositories are the arriving ones. */
function stagedDeps(deps: CellDeps): CellDeps {
  return { ...deps, store: { ...deps.store, root: arrivingFolder(deps.store.root) } }
}

/** @throws AppError bad_request if no repository of an organisation can have that path */
function repoAt(deps: CellDeps, sender: Sender, path: string): Repo {
  if (!isMovable(path)) throw new AppError('bad_request', 'There is no such repository')
  return { dir: join(arrivingOf(deps.store, sender.orgId), path) }
}

async function madeRepo(deps: CellDeps, sender: Sender, path: string): Promise<Repo> {
  const repo = repoAt(deps, sender, path)
  if (repoExists(repo)) return repo
  const folder = arrivingOf(deps.store, sender.orgId)
  await makeFolder(join(repo.dir, '..'))
  await syncDirectory(folder)
  return createRepoBy(repo.dir, async ({ dir }) => {
    await mkdir(join(dir, 'objects/pack'))
  })
}

/**
 * Checks that the sender has the organisation and that this cell can take it.
 *
 * @throws AppError forbidden, storage_readonly, moving (this cell has a folder of that organisation)
 */
async function accept(deps: CellDeps, { cell: from, orgId }: Sender): Promise<void> {
  const cell = deps.placement
  cell.lease.before()
  const place = await findWholePlace(deps.credentials.read, orgId)
  if (place?.cell !== from || !(place.state === 'here' || place.state === 'moving'))
    throw new AppError('forbidden', `The directory does not say that the cell ${from} has the organisation`)
  if (exists(orgFolder(deps.store, orgId)))
    throw new AppError(
      'moving',
      `The cell ${cell.name} has a folder of that organisation, which it will soon set aside`,
    )
}
