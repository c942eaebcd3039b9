/** Replaces the titles of erased pull requests in events. */
import { sql, type Transaction } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import type { LogDb, LogSchema } from './schema.ts'

/** The most events of a node that one transaction passes over. */
const eventsAtOnce = 1_000

export interface ErasedTitle {
  readonly org_id: string
  readonly node_id: string
  /** The number of the pull request. */
  readonly number: number
  /** The text that replaces the title. */
  readonly title: string
}

/** Replaces a title in the next events of a node. Returns the number of the last one, or undefined at the end. */
export async function eraseTitles(
  trx: Transaction<LogSchema>,
  { org_id, node_id, number, title }: ErasedTitle,
  after: number,
): Promise<number | undefined> {
  const rows = await readRows<{ seq: number }>(
    trx,
    'select seq from event where org_id = ? and node_id = ? and seq > ? order by seq limit ?',
    ...[org_id, node_id, after, eventsAtOnce],
  )
  const last = rows.at(-1)?.seq
  if (last === undefined) return undefined
  await changeRows(
    trx,
    `update event set body = json_set(body, '$.data.title', ?)
      where org_id = ? and node_id = ? and seq > ? and seq <= ?
        and body ->> '$.data.number' = ? and body ->> '$.data.title' is not null`,
    ...[title, org_id, node_id, after, last, number],
  )
  return last
}

/** Moves the write-ahead log into the file and empties it, unless another connection is reading. */
export async function emptyWriteAheadLog(db: LogDb): Promise<void> {
  await sql`pragma wal_checkpoint(truncate)`.execute(db)
}
