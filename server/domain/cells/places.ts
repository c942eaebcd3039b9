/** Where organisations are: the directory of all cells. */
import { type FoundPlace, findPlaceRow } from '../../../index/credentials/places.ts'
import type { Deps } from '../../deps.ts'

/**
 * The cell that has the organisation, as it was known at most 5 s ago; undefined where none has it, or there are no cells.
 * A cell that has the folder of the organisation knows better, and does not ask.
 *
 * @throws DatabaseFault
 */
export async function findPlace(
  { cell, credentials }: Pick<Deps, 'cell' | 'credentials'>,
  orgId: string,
): Promise<FoundPlace | undefined> {
  if (cell === undefined) return undefined
  const known = cell.places.get(orgId)
  if (known !== undefined) return known
  const found = await findPlaceRow(credentials.read, orgId)
  // What is being made or moved is somewhere else in a moment.
  if (found?.state === 'here' || found?.state === 'gone') cell.places.set(orgId, found)
  return found
}
