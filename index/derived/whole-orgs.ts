/** Which organisations are in the index with all of their nodes while it is made again, and which are asked for. */
import type { Transaction } from 'kysely'
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

/** A request needs the organisation: it is indexed before the others. */
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

/** One that is asked for and not whole; undefined where there is none. */
export async function findRequestedOrg(db: IndexDb): Promise<string | undefined> {
  return (await db.selectFrom('asked_org').select('org_id').limit(1).executeTakeFirst())?.org_id
}

/** The index is whole, or begun anew: neither says anything any more. */
export async function forgetWholeOrgs(trx: Transaction<IndexSchema>): Promise<void> {
  await trx.deleteFrom('whole_org').execute()
  await trx.deleteFrom('asked_org').execute()
}
