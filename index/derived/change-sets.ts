/**
 * The rows of change sets. A set is a row of `pull` whose node is the organisation, so that its conversation has the
 * rows of any other. Its items have their own table.
 */
import { type Selectable, sql, type Transaction } from 'kysely'
import type { Slice } from '../slice.ts'
import { countMoves, ownRepository } from './change-log.ts'
import { deletePull, type PullRows, replacePull } from './nodes.ts'
import { findPull, listPullRows, type PullFilter, type PullRow } from './pulls.ts'
import { countEntries } from './reviews.ts'
import type { ChangeSetItemTable, IndexDb, IndexSchema } from './schema.ts'
import { inSlices } from './slices.ts'

export type SetItemRow = Selectable<ChangeSetItemTable>

/** The rows of one change set. */
export interface SetRows extends PullRows {
  readonly items: readonly SetItemRow[]
}

export interface SetsChange {
  readonly orgId: string
  /** The commit that the rows were read from. Null: there was none. */
  readonly before: string | null
  /** The commit that the rows are written from. Null: the ledger is gone. */
  readonly sets: string | null
  readonly put: readonly SetRows[]
  /** Numbers of sets that the ledger no longer has. */
  readonly gone: readonly number[]
}

/** Returns the commit of the ledger of change sets that its rows follow. Undefined without a row of the organisation. */
export async function findSetsCommit(db: IndexDb, orgId: string): Promise<string | null | undefined> {
  return (await db.selectFrom('org').select('sets').where('id', '=', orgId).executeTakeFirst())?.sets
}

/** Writes the change. Writes nothing and returns false if the rows follow another commit by now. */
export async function replaceSetRows(
  trx: Transaction<IndexSchema>,
  { orgId, before, sets, put, gone }: SetsChange,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('org')
    .set({ sets })
    .where('id', '=', orgId)
    .where(sql<boolean>`sets is ${before}`)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  for (const number of gone) {
    await deleteItems(trx, orgId, number)
    await deletePull(trx, { node_id: orgId, number })
  }
  for (const rows of put) await replaceSet(trx, orgId, rows)
  await countMoves(trx, orgId, [ownRepository])
  return true
}

/** Writes the rows of one set. */
export async function replaceSet(trx: Transaction<IndexSchema>, orgId: string, rows: SetRows): Promise<void> {
  const { number } = rows.pull
  await replacePull(trx, rows)
  await deleteItems(trx, orgId, number)
  await inSlices(rows.items, (some) => trx.insertInto('change_set_item').values(some).execute())
  await countEntries(trx, orgId, number)
}

async function deleteItems(trx: Transaction<IndexSchema>, orgId: string, number: number): Promise<void> {
  await trx.deleteFrom('change_set_item').where('org_id', '=', orgId).where('number', '=', number).execute()
}

export function findSetRow(db: IndexDb, orgId: string, number: number): Promise<PullRow | undefined> {
  return findPull(db, orgId, number)
}

/** Returns the set with this id. */
export function findSetById(db: IndexDb, orgId: string, id: string): Promise<PullRow | undefined> {
  return db.selectFrom('pull').selectAll().where('node_id', '=', orgId).where('id', '=', id).executeTakeFirst()
}

/** Lists change sets, newest first. */
export function listSetRows(db: IndexDb, orgId: string, filter: PullFilter, page: Slice) {
  return listPullRows(db, orgId, filter, page)
}

/** Maps pull requests to the numbers of the change sets that they are items of. Leaves out others. */
export async function findSetsOf(db: IndexDb, pulls: readonly { node_id: string; number: number }[]) {
  if (pulls.length === 0) return []
  const { rows } = await sql<{ node_id: string; number: number; set: number }>`
    select item.node_id, item.pull as number, whole.number as "set"
    from json_each(${JSON.stringify(pulls.map(({ node_id, number }) => [node_id, number]))}) as one
      cross join change_set_item item on item.node_id = one.value ->> 0 and item.pull = one.value ->> 1
      cross join pull whole on whole.node_id = item.org_id and whole.number = item.number
      left join pull on pull.node_id = item.node_id and pull.number = item.pull
    where pull.id is null or pull.change_set = whole.id`.execute(db)
  return rows
}

/** Lists the items of sets, in the order of their nodes. */
export function listSetItems(db: IndexDb, orgId: string, numbers: readonly number[]): Promise<SetItemRow[]> {
  if (numbers.length === 0) return Promise.resolve([])
  return db
    .selectFrom('change_set_item')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('number', 'in', numbers)
    .orderBy('number')
    .orderBy('node_id')
    .execute()
}

/** Lists open sets without a record since, also in their items. @param since ISO 8601 */
export async function listAbandonedSets(db: IndexDb, since: string): Promise<Pick<PullRow, 'org_id' | 'number'>[]> {
  const { rows } = await sql<Pick<PullRow, 'org_id' | 'number'>>`
    select mine.org_id, mine.number from pull mine
    where mine.node_id = mine.org_id and mine.status = 'open' and mine.recorded_at < ${since}
      and coalesce(mine.last_entry_at, '') < ${since} and not exists (
        select 1 from change_set_item item join pull on pull.node_id = item.node_id and pull.number = item.pull
        where item.org_id = mine.org_id and item.number = mine.number
          and max(pull.recorded_at, coalesce(pull.last_entry_at, '')) >= ${since})
    order by mine.org_id, mine.number`.execute(db)
  return rows
}

/** Counts the open sets of an organisation. Also those of one author, and the new pages in these. */
export async function countOpenSets(db: IndexDb, orgId: string, authorId: string) {
  const { rows } = await sql<{ all: number; own: number; proposed: number }>`
    select count(*) as "all", coalesce(sum(author_id = ${authorId}), 0) as own, (
      select count(*) from change_set_item item
        join pull mine on mine.node_id = item.org_id and mine.number = item.number
      where item.org_id = ${orgId} and item.act in ('create', 'restore') and mine.status = 'open' and mine.author_id = ${authorId}
    ) as proposed
    from pull where node_id = ${orgId} and status = 'open'`.execute(db)
  return rows[0] ?? { all: 0, own: 0, proposed: 0 }
}

/** Lists an author's open drafts, newest first, with the number of their pages. */
export async function listDrafts(db: IndexDb, orgId: string, authorId: string, most: number) {
  const { rows } = await sql<{ number: number; title: string; num_items: number }>`
    select number, title, (
      select count(*) from change_set_item item where item.org_id = ${orgId} and item.number = pull.number
    ) as num_items
    from pull
    where author_id = ${authorId} and org_id = ${orgId} and node_id = ${orgId} and status = 'open' and is_draft = 1
    order by number desc limit ${sql.lit(most)}`.execute(db)
  return rows
}
