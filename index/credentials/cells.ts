/** The cells of one PostgreSQL, and their leases. Each function is one statement; times are by the clock of the database. */
import { sql } from 'kysely'
import type { CellRow, CredentialsDb } from './schema.ts'

/** Milliseconds since 1970, when the statement looks, also after it has waited for a row. */
export const databaseNow = sql<number>`cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)`

/** Does nothing where there is one of that name. */
export async function insertCell(db: CredentialsDb, { name, url }: Pick<CellRow, 'name' | 'url'>): Promise<void> {
  await db
    .insertInto('cell')
    .values({ name, url, epoch: 0, until: 0, open: 1, weight: 1 })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
}

/** Takes a lease that has ended. Returns its epoch; undefined: another process has the lease. */
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

/** False: another process has taken it. */
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

/** Another process can take it at once. */
export async function endLease(db: CredentialsDb, { name, epoch }: Pick<CellRow, 'name' | 'epoch'>): Promise<void> {
  await db.updateTable('cell').set({ until: databaseNow }).where('name', '=', name).where('epoch', '=', epoch).execute()
}

interface CellState extends CellRow {
  /** Milliseconds that the lease lasts; 0 or less: it has ended. */
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
  /** That it has. */
  readonly organisations: number
}

/** By name. */
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

/** False: there is no such cell. */
export async function setCell(
  db: CredentialsDb,
  name: string,
  change: Partial<Pick<CellRow, 'open' | 'weight'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await db.updateTable('cell').set(change).where('name', '=', name).executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}
