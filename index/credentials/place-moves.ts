/** Changes the placement of an organisation that moves between cells. Each change is one compare-and-swap. */
import { databaseNow } from './cells.ts'
import type { CredentialsDb, PlaceRow } from './schema.ts'

/** A move in progress. `cell` is the source, `epoch` counts the organisation's moves, including this one. */
export type BegunMove = Pick<PlaceRow, 'org_id' | 'cell' | 'epoch'>

export function findWholePlace(db: CredentialsDb, orgId: string): Promise<PlaceRow | undefined> {
  return db.selectFrom('place').selectAll().where('org_id', '=', orgId).executeTakeFirst()
}

/** Begins a move. Returns undefined if `from` does not have the organisation, or if it is already moving. */
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

/** Assigns the organisation to the target cell. Returns false if the move was undone. */
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

/** Undoes a move, so that the organisation stays in its cell. Returns false if the move was decided or undone. */
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

/**
 * Ends a move: the target now serves the organisation. Returns false if the move has ended, or if another cell has the
 * organisation.
 */
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

/**
 * Claims an organisation for a cell whose folder has a newer epoch than the directory. The directory was then rebuilt
 * from older folders. Returns false if the epoch is not newer, or if the organisation is moving or deleted.
 */
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
