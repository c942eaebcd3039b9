/** Lists placements of organisations in the order of their changes. */
import { sql } from 'kysely'
import { databaseNow } from './cells.ts'
import type { CredentialsDb, PlaceRow } from './schema.ts'

export interface ChangedPlace extends Pick<PlaceRow, 'org_id' | 'cell' | 'since'> {
  readonly state: Exclude<PlaceRow['state'], 'making'>
  /** The cell's URL. */
  readonly url: string
}

/** Lists placements that changed after `since`, or at `since` with a greater id than `orgId`. Omits claims. */
export async function listChangedPlaces(
  db: CredentialsDb,
  { since, orgId }: { readonly since: number; readonly orgId: string },
  limit: number,
): Promise<ChangedPlace[]> {
  const rows = await db
    .selectFrom('place')
    .innerJoin('cell', 'cell.name', 'place.cell')
    .select(['place.org_id', 'place.cell', 'place.state', 'place.since', 'cell.url'])
    .where('place.state', '!=', 'making')
    .where((of) => of(of.refTuple('place.since', 'place.org_id'), '>', of.tuple(since, orgId)))
    .orderBy('place.since')
    .orderBy('place.org_id')
    .limit(limit)
    .execute()
  return rows as ChangedPlace[] // the first condition excludes `making`
}

/** Returns the time of the database's clock in milliseconds since 1970. */
export async function readDatabaseTime(db: CredentialsDb): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${databaseNow} as now`.execute(db)
  return rows[0]?.now ?? 0
}
