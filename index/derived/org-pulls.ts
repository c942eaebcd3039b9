/** Queries for the pull requests of all nodes of an organisation. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Selectable, sql } from 'kysely'
import { type Slice, totalOf, totalWith } from '../slice.ts'
import { readRows } from '../sqlite/statements.ts'
import { listSetItems } from './change-sets.ts'
import type { IndexDb, PullTable } from './schema.ts'
import type { Sees } from './sees.ts'
import { openSubtree } from './subtrees.ts'

type PullOrder = 'newest' | 'oldest'

export interface OrgPullFilter {
  readonly status: PullTable['status'] | 'all'
  /** 1: opened by a program for its user. 0: by anyone else. */
  readonly byAgent?: 0 | 1
  /** An e-mail address. The case of ASCII letters is ignored. */
  readonly author?: string
  /** The id of a user who was asked for a review. */
  readonly reviewer?: string
  /** Only pull requests of this node and its descendants. */
  readonly under?: string
  readonly order: PullOrder
  /** True: change sets instead of their items. A set is below a node if one of its pages is. */
  readonly isGrouped?: boolean
}

/** A pull request in the order of a list. */
type PullKey = Pick<Selectable<PullTable>, 'created_at' | 'node_id' | 'number'>

/** Keys per statement, which takes about 2 ms. */
const keysAtOnce = 2_000

/** Lists pull requests by `created_at`, `node_id` and `number`. */
export async function listOrgPullRows(db: IndexDb, sees: Sees, filter: OrgPullFilter, page: Slice) {
  const { keys, total } = await (filter.under === undefined
    ? listKeys(db, sees, filter, page)
    : listKeysUnder(db, sees, filter, filter.under, page))
  return { rows: await rowsOf(db, keys), total }
}

async function listKeys(db: IndexDb, sees: Sees, filter: OrgPullFilter, page: Slice) {
  const keys = await keysOf(db, sees, filter).limit(page.limit).offset(page.offset).execute()
  return { keys, total: await totalWith(keys, page, () => totalOf(pullsOf(db, sees, filter))) }
}

/** Reads all keys that match the rest of the filter, in slices. Keeps those of the page. */
async function listKeysUnder(db: IndexDb, sees: Sees, filter: OrgPullFilter, under: string, page: Slice) {
  const subtree = openSubtree(db, sees, under)
  const keys: PullKey[] = []
  let total = 0
  for (let last: PullKey | undefined, isMore = true; isMore; await nextTurn()) {
    const slice: PullKey[] = await keysOf(db, sees, filter, last).limit(keysAtOnce).execute()
    const items = await listSetItems(
      db,
      sees.orgId,
      slice.filter(isSet(sees)).map(({ number }) => number),
    )
    const below = await subtree.select([...slice, ...items].map(({ node_id }) => node_id))
    const sets = new Set(items.filter(({ node_id }) => below.has(node_id)).map(({ number }) => number))
    for (const key of slice) {
      if (isSet(sees)(key) ? !sets.has(key.number) : !below.has(key.node_id)) continue
      if (total >= page.offset && keys.length < page.limit) keys.push(key)
      total++
    }
    last = slice.at(-1)
    isMore = slice.length === keysAtOnce
  }
  return { keys, total }
}

/** True for the row of a change set. */
function isSet({ orgId }: Sees): (key: PullKey) => boolean {
  return ({ node_id }) => node_id === orgId
}

function pullsOf(db: IndexDb, sees: Sees, { status, author, reviewer, byAgent, isGrouped }: OrgPullFilter) {
  let all = db.selectFrom('pull')
  // With a reviewer, the pull requests are found by the reviewer's rows. The plus excludes the other indexes.
  if (reviewer === undefined) all = all.where('org_id', '=', sees.orgId)
  else
    all = all.where(sql<boolean>`+org_id = ${sees.orgId}`).where(
      sql<boolean>`(node_id, number) in (
          select node_id, number from reviewer where user_id = ${reviewer} and org_id = ${sees.orgId})`,
    )
  // Change sets are rows of the organisation, and their items name them.
  all = all.where(isGrouped ? sql<boolean>`+change_set is null` : sql<boolean>`+node_id <> org_id`)
  if (byAgent !== undefined) all = all.where(sql<boolean>`+by_agent = ${byAgent}`)
  if (status !== 'all') all = all.where(reviewer === undefined ? 'status' : sql`+status`, '=', status)
  if (author !== undefined)
    all = all.where(
      reviewer === undefined
        ? sql<boolean>`author_email = ${author} collate nocase`
        : sql<boolean>`+author_email = ${author} collate nocase`,
    )
  return all
}

/** The keys in the order of the list, after `last`. Each filter has an index in this order. */
function keysOf(db: IndexDb, sees: Sees, filter: OrgPullFilter, last?: PullKey) {
  const direction = filter.order === 'newest' ? ('desc' as const) : ('asc' as const)
  const isBeyond = filter.order === 'newest' ? ('<' as const) : ('>' as const)
  let all = pullsOf(db, sees, filter)
  if (last)
    all = all.where(({ eb, refTuple, tuple }) => {
      const { created_at, node_id, number } = last
      return eb(refTuple('created_at', 'node_id', 'number'), isBeyond, tuple(created_at, node_id, number))
    })
  return all
    .select(['created_at', 'node_id', 'number'])
    .orderBy('created_at', direction)
    .orderBy('node_id', direction)
    .orderBy('number', direction)
}

/** Reads the rows of a page with the titles of their nodes, proposed or not. Omits rows that are gone by now. */
function rowsOf(db: IndexDb, keys: readonly PullKey[]): Promise<OrgPullRow[]> {
  return readRows(db, rowsOfKeys, JSON.stringify(keys.map(({ node_id, number }) => [node_id, number])))
}

const rowsOfKeys = `
  select pull.node_id, coalesce(node.title, proposed_node.title, iif(pull.node_id = pull.org_id, '', null)) as node_title,
    iif(pull.node_id = pull.org_id, (select count(*) from change_set_item item
      where item.org_id = pull.org_id and item.number = pull.number), null) as num_items, pull.number, pull.id, pull.title, pull.source_branch,
    pull.target_branch, pull.status, pull.is_draft, pull.author, pull.author_email, pull.created_at, pull.ended_by,
    pull.ended_by_email, pull.ended_at, pull.comments, pull.open_threads, pull.opened_via, pull.ended_via
  from json_each(?) as one
    cross join pull on pull.node_id = one.value ->> 0 and pull.number = one.value ->> 1
    left join node on node.id = pull.node_id
    left join proposed_node on proposed_node.id = pull.node_id
  where node_title is not null
  order by one.key`

export interface OrgPullRow
  extends Pick<
    Selectable<PullTable>,
    | 'node_id'
    | 'number'
    | 'id'
    | 'title'
    | 'source_branch'
    | 'target_branch'
    | 'status'
    | 'is_draft'
    | 'author'
    | 'author_email'
    | 'created_at'
    | 'ended_by'
    | 'ended_by_email'
    | 'ended_at'
    | 'comments'
    | 'open_threads'
    | 'opened_via'
    | 'ended_via'
  > {
  /** Empty for a change set. */
  readonly node_title: string
  /** The pages of a change set. Null for others. */
  readonly num_items: number | null
}
