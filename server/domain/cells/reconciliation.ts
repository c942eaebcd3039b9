/** Reconciles the directory of cells with the folders, after crashes and mistakes. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isGitError } from '../../../gitstore/errors.ts'
import { exists, listNames } from '../../../gitstore/fs-exists.ts'
import { moveRepo } from '../../../gitstore/repo-folders.ts'
import { claimNewer } from '../../../index/credentials/place-moves.ts'
import {
  type AgedPlace,
  changePlaceState,
  deletePlace,
  insertPlaces,
  listPlaces,
  listPlacesOf,
} from '../../../index/credentials/places.ts'
import { deleteRateCountsUntil } from '../../../index/credentials/rate-counts.ts'
import type { PlaceRow } from '../../../index/credentials/schema.ts'
import { indexOrg } from '../indexing/index-node.ts'
import { foreignOrgFolder, isId, orgFolder, trashFolder } from '../layout.ts'
import type { Services } from '../services.ts'
import type { CellDeps } from './cell.ts'
import { isClosed } from './closing.ts'
import { activateArrival, readEpoch, removeAbandoned } from './migration/receive.ts'
import { holdArriving, removeLog } from './migration/receive-log.ts'
import { finishDepartures } from './migration/send.ts'

/** Organisations per SQL statement. */
const placesAtOnce = 500
/** Milliseconds after which a claim without a folder is removed. */
const claimMs = 60 * 60_000

const minuteMs = 60_000
/** Milliseconds for which rate counts stay after their window. The clocks of two cells differ by less. */
const clocksDifferMs = minuteMs

/** Returns the background jobs of a cell, moves first. */
export function cellJobs(deps: CellDeps) {
  return [
    {
      chore: 'moves',
      everyMs: 15_000,
      work: () => finishMoves(deps),
      failed: 'moves between cells that have ended early could not be settled',
    },
    {
      chore: 'places',
      everyMs: 5 * minuteMs,
      work: () => reconcilePlaces(deps),
      failed: 'the directory of cells could not be compared with the folders',
    },
    {
      chore: 'rates',
      everyMs: 5 * minuteMs,
      work: () => deps.credentials.write((trx) => deleteRateCountsUntil(trx, Date.now() - clocksDifferMs)),
      failed: 'counts of rates that have ended could not be removed',
    },
  ]
}

/**
 * Reconciles folders and places. A folder without a place is claimed. A folder whose place is another cell is renamed,
 * so that nothing serves it. Claims that have a folder, and organisations in the trash, are recorded in the directory.
 */
export async function reconcilePlaces(deps: CellDeps): Promise<void> {
  const { store, draining } = deps
  const folders = (await listNames(store.root)).filter(isId)
  for (let at = 0; at < folders.length && !draining.aborted; at += placesAtOnce)
    await reconcileFolders(deps, folders.slice(at, at + placesAtOnce))
  const trashed = await listTrashedOrgs(deps)
  const gone = [...trashed]
  for (let at = 0; at < gone.length && !draining.aborted; at += placesAtOnce)
    await claimMissing(deps, gone.slice(at, at + placesAtOnce), 'gone')
  for (const state of ['making', 'here'] as const)
    for await (const place of placesOf(deps, state)) await reconcilePlace(deps, place, trashed)
}

async function reconcileFolders(deps: CellDeps, orgIds: readonly string[]): Promise<void> {
  const { credentials, placement: cell, store } = deps
  for (const place of await claimMissing(deps, orgIds, 'here')) {
    const isHere = exists(orgFolder(store, place.org_id))
    // An organisation that takes no changes is moving. `finishMoves` ends that.
    if (!isHere || isClosed(store, place.org_id)) continue
    if (place.cell !== cell.name && !(await isNewer(deps, place))) await setAside(deps, place)
    // A deleted one that has a folder again was taken out of the trash by the operator.
    else if (place.state === 'making' || place.state === 'gone')
      await credentials.write((trx) => changePlaceState(trx, place, 'here'))
  }
}

/** True if the folder has moved more often than the directory knows. The directory was rebuilt from older folders. */
async function isNewer({ credentials, placement, store }: CellDeps, { org_id, epoch }: PlaceRow): Promise<boolean> {
  const own = await readEpoch(orgFolder(store, org_id))
  return (
    own > epoch && (await credentials.write((trx) => claimNewer(trx, { org_id, cell: placement.name, epoch: own })))
  )
}

/**
 * Ends moves in the directory that no living process continues. One that cannot be ended does not stop the others.
 */
export async function finishMoves(deps: CellDeps): Promise<void> {
  const { log, placement: cell, store } = deps
  const departing = new Set<string>()
  for await (const { org_id: orgId, target } of placesOf(deps, 'moving')) {
    if (target !== cell.name) departing.add(orgId)
    else
      await activateArrival(deps, { orgId }).catch((error: unknown) => {
        log.error(
          { err: error, orgId },
          'an organisation that moved here could not be put into its place; the next sweep retries',
        )
      })
  }
  const folders = (await listNames(store.root)).filter(isId)
  for (let at = 0; at < folders.length; at += placesAtOnce) {
    for (const orgId of folders.slice(at, at + placesAtOnce)) if (isClosed(store, orgId)) departing.add(orgId)
    await nextTurn()
  }
  await finishDepartures(deps, [...departing])
  await removeAbandoned(deps)
}

/** Returns the places of these organisations. Gives this cell those without a place. */
async function claimMissing(
  { credentials, placement: { name } }: CellDeps,
  orgIds: readonly string[],
  state: 'here' | 'gone',
): Promise<PlaceRow[]> {
  const known = await listPlaces(credentials.read, orgIds)
  const missing = orgIds.filter((id) => !known.some(({ org_id }) => org_id === id))
  if (missing.length === 0) return known
  await credentials.write((trx) => insertPlaces(trx, name, missing, state))
  return listPlaces(credentials.read, orgIds)
}

/** Renames the folder of an organisation that another cell serves. It comes from an old backup or a mistake. */
async function setAside(deps: CellDeps, { org_id: orgId, cell }: PlaceRow): Promise<void> {
  const { log, now, store } = deps
  const aside = foreignOrgFolder(store, orgId)
  // The organisation was not deleted, so its log must not say so.
  await holdArriving(deps, orgId)
  const path = await moveRepo(orgFolder(store, orgId), aside).then(
    () => aside,
    async (error: unknown) => {
      if (!isGitError(error, 'repo_exists')) throw error
      await moveRepo(orgFolder(store, orgId), `${aside}.${now().getTime()}`)
      return `${aside}.${now().getTime()}`
    },
  )
  await indexOrg(deps, orgId)
  await removeLog(deps, orgId)
  log.error({ orgId, path, cell }, 'the folder of an organisation of another cell was renamed; it is not served')
}

async function reconcilePlace(
  { credentials, log, store }: Services,
  place: AgedPlace,
  trashed: ReadonlySet<string>,
): Promise<void> {
  const { org_id: orgId, state, age } = place
  if (exists(orgFolder(store, orgId))) return
  if (state === 'making') {
    if (age > claimMs) await credentials.write((trx) => deletePlace(trx, place))
  } else if (trashed.has(orgId)) await credentials.write((trx) => changePlaceState(trx, place, 'gone'))
  // It may have been deleted since the list.
  else if (!(await listTrashedOrgs({ store })).has(orgId))
    log.error({ orgId }, 'an organisation of this cell has no folder here')
}

/** Lists organisations that were deleted here, including purged ones, which must not be created again. */
async function listTrashedOrgs({ store }: Pick<Services, 'store'>): Promise<Set<string>> {
  const names = (await listNames(trashFolder(store))).filter((name) => name.includes('.'))
  const ids = names.map((name) => name.slice(0, name.indexOf('.'))).filter(isId)
  return new Set(ids.filter((id) => !exists(orgFolder(store, id))))
}

async function* placesOf({ credentials, draining, placement }: CellDeps, state: PlaceRow['state']) {
  for (let beyond = ''; !draining.aborted; ) {
    const places = await listPlacesOf(credentials.read, { cell: placement.name, state, beyond, limit: placesAtOnce })
    yield* places
    beyond = places.at(-1)?.org_id ?? ''
    if (places.length < placesAtOnce) return
  }
}
