/** Logs of organisations that are deleted, and rows of nodes that are purged. */
import type { Transaction } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import type { LogDb, LogSchema } from './schema.ts'

/** Lists deleted organisations of which nothing was recorded since this time, in milliseconds since 1970. */
export async function listGoneLogs(db: LogDb, before: number, limit: number): Promise<string[]> {
  const rows = await readRows<{ org_id: string }>(
    db,
    `select log.org_id from log cross join recorded_repo as repo on repo.node_id = log.org_id
      where repo.gone = 1 and log.sealed = 0 and coalesce(
        (select recorded_ms from event where event.org_id = log.org_id order by seq desc limit 1), 0) < ?
      limit ?`,
    ...[before, limit],
  )
  return rows.map(({ org_id }) => org_id)
}

/** Moves the beginning of a log to its end. So it has no hole while its rows are removed. */
export async function emptyLog(trx: Transaction<LogSchema>, orgId: string): Promise<void> {
  await changeRows(trx, 'update log set base_seq = seq, base_chain = chain where org_id = ?', orgId)
}

/** Deletes what is recorded of nodes that are gone. */
export async function deleteGoneRepos(
  trx: Transaction<LogSchema>,
  orgId: string,
  nodeIds: readonly string[],
): Promise<void> {
  const gone = `select node_id from recorded_repo where org_id = ? and gone = 1 and node_id in
    (select value from json_each(?))`
  const ids = JSON.stringify(nodeIds)
  for (const table of ['recorded_ref', 'intent', 'recorded_repo'])
    await changeRows(trx, `delete from ${table} where node_id in (${gone})`, orgId, ids)
}
