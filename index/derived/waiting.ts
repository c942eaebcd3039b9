/** Queries for the pull requests that wait for a user. Each reads only rows of that user. */
import { sql } from 'kysely'
import type { OrgRow } from './org-queries.ts'
import type { IndexDb } from './schema.ts'
import type { Sees } from './sees.ts'

/** A pull request or change set that may wait for a user. */
export interface WaitingRow {
  readonly org_id: string
  readonly org_name: string
  readonly node_id: string
  readonly node_title: string
  readonly number: number
  readonly title: string
  readonly status: 'open' | 'merged' | 'closed'
  readonly author: string
  readonly created_at: string
  readonly recorded_at: string
  readonly last_entry: number
  /** Empty without entries. */
  readonly last_entry_at: string
  readonly open_threads: number
  /** The number of pages of a change set. Null for a pull request. */
  readonly num_items: number | null
  /** The pull request that concerns the user. It is an item of the change set, if that waits instead. */
  readonly own_node: string
  readonly own_number: number
}

/** The user whose rows are read. Without `sees`, they are of all organisations of this index. */
export interface WaitingFor {
  readonly userId: string
  readonly sees?: Sees
  readonly limit: number
}

const columns = sql`pull.org_id, org.name as org_name, pull.node_id,
  coalesce(node.title, proposed_node.title, '') as node_title, pull.number, pull.title,
  pull.status, pull.author, pull.created_at, max(pull.recorded_at, own.recorded_at) as recorded_at, pull.last_entry,
  max(coalesce(pull.last_entry_at, ''), coalesce(own.last_entry_at, '')) as last_entry_at, pull.open_threads,
  iif(pull.node_id = pull.org_id, (select count(*) from change_set_item item
    where item.org_id = pull.org_id and item.number = pull.number), null) as num_items,
  own.node_id as own_node, own.number as own_number`

/**
 * Joins the pull request, or the change set that it is an item of. Also its node, which may be proposed, and an
 * organisation that the user belongs to. A change set is a row of the organisation.
 */
const joined = (userId: string) => sql`
  cross join pull own on own.node_id = mine.node_id and own.number = mine.number
  cross join pull on pull.rowid = coalesce((
    select whole.rowid from change_set_item item
      cross join pull whole on whole.node_id = item.org_id and whole.number = item.number and whole.id = own.change_set
    where item.node_id = own.node_id and item.pull = own.number), own.rowid)
  left join node on node.id = pull.node_id
  left join proposed_node on proposed_node.id = pull.node_id
  cross join org on org.id = pull.org_id
  cross join member on member.org_id = pull.org_id and member.user_id = ${userId}`

const inOrg = (sees: Sees | undefined) => (sees === undefined ? sql`` : sql`and mine.org_id = ${sees.orgId}`)

/** Lists open pull requests that ask the user for a review. `verdict` is null if the user has given none yet. */
export async function listAskedReviews(db: IndexDb, { userId, sees, limit }: WaitingFor) {
  const { rows } = await sql<WaitingRow & { readonly verdict: number | null }>`
    select ${columns}, (
      select max(one.entry) from (
        select mine.node_id, mine.number
        union all select item.node_id, item.pull from change_set_item item
          where item.org_id = mine.node_id and item.number = mine.number) as own
        cross join review_entry one on one.node_id = own.node_id and one.number = own.number
          and one.user_id = ${userId} and one.verdict is not null) as verdict
    from reviewer mine ${joined(userId)}
    where mine.user_id = ${userId} ${inOrg(sees)} and pull.status = 'open' and pull.is_draft = 0
    order by mine.since desc, mine.node_id, mine.number limit ${sql.lit(limit)}`.execute(db)
  return rows
}

/** Lists pull requests with mentions and answers after the user's last entry. @param since ISO 8601 */
export async function listUnanswered(db: IndexDb, { userId, sees, limit }: WaitingFor, since: string) {
  const { rows } = await sql<
    WaitingRow & { readonly last_own: number; readonly last_mention: number; readonly last_answer: number }
  >`
    select ${columns}, mine.last_own, mine.last_mention, mine.last_answer
    from involvement mine ${joined(userId)}
    where mine.user_id = ${userId} ${inOrg(sees)} and own.last_entry_at > ${since}
      and (mine.last_mention > mine.last_own or mine.last_answer > mine.last_own)
    order by own.last_entry_at desc, mine.node_id, mine.number limit ${sql.lit(limit)}`.execute(db)
  return rows
}

/** Lists the open pull requests that the user opened, newest first. A change set of the user comes without its items. */
export async function listOwnOpenPulls(db: IndexDb, { userId, sees, limit }: WaitingFor): Promise<WaitingRow[]> {
  const { rows } = await sql<WaitingRow>`
    select ${columns}
    from pull mine ${joined(userId)}
    where mine.author_id = ${userId} ${inOrg(sees)} and mine.status = 'open'
      and (pull.rowid = own.rowid or pull.author_id is not ${userId})
    order by mine.created_at desc, mine.node_id, mine.number limit ${sql.lit(limit)}`.execute(db)
  return rows
}

/** Lists the user's organisations whose rules mention the user, by id. A row whose rules are not those of its head is left out. */
export async function listOrgsMentioning(db: IndexDb, { userId, sees, limit }: WaitingFor): Promise<OrgRow[]> {
  return db
    .selectFrom('member')
    .innerJoin('org', 'org.id', 'member.org_id')
    .where('member.user_id', '=', userId)
    .$if(sees !== undefined, (query) => query.where('member.org_id', '=', sees?.orgId ?? ''))
    .whereRef('org.rules_head', '=', 'org.head')
    .where(sql<boolean>`instr(org.rules, ${userId}) > 0`)
    .selectAll('org')
    .orderBy('org.id')
    .limit(limit)
    .execute()
}

/** Lists open pull requests and change sets that others opened, newest first. Leaves out drafts. */
export async function listOpenOfOthers(db: IndexDb, { userId, sees, limit }: WaitingFor & { readonly sees: Sees }) {
  const { rows } = await sql<WaitingRow & { readonly target_branch: string }>`
    select ${columns}, pull.target_branch
    from pull mine ${joined(userId)}
    where mine.org_id = ${sees.orgId} and mine.status = 'open' and mine.is_draft = 0 and mine.author_id is not ${userId}
      and pull.rowid = own.rowid
    order by mine.created_at desc, mine.node_id, mine.number limit ${sql.lit(limit)}`.execute(db)
  return rows
}
