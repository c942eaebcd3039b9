/**
 * Receives the log of an organisation that another cell sends. Its rows are in the tables, and sealed: nothing is
 * appended until the organisation is here.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { exists } from '../../../../gitstore/fs-exists.ts'
import { findWholePlace } from '../../../../index/credentials/place-moves.ts'
import { findLog } from '../../../../index/log/events.ts'
import {
  countMovedRows,
  digestOfRows,
  listRange,
  type MovedRow,
  putRows,
  type RowRange,
  removeLogSlice,
  removeOthers,
} from '../../../../index/log/moved-tables.ts'
import { holdLog, listSealed, openLog, putSealedLog } from '../../../../index/log/sealed-logs.ts'
import { syncEvents } from '../../event-log/durable-events.ts'
import { wakeReaders } from '../../event-log/wake.ts'
import { orgFolder } from '../../layout.ts'
import type { CellDeps } from '../cell.ts'
import { isClosed } from '../closing.ts'
import type { ArrivedLog, MovedLog } from './copying.ts'
import { arrivingOf } from './movable.ts'

/** The most rows of a range. The sender cuts longer ones. */
const mostRows = 1_000

/** Takes the row of a log. The rows of another log of the organisation are removed first. */
export async function takeLog(deps: CellDeps, orgId: string, log: MovedLog): Promise<void> {
  const known = await findLog(deps.events.read, orgId)
  if (known && known.log_id !== log.log_id) await removeRows(deps, orgId, () => true)
  await deps.events.write((trx) => putSealedLog(trx, { ...log, org_id: orgId }))
}

/** Returns the digest of the rows of a range. */
export async function digestOfArrived(deps: CellDeps, orgId: string, range: RowRange): Promise<string> {
  // A range with more rows differs from any that is sent.
  return digestOfRows(await listRange(deps.events.read, orgId, range, mostRows + 1))
}

/** Replaces the rows of a range. Returns their digest. */
export async function takeRange(
  deps: CellDeps,
  orgId: string,
  range: RowRange,
  rows: readonly MovedRow[],
): Promise<string> {
  while (!(await deps.events.write((trx) => removeOthers(trx, orgId, range, rows)))) await nextTurn()
  await deps.events.write((trx) => putRows(trx, range.table, rows))
  return digestOfArrived(deps, orgId, range)
}

/** Returns what has arrived, which is durable then. */
export async function readArrivedLog(deps: CellDeps, orgId: string): Promise<ArrivedLog> {
  const found = await findLog(deps.events.read, orgId)
  const counts = await countMovedRows(deps.events.read, orgId)
  await syncEvents(deps)
  if (found === undefined) return { log: null, counts }
  const { sealed: _, ...log } = found
  return { log, counts }
}

/** Keeps the log of an arriving organisation from being begun or continued. */
export async function holdArriving({ events }: Pick<CellDeps, 'events'>, orgId: string): Promise<void> {
  await events.write((trx) => holdLog(trx, orgId))
}

/** Opens the log of an organisation that takes changes here. */
export async function openOwnLog(deps: Pick<CellDeps, 'events'>, orgId: string): Promise<void> {
  if ((await findLog(deps.events.read, orgId))?.sealed !== 1) return
  await deps.events.write((trx) => openLog(trx, orgId))
  wakeReaders(deps, orgId)
}

/** Removes the log of an organisation that another cell has. Ends if it is arriving again. */
export async function removeLog(deps: CellDeps, orgId: string): Promise<void> {
  await removeRows(deps, orgId, () => isAway(deps, orgId))
}

/** True if nothing of the organisation is here, or arriving. */
function isAway({ store }: Pick<CellDeps, 'store'>, orgId: string): boolean {
  return !exists(orgFolder(store, orgId)) && !exists(arrivingOf(store, orgId))
}

/** Removes rows in slices. Calls `mayRemove` in the transaction of each, and ends if it is false. */
async function removeRows({ events }: CellDeps, orgId: string, mayRemove: () => boolean): Promise<void> {
  const slice = () => events.write(async (trx) => !mayRemove() || (await removeLogSlice(trx, orgId)))
  while (!(await slice())) await nextTurn()
}

/** Lists organisations whose log a dead process has left sealed. @throws DatabaseError */
export async function listLeftSealed(deps: CellDeps): Promise<string[]> {
  const left: string[] = []
  for (const orgId of await listSealed(deps.events.read)) if (await endOf(deps, orgId)) left.push(orgId)
  return left
}

/**
 * Opens or removes a log that a dead process has left sealed. The caller holds the lock of moves of this cell, so that
 * the organisation is not about to leave.
 */
export async function settleLog(deps: CellDeps, orgId: string): Promise<void> {
  const settle = await endOf(deps, orgId)
  await settle?.(deps, orgId)
}

/** Returns what the directory says about a sealed log. Undefined: its move has not ended. */
async function endOf(deps: CellDeps, orgId: string): Promise<typeof openOwnLog | typeof removeLog | undefined> {
  const { credentials, placement: cell, store } = deps
  const place = await findWholePlace(credentials.read, orgId)
  if (place?.state === 'moving' && [place.cell, place.target].includes(cell.name)) return undefined
  if (place?.cell === cell.name) return isClosed(store, orgId) ? undefined : openOwnLog
  return isAway(deps, orgId) ? removeLog : undefined
}
