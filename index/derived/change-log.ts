/**
 * Moves of refs in each repository, recorded by the process that made them: a stamp by which a backup knows what it has, and how
 * many moves maintenance has not looked at. Counted in the transaction in which the rows follow.
 */
import { sql, type Transaction } from 'kysely'
import type { IndexDb, IndexSchema } from './schema.ts'

/** The node's id for an organisation's own repository. */
export const ownRepository = ''

/** Moves after which maintenance looks at a repository: some 200 objects. */
const movesToLook = 50
/** Seconds from the first of these moves to the look: maintenance leaves alone what is younger than an hour. */
const lookAfterS = 3_660

/** Counts a move of each of these repositories, and gives it a new stamp. */
export async function countMoves(
  trx: Transaction<IndexSchema>,
  orgId: string,
  nodeIds: readonly string[],
): Promise<void> {
  for (let at = 0; at < nodeIds.length; at += rowsAtOnce) {
    const rows = nodeIds
      .slice(at, at + rowsAtOnce)
      .map((id) => sql`(${orgId}, ${id}, ${newStamp}, 1, ${now}, ${later})`)
    await sql`insert into ref_moves (org_id, node_id, stamp, moves, moved_at, look_at) values ${sql.join(rows)}
      on conflict (org_id, node_id) do update set stamp = excluded.stamp, moves = moves + 1, moved_at = excluded.moved_at,
        look_at = case when moves = 0 then excluded.look_at else look_at end`.execute(trx)
  }
}

const rowsAtOnce = 200
/** No stamp comes back, also where a power cut has taken the last ones. */
const newStamp = sql.raw('abs(random() % 9007199254740991)')
const now = sql.raw('unixepoch()')
const later = sql.raw(`unixepoch() + ${lookAfterS}`)

/** The node is gone; with `ownRepository`, the organisation with its nodes. */
export async function forgetMoves(trx: Transaction<IndexSchema>, orgId: string, nodeId: string): Promise<void> {
  const all = trx.deleteFrom('ref_moves').where('org_id', '=', orgId)
  await (nodeId === ownRepository ? all : all.where('node_id', '=', nodeId)).execute()
}

export interface MovedRepository {
  readonly org_id: string
  readonly node_id: string
}

/** Repositories that maintenance should look at, those that have waited longest first. Reads no others. */
export async function listReposToMaintain(db: IndexDb, limit: number): Promise<MovedRepository[]> {
  const due = sql<MovedRepository>`select org_id, node_id from ref_moves
    where moves >= ${sql.raw(String(movesToLook))} and look_at <= ${now} order by look_at limit ${limit}`
  return (await due.execute(db)).rows
}

/** Maintenance has looked. A repository that moved within the last hour holds what is still young, and is looked at again. */
export async function markMaintained(
  trx: Transaction<IndexSchema>,
  { org_id, node_id }: MovedRepository,
): Promise<void> {
  await sql`update ref_moves set moves = case when moved_at + ${lookAfterS} > ${now} then moves else 0 end, look_at = ${later}
    where org_id = ${org_id} and node_id = ${node_id}`.execute(trx)
}

/** The stamps of all repositories, by organisation and node: some 100 bytes each. */
export async function listStamps(db: IndexDb): Promise<(MovedRepository & { readonly stamp: number })[]> {
  return db.selectFrom('ref_moves').select(['org_id', 'node_id', 'stamp']).execute()
}
