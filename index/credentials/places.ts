/** Which cell has which organisation. Each function is one statement; times are by the clock of the database. */
import type { ExpressionBuilder } from 'kysely'
import { databaseNow } from './cells.ts'
import type { CredentialsDb, CredentialsSchema, PlaceRow } from './schema.ts'

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

/** Of organisations that have a place already, nothing changes. Returns how many had none. */
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

/** Whether the cell has claimed it, and its folder is not known to be there; the claim is new then. */
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

/** False: another cell has it. */
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

/** The condition that a place has not changed since it was seen. */
function isAsSeen({ org_id, cell, state, since }: SeenPlace) {
  return ({ and }: ExpressionBuilder<CredentialsSchema, 'place'>) => and({ org_id, cell, state, since })
}

/** Unless it has changed since it was seen. */
export async function changePlaceState(db: CredentialsDb, seen: SeenPlace, state: PlaceRow['state']): Promise<void> {
  await db.updateTable('place').set({ state, since: databaseNow }).where(isAsSeen(seen)).execute()
}

/** Unless it has changed since it was seen. */
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

/** Those of a cell in that state, after `beyond`, by organisation. */
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

/** Holds the place until the end of the transaction. */
export function lockPlace(trx: CredentialsDb, orgId: string): Promise<Pick<PlaceRow, 'cell' | 'state'> | undefined> {
  return trx.selectFrom('place').select(['cell', 'state']).where('org_id', '=', orgId).forUpdate().executeTakeFirst()
}
