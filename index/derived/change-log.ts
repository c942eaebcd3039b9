/**
 * Records ref moves of each repository, in the transaction that updates its rows. A stamp lets a backup recognise
 * unchanged repositories. A count says how many moves maintenance has not processed.
 */
import { sql, type Transaction } from 'kysely'
import { openToRead } from '../sqlite/backup.ts'
import { changeRows } from '../sqlite/statements.ts'
import type { IndexDb, IndexSchema } from './schema.ts'

/** Stands for a node id in the rows of an organisation's own repository. */
export const ownRepository = ''

/** The number of moves after which maintenance processes a repository, some 200 objects. */
const movesToLook = 50
/** Seconds from the first of these moves to maintenance. It skips objects younger than an hour. */
const lookAfterS = 3_660

/** Counts one move of each repository and gives it a new stamp. */
export async function countMoves(
  trx: Transaction<IndexSchema>,
  orgId: string,
  nodeIds: readonly string[],
): Promise<void> {
  await changeRows(trx, countedMoves, orgId, JSON.stringify(nodeIds))
}

/** Stamps are random. None is reused even if a power cut has lost the latest rows. */
const countedMoves = `
  insert into ref_moves (org_id, node_id, stamp, moves, moved_at, look_at)
    select ?, value, abs(random() % 9007199254740991), 1, unixepoch(), unixepoch() + ${lookAfterS}
    from json_each(?) where true
  on conflict (org_id, node_id) do update set stamp = excluded.stamp, moves = moves + 1, moved_at = excluded.moved_at,
    look_at = case when moves = 0 then excluded.look_at else look_at end`
const now = sql.raw('unixepoch()')
const later = sql.raw(`unixepoch() + ${lookAfterS}`)

/** Deletes the row of a deleted node. With `ownRepository`, deletes the rows of the organisation and all its nodes. */
export async function forgetMoves(trx: Transaction<IndexSchema>, orgId: string, nodeId: string): Promise<void> {
  const all = trx.deleteFrom('ref_moves').where('org_id', '=', orgId)
  await (nodeId === ownRepository ? all : all.where('node_id', '=', nodeId)).execute()
}

export interface MovedRepository {
  readonly org_id: string
  readonly node_id: string
}

/** Lists repositories that are due for maintenance, the longest waiting first. Reads only their rows. */
export async function listReposToMaintain(db: IndexDb, limit: number): Promise<MovedRepository[]> {
  const due = sql<MovedRepository>`select org_id, node_id from ref_moves
    where moves >= ${sql.raw(String(movesToLook))} and look_at <= ${now} order by look_at limit ${limit}`
  return (await due.execute(db)).rows
}

/**
 * Records that maintenance has processed a repository. If it moved within the last hour, it has objects that are too
 * young, and stays due.
 */
export async function markMaintained(
  trx: Transaction<IndexSchema>,
  { org_id, node_id }: MovedRepository,
): Promise<void> {
  await sql`update ref_moves set moves = case when moved_at + ${lookAfterS} > ${now} then moves else 0 end, look_at = ${later}
    where org_id = ${org_id} and node_id = ${node_id}`.execute(trx)
}

/** Lists the stamps of all repositories, by organisation and node. A row takes some 100 bytes. */
export async function listStamps(db: IndexDb): Promise<(MovedRepository & { readonly stamp: number })[]> {
  return db.selectFrom('ref_moves').select(['org_id', 'node_id', 'stamp']).execute()
}

/**
 * Lists repositories in which no ref has moved since then, by the index in `file`.
 *
 * @param sinceMs milliseconds since 1970
 * @throws Error if the file is missing, damaged or of another version
 */
export function listUnmoved(file: string, sinceMs: number): MovedRepository[] {
  const db = openToRead(file)
  try {
    const unmoved = 'select org_id, node_id from ref_moves where moved_at < ?'
    return db.prepare(unmoved).all(Math.floor(sinceMs / 1_000)) as MovedRepository[] // the columns that it selects
  } finally {
    db.close()
  }
}
