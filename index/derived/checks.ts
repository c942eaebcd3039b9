/** The checks of commits: what machines report about them. */
import { type Insertable, type Selectable, sql, type Transaction } from 'kysely'
import { compileOnce } from '../sqlite/compiled.ts'
import type { CheckStateTable, IndexDb, IndexSchema } from './schema.ts'
import { inSlices } from './slices.ts'

/** A check as rules and lists read it. */
export type CheckRow = Omit<Selectable<CheckStateTable>, 'node_id' | 'blob'>

/** The rows of a commit's file. */
export interface CommitChecks {
  readonly commit: string
  readonly rows: readonly Insertable<CheckStateTable>[]
}

export interface ChecksChange {
  readonly put: readonly CommitChecks[]
  /** Commits whose checks the ledger no longer has. `all` also removes each that is not in `put`. */
  readonly gone: readonly string[] | 'all'
}

/** Writes the change. All checks of a commit are replaced together. */
export async function replaceChecks(
  trx: Transaction<IndexSchema>,
  nodeId: string,
  { put, gone }: ChecksChange,
): Promise<void> {
  const ofNode = trx.deleteFrom('check_state').where('node_id', '=', nodeId)
  if (gone === 'all') await ofNode.execute()
  const replaced = gone === 'all' ? [] : [...gone, ...put.map(({ commit }) => commit)]
  await inSlices(replaced, (commits) => ofNode.where('commit_id', 'in', commits).execute())
  await inSlices(
    put.flatMap(({ rows }) => rows),
    (rows) => trx.insertInto('check_state').values(rows).execute(),
  )
}

/**
 * Lists the checks of these commits, by commit and name. A row without a name says that a part of the commit's file is
 * damaged.
 */
export async function listChecks(db: IndexDb, nodeId: string, commitIds: readonly string[]): Promise<CheckRow[]> {
  const { rows } = await sql<CheckRow>`
    select one.commit_id, one.name, one.state, one.user_id, one.at, one.body
    from (select distinct value as commit_id from json_each(${JSON.stringify(commitIds)})) as wanted
      cross join check_state one on one.node_id = ${nodeId} and one.commit_id = wanted.commit_id
    order by one.commit_id, one.name`.execute(db)
  return rows
}

/** True if something was reported about this commit. */
export async function hasChecks(db: IndexDb, nodeId: string, commitId: string): Promise<boolean> {
  const found = await db
    .selectFrom('check_state')
    .select('name')
    .where('node_id', '=', nodeId)
    .where('commit_id', '=', commitId)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

const firstCheck = compileOnce(1, (db: IndexDb, nodeId: string) =>
  db.selectFrom('check_state').select('name').where('node_id', '=', nodeId).limit(1),
)

/** True if something was reported about a commit of the node. */
export async function hasAnyChecks(db: IndexDb, nodeId: string): Promise<boolean> {
  return (await firstCheck(db, nodeId)).length > 0
}

/** The object ids of the files from which the checks of these commits were read. */
export async function listCheckBlobs(db: IndexDb, nodeId: string, commitIds: readonly string[]) {
  const { rows } = await sql<Pick<CheckStateTable, 'commit_id' | 'blob'>>`
    select distinct one.commit_id, one.blob
    from json_each(${JSON.stringify(commitIds)}) as wanted
      cross join check_state one on one.node_id = ${nodeId} and one.commit_id = wanted.value`.execute(db)
  return rows
}

/** Lists commits of a node that have checks, by id, after `after`. */
export async function listCheckedCommits(db: IndexDb, nodeId: string, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('check_state')
    .select('commit_id')
    .distinct()
    .where('node_id', '=', nodeId)
    .where('commit_id', '>', after)
    .orderBy('commit_id')
    .limit(limit)
    .execute()
  return rows.map(({ commit_id }) => commit_id)
}
