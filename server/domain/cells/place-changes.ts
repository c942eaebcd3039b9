/** The directory as it changes, for a proxy that knows the cell of each organisation. */
import { listChangedPlaces, readDatabaseTime } from '../../../index/credentials/place-changes.ts'
import type { CredentialsDb } from '../../../index/credentials/schema.ts'
import type { PlaceChanges, PlaceChangesInput } from '../placement.ts'

/**
 * Milliseconds after which a change is seen by all that read. A row has the time of its statement, which is before it is
 * committed: so far back the next walk through the changes begins. Longer than any transaction that changes a place.
 */
const settledMs = 60_000

/** Where a walk is, by the clock of the database. */
interface Cursor {
  /** The last row that it has seen. */
  readonly since: number
  readonly orgId: string
  /** Where the next walk begins; absent at the start of one. */
  readonly floor?: number
}

/** As they are now, by the time of their last change; what has changed lately comes again in the next walk. */
export async function listPlaceChanges(
  read: CredentialsDb,
  { since: text = '0', limit }: PlaceChangesInput,
): Promise<PlaceChanges> {
  const cursor = cursorOf(text)
  // Before the rows, so that what is committed during the walk is after it.
  const floor = cursor.floor ?? Math.max(0, (await readDatabaseTime(read)) - settledMs)
  const rows = await listChangedPlaces(read, cursor, limit)
  const last = rows.at(-1)
  const more = rows.length === limit && last !== undefined
  return {
    places: rows.map(({ since: _, ...place }) => place),
    next: more ? `${last.since}.${last.org_id}.${floor}` : `${floor}`,
    more,
  }
}

function cursorOf(text: string): Cursor {
  const [since, orgId = '', floor] = text.split('.')
  return { since: Number(since), orgId, ...(floor === undefined ? {} : { floor: Number(floor) }) }
}
