/** Changes of the directory, for a proxy that knows the cell of each organisation. */
import { listChangedPlaces, readDatabaseTime } from '../../../index/credentials/place-changes.ts'
import type { CredentialsDb } from '../../../index/credentials/schema.ts'
import type { PlaceChanges, PlaceChangesInput } from '../placement.ts'

/**
 * Milliseconds after which every reader sees a change. A row has the time of its statement, which is before its commit,
 * so the next walk through the changes begins this much earlier. Longer than any transaction that changes a place.
 */
const settledMs = 60_000

/** A walk through the changes, by the clock of the database. */
interface Walk {
  /** The last row that it has seen. */
  readonly since: number
  readonly orgId: string
  /** The beginning of the next walk. Absent at the start of a walk. */
  readonly floor?: number
}

/** Lists places by the time of their last change, with their state now. Recent changes come again in the next walk. */
export async function listPlaceChanges(
  read: CredentialsDb,
  { since: text = '0', limit }: PlaceChangesInput,
): Promise<PlaceChanges> {
  const walk = walkOf(text)
  // Read before the rows, so that the next walk finds changes that are committed during this one.
  const floor = walk.floor ?? Math.max(0, (await readDatabaseTime(read)) - settledMs)
  const rows = await listChangedPlaces(read, walk, limit)
  const last = rows.at(-1)
  const more = rows.length === limit && last !== undefined
  return {
    places: rows.map(({ since: _, ...place }) => place),
    next: more ? `${last.since}.${last.org_id}.${floor}` : `${floor}`,
    more,
  }
}

function walkOf(text: string): Walk {
  const [since, orgId = '', floor] = text.split('.')
  return { since: Number(since), orgId, ...(floor === undefined ? {} : { floor: Number(floor) }) }
}
