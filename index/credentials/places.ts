/** Placements of organisations in cells. Each function runs one statement. Times are by the database's clock. */
import type { ExpressionBuilder } from 'kysely'
import { databaseNow } from './cells.ts'
import type { CredentialsDb, CredentialsSchema, PlaceRow } from './schema.ts'

export interface FoundPlace extends Pick<PlaceRow, 'cell' | 'state'> {
  /** The cell's URL. */
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

/** Inserts the missing placements. Keeps existing ones unchanged. Returns the number of inserted rows. */
export async function insertPlaces(
  db: CredentialsDb,
  cell: string,
  orgIds: readonly string[],
  state: PlaceRow['state'],
): Promise<number> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('place')
    .values(orgIds.map((org_id) => ({ org_id, cell, epoch: 1, state, target: null, since: databaseNow })))
    .onConflict((conflict) => conflict.column('org_id').doNothing())
    .executeTakeFirstOrThrow()
  return Number(numInsertedOrUpdatedRows)
}

/** Renews the cell's claim on an organisation whose folder may be missing. Returns false if there is no such claim. */
export async function renewClaim(db: CredentialsDb, cell: string, orgId: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('place')
    .set({ since: databaseNow })
    .where('org_id', '=', orgId)
    .where('cell', '=', cell)
    .where('state', '=', 'making')
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Returns false if the cell does not have the organisation. */
export async function setPlaceState(
  db: CredentialsDb,
  cell: string,
  orgId: string,
  state: PlaceRow['state'],
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('place')
    .set({ state, since: databaseNow })
    .where('org_id', '=', orgId)
    .where('cell', '=', cell)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

type SeenPlace = Pick<PlaceRow, 'org_id' | 'cell' | 'state' | 'since'>

/** Returns the condition that a placement has not changed since it was read. */
function isAsSeen({ org_id, cell, state, since }: SeenPlace) {
  return ({ and }: ExpressionBuilder<CredentialsSchema, 'place'>) => and({ org_id, cell, state, since })
}

/** Changes the state of a placement, unless it has changed since it was read. */
export async function changePlaceState(db: CredentialsDb, seen: SeenPlace, state: PlaceRow['state']): Promise<void> {
  await db.updateTable('place').set({ state, since: databaseNow }).where(isAsSeen(seen)).execute()
}

/** Deletes a placement, unless it has changed since it was read. */
export async function deletePlace(db: CredentialsDb, seen: SeenPlace): Promise<void> {
  await db.deleteFrom('place').where(isAsSeen(seen)).execute()
}

export function listPlaces(db: CredentialsDb, orgIds: readonly string[]): Promise<PlaceRow[]> {
  return db.selectFrom('place').selectAll().where('org_id', 'in', orgIds).execute()
}

export interface AgedPlace extends PlaceRow {
  /** Milliseconds since its state began. */
  readonly age: number
}

/** Lists a cell's placements in a state, by organisation id, starting after the id `beyond`. */
export function listPlacesOf(
  db: CredentialsDb,
  { cell, state, beyond, limit }: { cell: string; state: PlaceRow['state']; beyond: string; limit: number },
): Promise<AgedPlace[]> {
  return db
    .selectFrom('place')
    .selectAll()
    .select((of) => of(databaseNow, '-', of.ref('since')).as('age'))
    .where('cell', '=', cell)
    .where('state', '=', state)
    .where('org_id', '>', beyond)
    .orderBy('org_id')
    .limit(limit)
    .execute()
}

/** Locks the placement until the end of the transaction. */
export function lockPlace(trx: CredentialsDb, orgId: string): Promise<Pick<PlaceRow, 'cell' | 'state'> | undefined> {
  return trx.selectFrom('place').select(['cell', 'state']).where('org_id', '=', orgId).forUpdate().executeTakeFirst()
}
