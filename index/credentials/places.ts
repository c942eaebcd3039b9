/** Which cell has which organisation. Each function is one statement. */
import type { CredentialsDb, PlaceRow } from './schema.ts'

export interface FoundPlace extends Pick<PlaceRow, 'cell' | 'state'> {
  /** Of the cell. */
  readonly url: string
}

export function findPlaceRow(db: CredentialsDb, orgId: string): Promise<FoundPlace | undefined> {
  return db
    .selectFrom('place')
    .innerJoin('cell', 'cell.name', 'place.cell')
    .select(['place.cell', 'cell.url', 'place.state'])
    .where('place.org_id', '=', orgId)
    .executeTakeFirst()
}
