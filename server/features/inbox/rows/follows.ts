/** Follows of users. Each function runs one statement. */

import type { CredentialsDb, Follow } from '../../../../index/credentials/schema.ts'
import { type Slice, totalOf } from '../../../../index/slice.ts'

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

/** Which follows of a user are listed. Undefined: all. */
export interface FollowFilter {
  readonly orgId?: string | undefined
  readonly nodeId?: string | undefined
}

/** Lists what a user follows, the newest first. */
export function listFollows(
  db: CredentialsDb,
  accountId: string,
  filter: FollowFilter,
  { limit, offset }: Slice,
): Promise<Follow[]> {
  return followsOf(db, accountId, filter)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('org_id')
    .orderBy('node_id')
    .limit(limit)
    .offset(offset)
    .execute()
}

export function countFollows(db: CredentialsDb, accountId: string, filter: FollowFilter = {}): Promise<number> {
  return totalOf(followsOf(db, accountId, filter))
}

function followsOf(db: CredentialsDb, accountId: string, { orgId, nodeId }: FollowFilter) {
  return db
    .selectFrom('follow')
    .where('account_id', '=', accountId)
    .$if(orgId !== undefined, (query) => query.where('org_id', '=', orgId ?? ''))
    .$if(nodeId !== undefined, (query) => query.where('node_id', '=', nodeId ?? ''))
}

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
