/**
 * Queries for the cells that share a PostgreSQL database, and their leases. Each function runs one statement. Times are
 * by the database's clock.
 */
import { sql } from 'kysely'
import type { CellRow, CredentialsDb } from './schema.ts'

/** Milliseconds since 1970 at evaluation. A statement that has waited for a row lock gets the time after the wait. */
export const databaseNow = sql<number>`cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)`

/** Inserts a cell. Does nothing if there is one with that name. */
export async function insertCell(db: CredentialsDb, { name, url }: Pick<CellRow, 'name' | 'url'>): Promise<void> {
  await db
    .insertInto('cell')
    .values({ name, url, epoch: 0, until: 0, open: 1, weight: 1 })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
}

/** Takes a lease that has ended. Returns its epoch, or undefined if another process has the lease. */
export async function takeLease(
  db: CredentialsDb,
  { name, url }: Pick<CellRow, 'name' | 'url'>,
  ms: number,
): Promise<number | undefined> {
  const taken = await db
    .updateTable('cell')
    .set((of) => ({ epoch: of('epoch', '+', 1), url, until: sql<number>`${databaseNow} + ${sql.lit(ms)}` }))
    .where('name', '=', name)
    .where('until', '<=', databaseNow)
    .returning('epoch')
    .executeTakeFirst()
  return taken?.epoch
}

/** Renews the lease. Returns false if another process has taken it. */
export async function renewLease(
  db: CredentialsDb,
  { name, epoch }: Pick<CellRow, 'name' | 'epoch'>,
  ms: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('cell')
    .set({ until: sql<number>`${databaseNow} + ${sql.lit(ms)}` })
    .where('name', '=', name)
    .where('epoch', '=', epoch)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Ends the lease, so that another process can take it at once. */
export async function endLease(db: CredentialsDb, { name, epoch }: Pick<CellRow, 'name' | 'epoch'>): Promise<void> {
  await db.updateTable('cell').set({ until: databaseNow }).where('name', '=', name).where('epoch', '=', epoch).execute()
}

interface CellState extends CellRow {
  /** Milliseconds until the lease ends; 0 or less if it has ended. */
  readonly left: number
}

export function findCell(db: CredentialsDb, name: string): Promise<CellState | undefined> {
  return db
    .selectFrom('cell')
    .selectAll()
    .select((of) => of(sql.ref<number>('until'), '-', databaseNow).as('left'))
    .where('name', '=', name)
    .executeTakeFirst()
}

export interface CellLoad extends CellState {
  /** The number of organisations in the cell. */
  readonly organisations: number
}

/** Lists all cells by name. */
export function listCells(db: CredentialsDb): Promise<CellLoad[]> {
  return db
    .selectFrom('cell')
    .selectAll()
    .select((of) => [
      of(sql.ref<number>('until'), '-', databaseNow).as('left'),
      of
        .selectFrom('place')
        .whereRef('place.cell', '=', 'cell.name')
        .where('place.state', 'in', ['here', 'moving'])
        .select(({ fn }) => fn.countAll<number>().as('organisations'))
        .$asScalar()
        .$notNull()
        .as('organisations'),
    ])
    .orderBy('name')
    .execute()
}

/** Changes a cell. Returns false if there is no such cell. */
export async function setCell(
  db: CredentialsDb,
  name: string,
  change: Partial<Pick<CellRow, 'open' | 'weight'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await db.updateTable('cell').set(change).where('name', '=', name).executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}
