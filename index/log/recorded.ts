/** The refs that the events describe. */
import { sql, type Transaction } from 'kysely'
import type { LogDb, LogSchema } from './schema.ts'

export interface RecordedRepo {
  readonly node_id: string
  readonly org_id: string
  readonly version: number
  readonly ledger: string
  readonly digest: string
  readonly gone: number
}

export async function findRecordedRepos(db: LogDb, nodeIds: readonly string[]): Promise<Map<string, RecordedRepo>> {
  if (nodeIds.length === 0) return new Map()
  const rows = await db.selectFrom('recorded_repo').selectAll().where('node_id', 'in', nodeIds).execute()
  return new Map(rows.map((row) => [row.node_id, row]))
}

export async function listRecordedRefs(db: LogDb, nodeId: string): Promise<Map<string, string>> {
  const rows = await db.selectFrom('recorded_ref').select(['ref', 'oid']).where('node_id', '=', nodeId).execute()
  return new Map(rows.map(({ ref, oid }) => [ref, oid]))
}

/** Lists repositories of an organisation that are recorded as present, by id. */
export async function listPresentRepos(db: LogDb, orgId: string, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('recorded_repo')
    .select('node_id')
    .where('org_id', '=', orgId)
    .where('node_id', '>', after)
    .where('gone', '=', 0)
    .orderBy('node_id')
    .limit(limit)
    .execute()
  return rows.map(({ node_id }) => node_id)
}

/** A repository after a step. */
export interface RecordedStep extends Omit<RecordedRepo, 'version'> {
  /** The version of the row before. Null: there was no row. */
  readonly before: number | null
  readonly putRefs: ReadonlyMap<string, string>
  readonly removedRefs: readonly string[]
}

/** Replaces the recorded state. Returns false if another process has changed it since it was read. */
export async function replaceRecorded(trx: Transaction<LogSchema>, step: RecordedStep): Promise<boolean> {
  const { node_id, org_id, ledger, digest, gone, before, putRefs, removedRefs } = step
  const changed =
    before === null
      ? await trx
          .insertInto('recorded_repo')
          .values({ node_id, org_id, version: 1, ledger, digest, gone })
          .onConflict((conflict) => conflict.column('node_id').doNothing())
          .executeTakeFirstOrThrow()
          .then(({ numInsertedOrUpdatedRows }) => numInsertedOrUpdatedRows)
      : await trx
          .updateTable('recorded_repo')
          .set({ org_id, version: before + 1, ledger, digest, gone })
          .where('node_id', '=', node_id)
          .where('version', '=', before)
          .executeTakeFirstOrThrow()
          .then(({ numUpdatedRows }) => numUpdatedRows)
  if (changed !== 1n) return false
  await removeRefs(trx, node_id, removedRefs)
  await putRefRows(trx, node_id, [...putRefs])
  return true
}

const rowsAtOnce = 200

async function putRefRows(
  trx: Transaction<LogSchema>,
  nodeId: string,
  refs: readonly (readonly [string, string])[],
): Promise<void> {
  for (let at = 0; at < refs.length; at += rowsAtOnce) {
    const rows = refs.slice(at, at + rowsAtOnce).map(([ref, oid]) => ({ node_id: nodeId, ref, oid }))
    await trx
      .insertInto('recorded_ref')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['node_id', 'ref']).doUpdateSet({ oid: sql`excluded.oid` }))
      .execute()
  }
}

async function removeRefs(trx: Transaction<LogSchema>, nodeId: string, refs: readonly string[]): Promise<void> {
  for (let at = 0; at < refs.length; at += rowsAtOnce)
    await trx
      .deleteFrom('recorded_ref')
      .where('node_id', '=', nodeId)
      .where('ref', 'in', refs.slice(at, at + rowsAtOnce))
      .execute()
}

/** Lists the organisations that are recorded as present. */
export async function listPresentOrgs(db: LogDb): Promise<string[]> {
  const rows = await db
    .selectFrom('recorded_repo')
    .select('node_id')
    .whereRef('node_id', '=', 'org_id')
    .where('gone', '=', 0)
    .execute()
  return rows.map(({ node_id }) => node_id)
}
