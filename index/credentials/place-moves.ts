/** The place of an organisation that moves from one cell to another. Each change is one compare-and-swap. */
import { databaseNow } from './cells.ts'
import type { CredentialsDb, PlaceRow } from './schema.ts'

/** A move that has begun: which cell it is from, and how often the organisation will have moved after it. */
export type BegunMove = Pick<PlaceRow, 'org_id' | 'cell' | 'epoch'>

export function findWholePlace(db: CredentialsDb, orgId: string): Promise<PlaceRow | undefined> {
  return db.selectFrom('place').selectAll().where('org_id', '=', orgId).executeTakeFirst()
}

/** From a cell that has the organisation. Undefined: it does not, or it moves already. */
export async function beginMove(
  db: CredentialsDb,
  { orgId, from, to }: { readonly orgId: string; readonly from: string; readonly to: string },
): Promise<BegunMove | undefined> {
  return db
    .updateTable('place')
    .set((of) => ({ state: 'moving' as const, target: to, epoch: of('epoch', '+', 1), since: databaseNow }))
    .where('org_id', '=', orgId)
    .where('cell', '=', from)
    .where('state', '=', 'here')
    .returning(['org_id', 'cell', 'epoch'])
    .executeTakeFirst()
}

/** The organisation is its target's from now on. False: the move was undone. */
export async function decideMove(db: CredentialsDb, { org_id, cell, epoch }: BegunMove, to: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('place')
    .set({ cell: to, since: databaseNow })
    .where('org_id', '=', org_id)
    .where('cell', '=', cell)
    .where('target', '=', to)
    .where('epoch', '=', epoch)
    .where('state', '=', 'moving')
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** The organisation stays where it is. False: the move was decided, or undone. */
export async function undoMove(db: CredentialsDb, { org_id, cell, epoch }: BegunMove): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('place')
    .set({ state: 'here', target: null, since: databaseNow })
    .where('org_id', '=', org_id)
    .where('cell', '=', cell)
    .where('target', '!=', cell)
    .where('epoch', '=', epoch)
    .where('state', '=', 'moving')
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** The target serves it. False: it does already, or it is another cell's. */
export async function endMove(db: CredentialsDb, { org_id, cell, epoch }: BegunMove): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('place')
    .set({ state: 'here', target: null, since: databaseNow })
    .where('org_id', '=', org_id)
    .where('cell', '=', cell)
    .where('target', '=', cell)
    .where('epoch', '=', epoch)
    .where('state', '=', 'moving')
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** A folder that has moved more often than the directory knows: the directory was made again from older ones. */
export async function claimNewer(db: CredentialsDb, { org_id, cell, epoch }: BegunMove): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('place')
    .set({ cell, epoch, state: 'here', target: null, since: databaseNow })
    .where('org_id', '=', org_id)
    .where('epoch', '<', epoch)
    .where('state', '=', 'here')
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}
