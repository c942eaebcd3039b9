/** How far users have read conversations. Each function runs one statement. */
import { sql } from 'kysely'
import { compileOnce } from '../sqlite/compiled.ts'
import type { CredentialsDb, ReadMark } from './schema.ts'

/**
 * Sets a mark. It never goes back to an earlier entry. `muted` and `head` stay as they are if they are left out. A mark
 * that says this already is written once a day, so that it is not too old.
 */
export async function setReadMark(
  db: CredentialsDb,
  { muted, head, ...mark }: Omit<ReadMark, 'muted' | 'head'> & Partial<Pick<ReadMark, 'muted' | 'head'>>,
): Promise<void> {
  const { entry, at } = mark
  await db
    .insertInto('read_mark')
    .values({ ...mark, muted: muted ?? 0, head: head ?? null })
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'node_id', 'number'])
        .doUpdateSet({
          entry: sql<number>`case when read_mark.entry > ${entry} then read_mark.entry else ${entry} end`,
          ...(muted !== undefined && { muted }),
          ...(head !== undefined && { head }),
          at,
        })
        .where(({ eb, or }) =>
          or([
            eb('read_mark.entry', '<', entry),
            eb('read_mark.at', '<', at.slice(0, 10)),
            ...(muted === undefined ? [] : [eb('read_mark.muted', '<>', muted)]),
            ...(head === undefined ? [] : [eb(sql`coalesce(read_mark.head, '')`, '<>', head)]),
          ]),
        ),
    )
    .execute()
}

/** Lists a user's marks in these nodes. */
export async function listReadMarks(
  db: CredentialsDb,
  accountId: string,
  nodeIds: readonly string[],
): Promise<Pick<ReadMark, 'node_id' | 'number' | 'entry' | 'muted' | 'head'>[]> {
  if (nodeIds.length === 0) return []
  return db
    .selectFrom('read_mark')
    .select(['node_id', 'number', 'entry', 'muted', 'head'])
    .where('account_id', '=', accountId)
    .where('node_id', 'in', nodeIds)
    .execute()
}

/** The most muted conversations of a user. */
const mostMuted = 1_000

/** Lists the conversations that a user has muted, and the nodes, with the number 0. The newest come first. */
export const listMuted = compileOnce(1, (db: CredentialsDb, accountId: string) =>
  db
    .selectFrom('read_mark')
    .select(['org_id', 'node_id', 'number'])
    .where('account_id', '=', accountId)
    .where('muted', '=', 1)
    .orderBy('at', 'desc')
    .limit(mostMuted),
)

export async function deleteReadMark(
  db: CredentialsDb,
  { account_id, node_id, number }: Pick<ReadMark, 'account_id' | 'node_id' | 'number'>,
): Promise<void> {
  await db
    .deleteFrom('read_mark')
    .where('account_id', '=', account_id)
    .where('node_id', '=', node_id)
    .where('number', '=', number)
    .execute()
}

/** Keeps those that are muted. */
export async function deleteReadMarksUntil(db: CredentialsDb, at: string): Promise<void> {
  await db.deleteFrom('read_mark').where('at', '<=', at).where('muted', '=', 0).execute()
}
