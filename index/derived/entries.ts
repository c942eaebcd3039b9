/** Queries for the entries of pull requests: comments, verdicts and events. */
import { type Selectable, sql } from 'kysely'
import { type Slice, totalOf } from '../slice.ts'
import type { EntryKey, EntryRows } from './reviews.ts'
import type { IndexDb, ReviewEntryTable, Role } from './schema.ts'

export type EntryRow = Pick<Selectable<ReviewEntryTable>, 'number' | 'entry' | 'kind' | 'at' | 'body'>

/** The most bytes of entries in one list, because a comment may have 16 KiB. */
const listedBytes = 4 * 1024 * 1024

export type ThreadState = 'open' | 'resolved' | 'all'

interface ThreadFilter {
  readonly state: ThreadState
  /** Only threads on this file. */
  readonly path?: string
}

/**
 * Lists threads by their first comments, and the total. A thread is open if it is not resolved and has a comment that is
 * not deleted. Answers to an entry that is damaged or missing are in the timeline only.
 */
export async function listThreadRows(
  db: IndexDb,
  nodeId: string,
  number: number,
  { state, path }: ThreadFilter,
  { limit, offset }: Slice,
) {
  const comments = db
    .selectFrom('review_entry as one')
    .select(({ fn }) => [
      'one.thread',
      fn.countAll<number>().as('num_comments'),
      fn.sum<number>('one.resolved').as('resolved'),
    ])
    .select(sql<number>`sum(1 - one.deleted)`.as('live'))
    .where('one.node_id', '=', nodeId)
    .where('one.number', '=', number)
    .where('one.kind', '=', sql.lit('comment'))
    .groupBy('one.thread')
  let all = db
    .selectFrom(comments.as('counted'))
    .innerJoin('review_entry as first', (join) =>
      join.on('first.node_id', '=', nodeId).on('first.number', '=', number).onRef('first.entry', '=', 'counted.thread'),
    )
    .where('first.kind', '=', 'comment')
    .whereRef('first.thread', '=', 'first.entry')
  if (state === 'open') all = all.where('counted.resolved', '=', 0).where('counted.live', '>', 0)
  if (state === 'resolved') all = all.where('counted.resolved', '>', 0)
  if (path !== undefined) all = all.where('first.path', '=', path)
  const rows = await all
    .select(['first.number', 'first.entry', 'first.kind', 'first.at', 'first.body', 'counted.num_comments'])
    .orderBy('first.entry')
    .limit(limit)
    .offset(offset)
    .execute()
  return { rows, total: await totalOf(all) }
}

/** Lists the first answers of each thread, by number. Stops after 4 MiB. */
export async function listAnswers(
  db: IndexDb,
  nodeId: string,
  number: number,
  threads: readonly number[],
  perThread: number,
): Promise<(EntryRow & { readonly thread: number })[]> {
  const { rows } = await sql<EntryRow & { readonly thread: number; readonly bytes: number }>`
    select number, entry, kind, at, body, thread from (
      select number, entry, kind, at, body, thread,
        row_number() over (partition by thread order by entry) as place,
        sum(octet_length(body)) over (order by thread, entry) as bytes
      from review_entry
      where node_id = ${nodeId} and number = ${number} and kind = 'comment' and entry <> thread
        and thread in (select value from json_each(${JSON.stringify(threads)})))
    where place <= ${perThread} and bytes <= ${listedBytes}
    order by entry`.execute(db)
  return rows
}

/** Lists entries by number, starting after `after`. Has at most 4 MiB, and at least one entry if there is one. */
export async function listEntriesAfter(
  db: IndexDb,
  nodeId: string,
  number: number,
  after: number,
  limit: number,
): Promise<{ rows: EntryRow[]; isLast: boolean }> {
  const found = await db
    .selectFrom('review_entry')
    .select(['number', 'entry', 'kind', 'at', 'body'])
    .where('node_id', '=', nodeId)
    .where('number', '=', number)
    .where('entry', '>', after)
    .orderBy('entry')
    .limit(limit + 1)
    .execute()
  let bytes = 0
  const rows = found.slice(0, limit).filter(({ body }, at) => {
    bytes += Buffer.byteLength(body)
    return at === 0 || bytes <= listedBytes
  })
  return { rows, isLast: rows.length === found.length }
}

/** Lists reviews, oldest first, and the total. */
export async function listReviewRows(db: IndexDb, nodeId: string, number: number, { limit, offset }: Slice) {
  const all = db
    .selectFrom('review_entry')
    .where('node_id', '=', nodeId)
    .where('number', '=', number)
    .where('kind', '=', sql.lit('verdict'))
  const rows: EntryRow[] = await all
    .select(['number', 'entry', 'kind', 'at', 'body'])
    .orderBy('entry')
    .limit(limit)
    .offset(offset)
    .execute()
  return { rows, total: await totalOf(all) }
}

export function findEntryRow(
  db: IndexDb,
  nodeId: string,
  number: number,
  entry: number,
): Promise<EntryRow | undefined> {
  return db
    .selectFrom('review_entry')
    .select(['number', 'entry', 'kind', 'at', 'body'])
    .where('node_id', '=', nodeId)
    .where('number', '=', number)
    .where('entry', '=', entry)
    .executeTakeFirst()
}

/** Finds the first entry with this UUID, in any pull request of the node. */
export function findEntryById(db: IndexDb, nodeId: string, id: string) {
  return db
    .selectFrom('review_entry')
    .select(['number', 'entry', 'kind'])
    .where('node_id', '=', nodeId)
    .where('id', '=', id)
    .orderBy('number')
    .orderBy('entry')
    .limit(1)
    .executeTakeFirst()
}

/** Lists the numbers of entries in a node, in their order, after `after`. */
export async function listEntryKeys(
  db: IndexDb,
  nodeId: string,
  after: EntryKey,
  limit: number,
): Promise<readonly EntryKey[]> {
  return db
    .selectFrom('review_entry')
    .select(['number', 'entry'])
    .where('node_id', '=', nodeId)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('number', 'entry'), '>', tuple(after.number, after.entry)))
    .orderBy('number')
    .orderBy('entry')
    .limit(limit)
    .execute()
}

/** Reads the bodies of these entries, of those that have rows. */
export async function listBodies(db: IndexDb, nodeId: string, keys: readonly EntryKey[]) {
  const { rows } = await sql<EntryKey & { readonly body: string }>`
    select one.number, one.entry, one.body
    from json_each(${JSON.stringify(keys.map(({ number, entry }) => [number, entry]))}) as key
      cross join review_entry one
        on one.node_id = ${nodeId} and one.number = key.value ->> 0 and one.entry = key.value ->> 1`.execute(db)
  return rows
}

/** Lists the verdicts on pages that a review of a change set has given. */
export async function listVerdictsOfReview(db: IndexDb, nodeIds: readonly string[], review: string) {
  const { rows } = await sql<EntryKey & { readonly node_id: string }>`
    select one.node_id, one.number, one.entry
    from json_each(${JSON.stringify(nodeIds)}) as node
      cross join review_entry one on one.node_id = node.value and one.verdict is not null
    where one.body ->> 'review' = ${review}`.execute(db)
  return rows
}

/** True if an entry was written on this head. */
export async function hasEntryOn(db: IndexDb, nodeId: string, head: string): Promise<boolean> {
  const found = await db
    .selectFrom('review_entry')
    .select('entry')
    .where('node_id', '=', nodeId)
    .where('head', '=', head)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** The verdict that a user gave last. */
export interface VerdictRow {
  readonly number: number
  readonly entry: number
  readonly user_id: string
  readonly verdict: 'approve' | 'request_changes'
  readonly at: string
  readonly head: string
  readonly base: string | null
  readonly target_branch: string
  readonly name: string
  readonly email: string
  /** The first 300 characters. */
  readonly text: string
  /** 1 if it was withdrawn or dismissed. */
  readonly withdrawn: number
  readonly dismissed: number
  /** The user's role now. Null: not a member. */
  readonly role: Role | null
  /** The member's address, and a JSON array of SHA-256 hashes of earlier ones. */
  readonly member_email: string | null
  readonly former_emails: string | null
}

/** The columns of a verdict, from `one` and the `member`. */
const verdictColumns = sql`
  one.number, one.entry, one.user_id, one.verdict, one.at, one.head, one.body ->> 'base' as base,
  one.body ->> 'target_branch' as target_branch, one.body ->> '$.by.name' as name, one.body ->> '$.by.email' as email,
  substr(one.body ->> 'text', 1, 300) as text, one.body -> 'withdrawn' is not null as withdrawn, one.body -> 'dismissed' is not null as dismissed,
  member.role, member.email as member_email, member.former_emails`

/** Lists the last verdict of each user on these pull requests, by number and entry. */
export async function listLastVerdicts(
  db: IndexDb,
  orgId: string,
  nodeId: string,
  numbers: readonly number[],
): Promise<VerdictRow[]> {
  const { rows } = await sql<VerdictRow>`
    select ${verdictColumns}
    from (
        select number, user_id, max(entry) as entry from review_entry
        where node_id = ${nodeId} and verdict is not null
          and number in (select value from json_each(${JSON.stringify(numbers)}))
        group by number, user_id) as last
      cross join review_entry one on one.node_id = ${nodeId} and one.number = last.number and one.entry = last.entry
      left join member on member.org_id = ${orgId} and member.user_id = one.user_id
    where one.user_id is not null
    order by one.number, one.entry`.execute(db)
  return rows
}

/** The newest verdicts among which requests for changes on other heads are searched. Takes 1 ms. */
const newestVerdicts = 500

/**
 * Lists requests for changes that hold, by number and entry. They are all on these heads, and the newest on others, and
 * the last verdicts of their users in any pull request of the node.
 *
 * @param overlay entries that are not indexed yet, and the numbers of those whose rows do not hold
 */
export async function listObjections(
  db: IndexDb,
  orgId: string,
  nodeId: string,
  heads: readonly string[],
  { put, gone }: NodeOverlay = { put: [], gone: [] },
): Promise<VerdictRow[]> {
  const hidden = gone === 'all' ? [] : [...gone, ...put.map(({ entry }) => entry)]
  const { rows } = await sql<VerdictRow>`
    with coming as (
        select value ->> 'number' as number, value ->> 'entry' as entry, value ->> 'verdict' as verdict,
          value ->> 'user_id' as user_id, value ->> 'at' as at, value ->> 'head' as head, value ->> 'body' as body
        from json_each(${JSON.stringify(put.map(({ entry }) => entry))})),
      hidden as (
        select value ->> 0 as number, value ->> 1 as entry
        from json_each(${JSON.stringify(hidden.map(({ number, entry }) => [number, entry]))})),
      heads as (select value as head from json_each(${JSON.stringify(heads)})),
      givers as (
        select one.number, one.user_id from heads cross join review_entry one
          on one.node_id = ${nodeId} and one.head = heads.head and one.verdict = 'request_changes'
        union select number, user_id from (
          select number, user_id, verdict from review_entry where node_id = ${nodeId} and verdict is not null
          order by number desc limit ${sql.lit(newestVerdicts)}) where verdict = 'request_changes'
        union select number, user_id from coming where verdict = 'request_changes'),
      entries as (
        select one.number, one.entry, one.user_id, one.verdict, one.at, one.head, one.body
        from givers cross join review_entry one
          on one.node_id = ${nodeId} and one.number = givers.number and one.user_id = givers.user_id
            and one.verdict is not null and ${sql.lit(Number(gone !== 'all'))}
            and (one.number, one.entry) not in (select number, entry from hidden)
        union all select * from (select number, entry, user_id, verdict, at, head, body from coming)
        where verdict is not null)
    select ${verdictColumns}
    from (select number, user_id, max(entry) as entry from entries group by number, user_id) as last
      cross join entries one on one.number = last.number and one.entry = last.entry
      left join member on member.org_id = ${orgId} and member.user_id = one.user_id
    where one.verdict = 'request_changes' and one.body -> 'withdrawn' is null and one.body -> 'dismissed' is null
    order by one.number, one.entry`.execute(db)
  return rows
}

/** The entries of a node that differ from their rows. */
export interface NodeOverlay {
  readonly put: readonly EntryRows[]
  /** Entries whose rows no longer hold. `all`: every row. */
  readonly gone: readonly EntryKey[] | 'all'
}

/** The entries of a pull request that differ from their rows. */
export interface EntryOverlay {
  readonly put: readonly EntryRows[]
  /** Numbers of entries whose rows no longer hold. `all`: every row. */
  readonly gone: readonly number[] | 'all'
}

/** Reads the last verdicts and counts the open threads, as if the overlay was indexed. */
export async function readFactsWith(
  db: IndexDb,
  { orgId, nodeId, number }: { readonly orgId: string; readonly nodeId: string; readonly number: number },
  { put, gone }: EntryOverlay,
): Promise<{ readonly verdicts: VerdictRow[]; readonly open_threads: number }> {
  const coming = JSON.stringify(put.map(({ entry }) => entry))
  const hidden = JSON.stringify(gone === 'all' ? [] : [...gone, ...put.map(({ entry }) => entry.entry)])
  const entries = sql`
    select number, entry, kind, verdict, user_id, thread, at, head, resolved, deleted, body from review_entry
    where node_id = ${nodeId} and number = ${number} and ${sql.lit(Number(gone !== 'all'))}
      and entry not in (select value from json_each(${hidden}))
    union all
    select ${number}, value ->> 'entry', value ->> 'kind', value ->> 'verdict', value ->> 'user_id', value ->> 'thread',
      value ->> 'at', value ->> 'head', value ->> 'resolved', value ->> 'deleted', value ->> 'body'
    from json_each(${coming})`
  const { rows: verdicts } = await sql<VerdictRow>`
    with entries as (${entries})
    select ${verdictColumns}
    from (
        select user_id, max(entry) as entry from entries where verdict is not null and user_id is not null
        group by user_id) as last
      cross join entries one on one.entry = last.entry
      left join member on member.org_id = ${orgId} and member.user_id = one.user_id
    order by one.entry`.execute(db)
  const { rows: counts } = await sql<{ open_threads: number }>`
    with entries as (${entries})
    select coalesce(sum(resolved = 0 and live > 0 and begun > 0), 0) as open_threads from (
      select sum(1 - deleted) as live, sum(resolved) as resolved, sum(entry = thread) as begun
      from entries where kind = 'comment' group by thread)`.execute(db)
  return { verdicts, open_threads: counts[0]?.open_threads ?? 0 }
}

/** Lists the reviewers of these pull requests, by number and time. */
export async function listReviewerRows(db: IndexDb, nodeId: string, numbers: readonly number[]) {
  return db
    .selectFrom('reviewer')
    .select(['number', 'user_id', 'name', 'since'])
    .where('node_id', '=', nodeId)
    .where('number', 'in', numbers)
    .orderBy('number')
    .orderBy('since')
    .orderBy('user_id')
    .execute()
}
