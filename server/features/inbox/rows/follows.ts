/** Follows of users. Each function runs one statement. */

import { sql } from 'kysely'
import type { CredentialsDb, Follow } from '../../../../index/credentials/schema.ts'
import { compileOnce } from '../../../../index/sqlite/compiled.ts'

/** Follows a node or an organisation. Following it again changes only the scope. */
export async function putFollow(db: CredentialsDb, follow: Follow): Promise<void> {
  await db
    .insertInto('follow')
    .values(follow)
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'org_id', 'node_id']).doUpdateSet({ scope: follow.scope }),
    )
    .execute()
}

export async function deleteFollow(
  db: CredentialsDb,
  { account_id, org_id, node_id }: Pick<Follow, 'account_id' | 'org_id' | 'node_id'>,
): Promise<void> {
  await db
    .deleteFrom('follow')
    .where('account_id', '=', account_id)
    .where('org_id', '=', org_id)
    .where('node_id', '=', node_id)
    .execute()
}

/** Lists what a user follows, the newest first. Also of one organisation, or of one node. */
export function listFollows(db: CredentialsDb, accountId: string, orgId = any, nodeId = any): Promise<Follow[]> {
  return followsOf(db, accountId, orgId, nodeId)
}

/** No id is this text. */
const any = '*'

const followsOf = compileOnce(3, (db: CredentialsDb, accountId: string, orgId: string, nodeId: string) =>
  db
    .selectFrom('follow')
    .selectAll()
    .where('account_id', '=', accountId)
    .where(sql<boolean>`(${orgId} = '*' or org_id = ${orgId})`)
    .where(sql<boolean>`(${nodeId} = '*' or node_id = ${nodeId})`)
    .orderBy('created_at', 'desc')
    .orderBy('org_id')
    .orderBy('node_id'),
)

/** A user who has rows about an organisation. */
export interface FollowerOf {
  readonly account_id: string
  readonly org_id: string
}

/** Lists users with follows or marks, and the organisations, after one of them. Sorted by both ids. */
export async function listFollowers(db: CredentialsDb, after: FollowerOf, limit: number): Promise<FollowerOf[]> {
  const of = (table: 'follow' | 'inbox_mark') =>
    db
      .selectFrom(table)
      .select(['account_id', 'org_id'])
      .distinct()
      .where((eb) =>
        eb.or([
          eb('account_id', '>', after.account_id),
          eb.and([eb('account_id', '=', after.account_id), eb('org_id', '>', after.org_id)]),
        ]),
      )
  return of('follow').union(of('inbox_mark')).orderBy('account_id').orderBy('org_id').limit(limit).execute()
}

export async function deleteFollowsOf(db: CredentialsDb, { account_id, org_id }: FollowerOf): Promise<void> {
  await db.deleteFrom('follow').where('account_id', '=', account_id).where('org_id', '=', org_id).execute()
}
