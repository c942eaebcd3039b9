/** Where organisations are: the directory of all cells. */
import { randomInt } from 'node:crypto'
import { isThere } from '../../../gitstore/presence.ts'
import { findCell, listCells } from '../../../index/credentials/cells.ts'
import { type FoundPlace, findPlaceRow } from '../../../index/credentials/places.ts'
import type { CellRow } from '../../../index/credentials/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { orgFolder } from '../layout.ts'
import { isClosed } from './closing.ts'

/**
 * The cell that has the organisation, as it was known at most 5 s ago; undefined where none has it, or there are no cells.
 * A cell that has the folder of the organisation knows better, and does not ask.
 *
 * @throws DatabaseFault
 */
async function findPlace(
  { cell, credentials }: Pick<Deps, 'cell' | 'credentials'>,
  orgId: string,
): Promise<FoundPlace | undefined> {
  if (cell === undefined) return undefined
  const known = cell.places.get(orgId)
  if (known !== undefined) return known
  const found = await findPlaceRow(credentials.read, orgId)
  // What is being made or moved is somewhere else in a moment; of what is here, the folder is asked first.
  const stays = found?.state === 'here' || found?.state === 'gone'
  if (stays && found.cell !== cell.name) cell.places.set(orgId, found)
  return found
}

/** Whether the directory need not be read to say where the organisation is. */
export function isPlaceKnown({ cell, store }: Pick<Deps, 'cell' | 'store'>, orgId: string): boolean {
  if (cell === undefined) return true
  return isThere(orgFolder(store, orgId)) ? !isClosed(store, orgId) : cell.places.has(orgId)
}

/**
 * The place of an organisation whose folder is not here, or has been copied to the cell that has the organisation now; undefined:
 * it is here, or no cell has it.
 *
 * @throws DatabaseFault
 */
export async function findPlaceAway(
  deps: Pick<Deps, 'cell' | 'credentials' | 'store'>,
  orgId: string,
): Promise<FoundPlace | undefined> {
  const { cell, credentials, store } = deps
  if (cell === undefined) return undefined
  if (!isThere(orgFolder(store, orgId))) {
    const place = await findPlace(deps, orgId)
    return place?.state === 'gone' ? undefined : place
  }
  if (!isClosed(store, orgId)) return undefined
  const place = await findPlaceRow(credentials.read, orgId)
  return place?.cell === cell.name ? undefined : place
}

/** Whether another cell has the organisation. */
export async function isElsewhere(deps: Pick<Deps, 'cell' | 'credentials' | 'store'>, orgId: string): Promise<boolean> {
  const place = await findPlaceAway(deps, orgId)
  return place !== undefined && place.cell !== deps.cell?.name
}

/** Where the operator has closed this cell to new organisations, one that takes them; undefined: this one does, or none. */
export async function chooseOther(
  { credentials }: Pick<Deps, 'credentials'>,
  own: string,
): Promise<CellRow | undefined> {
  const state = await findCell(credentials.read, own)
  return state?.open === 0 ? chooseCell({ credentials }) : undefined
}

/** A cell that takes a new organisation, by weight among those that do; undefined: none does. */
export async function chooseCell({ credentials }: Pick<Deps, 'credentials'>): Promise<CellRow | undefined> {
  const open = (await listCells(credentials.read)).filter(
    ({ open, weight, left }) => open === 1 && weight > 0 && left > 0,
  )
  const total = open.reduce((sum, { weight }) => sum + weight, 0)
  let at = total === 0 ? 0 : randomInt(total)
  return open.find(({ weight }) => {
    at -= weight
    return at < 0
  })
}
