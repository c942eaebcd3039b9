/** Records the progress of a rebuild, and which organisations are complete or requested. */
import type { Transaction } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import type { IndexDb, IndexSchema } from './schema.ts'

export async function declareOrgWhole(trx: Transaction<IndexSchema>, orgId: string): Promise<void> {
  await trx
    .insertInto('whole_org')
    .values({ org_id: orgId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await trx.deleteFrom('asked_org').where('org_id', '=', orgId).execute()
}

export async function isOrgWhole(db: IndexDb, orgId: string): Promise<boolean> {
  return (
    (await db.selectFrom('whole_org').select('org_id').where('org_id', '=', orgId).executeTakeFirst()) !== undefined
  )
}

/** Records that a request needs the organisation, so that it is indexed next. */
export async function requestOrg(trx: Transaction<IndexSchema>, orgId: string): Promise<void> {
  await trx
    .insertInto('asked_org')
    .values({ org_id: orgId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function isOrgRequested(db: IndexDb, orgId: string): Promise<boolean> {
  return (
    (await db.selectFrom('asked_org').select('org_id').where('org_id', '=', orgId).executeTakeFirst()) !== undefined
  )
}

/** Returns a requested organisation that is not complete yet, if any. */
export async function findRequestedOrg(db: IndexDb): Promise<string | undefined> {
  return (await db.selectFrom('asked_org').select('org_id').limit(1).executeTakeFirst())?.org_id
}

export interface Progress {
  /** Numbers of nodes. */
  readonly done: number
  readonly total: number
}

export async function recordProgress(trx: Transaction<IndexSchema>, { done, total }: Progress): Promise<void> {
  await changeRows(trx, 'insert or replace into rebuild (rowid, done, total) values (1, ?, ?)', done, total)
}

/** Undefined if no rebuild has begun, or if it is over. */
export async function findProgress(db: IndexDb): Promise<Progress | undefined> {
  return (await readRows<Progress>(db, 'select done, total from rebuild'))[0]
}

/** Deletes these records. They are obsolete when the index is complete, or when a new rebuild begins. */
export async function forgetWholeOrgs(trx: Transaction<IndexSchema>): Promise<void> {
  await trx.deleteFrom('whole_org').execute()
  await trx.deleteFrom('asked_org').execute()
  await trx.deleteFrom('rebuild').execute()
}
