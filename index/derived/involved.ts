/** Queries for the pull requests that a user takes part in. */
import { sql } from 'kysely'
import type { IndexDb } from './schema.ts'

export interface PullKey {
  readonly org_id: string
  readonly node_id: string
  readonly number: number
}

/**
 * Lists the pull requests in which a user takes part. The user opened them, wrote in them, is mentioned in them, or is
 * asked to review them. The items of a change set are among them. The newest rows of each kind come first.
 *
 * @param limit the most of each kind
 */
export async function listInvolved(
  db: IndexDb,
  { userId, orgId, limit }: { readonly userId: string; readonly orgId?: string | undefined; readonly limit: number },
): Promise<PullKey[]> {
  const inOrg = orgId === undefined ? sql`` : sql`and +org_id = ${orgId}`
  const some = (table: string, column: string) => sql`
    select * from (select org_id, node_id, number from ${sql.table(table)}
      where ${sql.ref(column)} = ${userId} ${inOrg} order by rowid desc limit ${sql.lit(limit)})`
  const { rows } = await sql<PullKey>`
    with mine as (
      ${some('involvement', 'user_id')} union ${some('pull', 'author_id')} union ${some('reviewer', 'user_id')})
    select * from mine
    union select item.org_id, item.node_id, item.pull from mine cross join change_set_item item
      on item.org_id = mine.node_id and item.number = mine.number`.execute(db)
  return rows
}

/** The title and the status of a pull request, as they are now. */
export interface PullNow extends Pick<PullKey, 'node_id' | 'number'> {
  readonly title: string
  readonly status: 'open' | 'merged' | 'closed'
}

/** Reads pull requests by their keys. Leaves out those that do not exist. */
export async function readPullsNow(
  db: IndexDb,
  keys: readonly Pick<PullKey, 'node_id' | 'number'>[],
): Promise<PullNow[]> {
  if (keys.length === 0) return []
  const wanted = JSON.stringify(keys.map(({ node_id, number }) => [node_id, number]))
  const { rows } = await sql<PullNow>`
    select pull.node_id, pull.number, pull.title, pull.status
    from json_each(${wanted}) as one
    cross join pull on pull.node_id = one.value ->> 0 and pull.number = one.value ->> 1`.execute(db)
  return rows
}
