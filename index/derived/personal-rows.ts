/** Reads the texts of a user in pull requests, for an export of personal data. Each function runs one statement. */
import { type Selectable, sql } from 'kysely'
import type { IndexDb, PullTable, ReviewEntryTable } from './schema.ts'

/** Rows that one statement returns. */
const atOnce = 500

type OpenedPull = Selectable<PullTable> & { readonly rowid: number }

/** Lists pull requests that a user opened, after one of them. */
export async function listPullsOpenedBy(db: IndexDb, userId: string, after = 0): Promise<OpenedPull[]> {
  const { rows } = await sql<OpenedPull>`
    select rowid, * from pull where author_id = ${userId} and rowid > ${after}
    order by rowid limit ${sql.lit(atOnce)}`.execute(db)
  return rows
}

type OwnEntry = Pick<Selectable<ReviewEntryTable>, 'node_id' | 'number' | 'entry' | 'kind' | 'at' | 'body'> & {
  readonly org_id: string
}

/** Lists comments, reviews and events that a user wrote, after one of them. */
export async function listEntriesBy(db: IndexDb, userId: string, after?: OwnEntry): Promise<OwnEntry[]> {
  const { node_id = '', number = 0, entry = 0 } = after ?? {}
  const { rows } = await sql<OwnEntry>`
    select involvement.org_id, own.node_id, own.number, own.entry, own.kind, own.at, own.body
    from involvement join review_entry as own using (node_id, number, user_id)
    where involvement.user_id = ${userId} and (own.node_id, own.number, own.entry) > (${node_id}, ${number}, ${entry})
    order by own.node_id, own.number, own.entry limit ${sql.lit(atOnce)}`.execute(db)
  return rows
}
