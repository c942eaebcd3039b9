/** The ends of logs, for readers that wait for the next event. */
import type { LogDb } from './schema.ts'

/** The most organisations that one statement names. */
const orgsAtOnce = 500

/** Returns the chain value at the end of each log. An organisation without a log is left out. */
export async function listChains(db: LogDb, orgIds: readonly string[]): Promise<Map<string, string>> {
  const chains = new Map<string, string>()
  for (let at = 0; at < orgIds.length; at += orgsAtOnce) {
    const some = orgIds.slice(at, at + orgsAtOnce)
    const rows = await db.selectFrom('log').select(['org_id', 'chain']).where('org_id', 'in', some).execute()
    for (const { org_id, chain } of rows) chains.set(org_id, chain)
  }
  return chains
}

/** Returns the first organisation with a log after this id, in the order of ids. */
export async function nextLogOrg(db: LogDb, after: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('log')
    .select('org_id')
    .where('org_id', '>', after)
    .orderBy('org_id')
    .limit(1)
    .executeTakeFirst()
  return row?.org_id
}
