/** Queries for pull requests. */
import { type Selectable, sql } from 'kysely'
import { type Slice, totalOf, totalWith } from '../slice.ts'
import { compileOnce } from '../sqlite/compiled.ts'
import { readRows } from '../sqlite/statements.ts'
import type { IndexDb, PullTable } from './schema.ts'

export type PullRow = Selectable<PullTable>

/** Lists the open pull requests of a node by number. */
export function listOpenPulls(db: IndexDb, nodeId: string): Promise<PullRow[]> {
  return openPulls(db, nodeId)
}

const openPulls = compileOnce(1, (db: IndexDb, nodeId: string) =>
  db.selectFrom('pull').selectAll().where('node_id', '=', nodeId).where('status', '=', 'open').orderBy('number'),
)

/** Lists the first open pull requests from these branches, by number. */
export async function listOpenPullsFrom(
  db: IndexDb,
  nodeId: string,
  branches: readonly string[],
  limit: number,
): Promise<{ rows: PullRow[]; total: number }> {
  const all = db
    .selectFrom('pull')
    .where('node_id', '=', nodeId)
    .where('status', '=', 'open')
    .where('source_branch', 'in', sql<string>`(select value from json_each(${JSON.stringify(branches)}))`)
  const rows = await all.selectAll().orderBy('number').limit(limit).execute()
  return { rows, total: await totalOf(all) }
}

export interface PullFilter {
  readonly status: PullRow['status'] | 'all'
  /** 1: opened by a program for its user. 0: by anyone else. */
  readonly byAgent?: 0 | 1
}

/** Conditions by status. SQLite recompiles a statement that binds it at each call. */
const ofStatus = {
  all: '',
  open: "and status = 'open'",
  merged: "and status = 'merged'",
  closed: "and status = 'closed'",
}

/** Lists the pull requests of a node, newest first. */
export async function listPullRows(
  db: IndexDb,
  nodeId: string,
  { status, byAgent }: PullFilter,
  page: Slice,
): Promise<{ rows: PullRow[]; total: number }> {
  const isByAgent = byAgent === undefined ? '' : 'and by_agent = ?'
  const all = `from pull where node_id = ? ${ofStatus[status]} ${isByAgent}`
  const values = [nodeId, ...(byAgent === undefined ? [] : [byAgent])]
  const listed = `select * ${all} order by number desc limit ${page.limit} offset ?`
  const rows = await readRows<PullRow>(db, listed, ...values, page.offset)
  const count = async () =>
    (await readRows<{ total: number }>(db, `select count(*) as total ${all}`, ...values))[0]?.total ?? 0
  return { rows, total: await totalWith(rows, page, count) }
}

export function findPull(db: IndexDb, nodeId: string, number: number): Promise<PullRow | undefined> {
  return db.selectFrom('pull').selectAll().where('node_id', '=', nodeId).where('number', '=', number).executeTakeFirst()
}

/** Lists the numbers of all pull requests of a node. */
export async function listPullNumbers(db: IndexDb, nodeId: string): Promise<number[]> {
  const rows = await db.selectFrom('pull').select('number').where('node_id', '=', nodeId).execute()
  return rows.map(({ number }) => number)
}

/** Lists pull requests that were merged into a branch, with their heads at the merge. */
export function listMergedPulls(db: IndexDb, nodeId: string, targetBranch: string) {
  return db
    .selectFrom('pull')
    .select(['number', 'source_commit', 'target_commit'])
    .where('node_id', '=', nodeId)
    .where('status', '=', 'merged')
    .where('target_branch', '=', targetBranch)
    .execute()
}

/** The time of the last merge of one branch into another. ISO 8601. */
export async function findLastMerge(
  db: IndexDb,
  nodeId: string,
  source: string,
  target: string,
): Promise<string | null | undefined> {
  const row = await db
    .selectFrom('pull')
    .select(({ fn }) => fn.max('ended_at').as('at'))
    .where('node_id', '=', nodeId)
    .where('source_branch', '=', source)
    .where('target_branch', '=', target)
    .where('status', '=', 'merged')
    .executeTakeFirst()
  return row?.at
}
