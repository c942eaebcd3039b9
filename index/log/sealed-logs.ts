/** Logs that move between cells. A sealed log takes no events, at either cell. */
import type { Transaction } from 'kysely'
import { findLog, type Log } from './events.ts'
import type { LogDb, LogSchema } from './schema.ts'

/** Seals a log, so that nothing is appended. Undefined: there is no log. */
export async function sealLog(trx: Transaction<LogSchema>, orgId: string): Promise<Log | undefined> {
  await trx.updateTable('log').set({ sealed: 1 }).where('org_id', '=', orgId).execute()
  return findLog(trx, orgId)
}

/** The id of a log whose rows have not arrived. */
const noLog = ''

/** Keeps an organisation that is arriving from beginning a log. */
export async function holdLog(trx: Transaction<LogSchema>, orgId: string): Promise<void> {
  const empty = { log_id: noLog, seq: 0, chain: '', base_seq: 0, base_chain: '', began_at: '', whole: 0 }
  await trx
    .insertInto('log')
    .values({ org_id: orgId, ...empty, sealed: 1 })
    .onConflict((conflict) => conflict.column('org_id').doUpdateSet({ sealed: 1 }))
    .execute()
}

/** Writes the row of a log that arrives. It stays sealed. */
export async function putSealedLog(trx: Transaction<LogSchema>, log: Omit<Log, 'sealed'>): Promise<void> {
  const row = { ...log, sealed: 1 }
  await trx
    .insertInto('log')
    .values(row)
    .onConflict((conflict) => conflict.column('org_id').doUpdateSet(row))
    .execute()
}

/** Opens a log, so that events are appended again. A log that has not arrived begins with the present. */
export async function openLog(trx: Transaction<LogSchema>, orgId: string): Promise<void> {
  await trx.deleteFrom('log').where('org_id', '=', orgId).where('log_id', '=', noLog).execute()
  await trx.updateTable('log').set({ sealed: 0 }).where('org_id', '=', orgId).execute()
}

/** Lists organisations with a sealed log. There are few: one for each move. */
export async function listSealed(db: LogDb): Promise<string[]> {
  const rows = await db.selectFrom('log').select('org_id').where('sealed', '=', 1).execute()
  return rows.map(({ org_id }) => org_id)
}

/** Records that every repository of this log is recorded. */
export async function markLogWhole(trx: Transaction<LogSchema>, orgId: string): Promise<void> {
  await trx.updateTable('log').set({ whole: 1 }).where('org_id', '=', orgId).execute()
}
