/** The refs that the events describe. */
import type { Transaction } from 'kysely'
import { changeNow, readRows } from '../sqlite/statements.ts'
import type { Log } from './events.ts'
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
  const rows = await readRows<RecordedRepo>(
    db,
    'select * from recorded_repo where node_id in (select value from json_each(?))',
    JSON.stringify(nodeIds),
  )
  return new Map(rows.map((row) => [row.node_id, row]))
}

/** Returns the log of an organisation, with the recorded state of a repository. */
export async function findLogWithRecorded(
  db: LogDb,
  orgId: string,
  nodeId: string,
): Promise<{ readonly log: Log; readonly state: RecordedRepo | undefined } | undefined> {
  const [row] = await readRows<Log & { readonly recorded: string | null }>(db, logAndRecorded, nodeId, orgId)
  if (row === undefined) return undefined
  const { recorded, ...log } = row
  return { log, state: recorded === null ? undefined : JSON.parse(recorded) } // the statement writes it
}

const logAndRecorded = `select log.*, (select json_object('node_id', node_id, 'org_id', org_id, 'version', version,
    'ledger', ledger, 'digest', digest, 'gone', gone) from recorded_repo where node_id = ?) as recorded
  from log where org_id = ?`

export async function listRecordedRefs(db: LogDb, nodeId: string): Promise<Map<string, string>> {
  const rows = await readRows<{ ref: string; oid: string }>(
    db,
    'select ref, oid from recorded_ref where node_id = ?',
    nodeId,
  )
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

/** Replaces recorded states. Returns false if another process has changed one since it was read. */
export function replaceRecorded(trx: Transaction<LogSchema>, steps: readonly RecordedStep[]): boolean {
  const fresh = steps.filter(({ before }) => before === null)
  if (fresh.length > 0 && changeNow(trx, insertRepos, JSON.stringify(fresh)) < fresh.length) return false
  for (const { node_id, org_id, ledger, digest, gone, before } of steps)
    if (before !== null && changeNow(trx, updateRepo, org_id, ledger, digest, gone, node_id, before) === 0) return false
  for (const { node_id, removedRefs } of steps)
    if (removedRefs.length > 0) changeNow(trx, removeRefs, node_id, JSON.stringify(removedRefs))
  const refs = steps.flatMap(({ node_id, putRefs }) => [...putRefs].map(([ref, oid]) => [node_id, ref, oid]))
  if (refs.length > 0) changeNow(trx, putRefRows, JSON.stringify(refs))
  removeUsedIntents(trx, steps)
  return true
}

/** Removes the intents of recorded moves. A later move of the same ref to the same object may have another cause. */
function removeUsedIntents(trx: Transaction<LogSchema>, steps: readonly RecordedStep[]): void {
  const moves = steps.flatMap(({ node_id, putRefs, removedRefs }) => [
    ...[...putRefs].map(([ref, oid]) => [node_id, ref, oid]),
    ...removedRefs.map((ref) => [node_id, ref, '']),
  ])
  changeNow(trx, removeIntents, JSON.stringify(moves))
  for (const { node_id } of steps.filter(({ gone }) => gone === 1))
    changeNow(trx, 'delete from intent where node_id = ?', node_id)
}

const removeIntents = `delete from intent where (node_id, ref, to_oid) in
  (select value ->> 0, value ->> 1, value ->> 2 from json_each(?))`

const insertRepos = `insert into recorded_repo (node_id, org_id, version, ledger, digest, gone)
  select value ->> 'node_id', value ->> 'org_id', 1, value ->> 'ledger', value ->> 'digest', value ->> 'gone'
  from json_each(?) where true on conflict (node_id) do nothing`

const updateRepo = `update recorded_repo set version = version + 1, org_id = ?, ledger = ?, digest = ?, gone = ?
  where node_id = ? and version = ?`

const putRefRows = `insert into recorded_ref (node_id, ref, oid)
  select value ->> 0, value ->> 1, value ->> 2 from json_each(?)
  where true on conflict (node_id, ref) do update set oid = excluded.oid`

const removeRefs = 'delete from recorded_ref where node_id = ? and ref in (select value from json_each(?))'

/** Lists the organisations that are not recorded as gone. */
export async function listPresentOrgs(db: LogDb): Promise<string[]> {
  const rows = await db
    .selectFrom('log')
    .leftJoin('recorded_repo', 'recorded_repo.node_id', 'log.org_id')
    .select('log.org_id')
    .where(({ fn, val }) => fn.coalesce('recorded_repo.gone', val(0)), '=', 0)
    .execute()
  return rows.map(({ org_id }) => org_id)
}
