/** Writes rows of the audit, and reads those about an account. */
import { sql, type Transaction } from 'kysely'
import type { LogDb, LogSchema } from './schema.ts'

export interface AuditRow {
  readonly n: number
  readonly id: string
  readonly at_ms: number
  readonly last_ms: number | null
  readonly org_id: string | null
  readonly node_id: string | null
  readonly actor_kind: 'user' | 'operator' | 'service' | 'anonymous'
  readonly actor_id: string | null
  readonly actor_name: string | null
  readonly token_id: string | null
  readonly account_id: string | null
  readonly action: string
  readonly target_type: string | null
  readonly target_id: string | null
  readonly outcome: 'success' | 'failure' | 'refused'
  readonly via: string
  readonly address: string | null
  readonly user_agent: string | null
  readonly request_id: string | null
  readonly count: number
  readonly bytes: number
  readonly detail: string | null
}

export type NewAuditRow = Omit<AuditRow, 'n' | 'last_ms'> & { readonly merge_key: string | null }

/** Inserts a row. If there is one with its key, that one counts on. */
export async function putAuditRow(trx: Transaction<LogSchema>, row: NewAuditRow): Promise<void> {
  await trx
    .insertInto('audit')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('merge_key').doUpdateSet({
        count: sql`audit.count + excluded.count`,
        bytes: sql`audit.bytes + excluded.bytes`,
        last_ms: sql`max(excluded.at_ms, coalesce(audit.last_ms, audit.at_ms))`,
      }),
    )
    .execute()
}

/** Inserts a row, unless there is one with its key. */
export async function putAuditRowOnce(trx: Transaction<LogSchema>, row: NewAuditRow): Promise<void> {
  await trx
    .insertInto('audit')
    .values(row)
    .onConflict((conflict) => conflict.column('merge_key').doNothing())
    .execute()
}

/** Rows about an account that one statement returns. */
const atOnce = 200

/** Lists rows that concern an account, newest first, before one of them. */
export async function listAuditRowsAbout(db: LogDb, accountId: string, before?: AuditRow): Promise<AuditRow[]> {
  let query = db.selectFrom('audit').selectAll().where('account_id', '=', accountId)
  if (before !== undefined) query = query.where(sql<boolean>`(at_ms, n) < (${before.at_ms}, ${before.n})`)
  return query.orderBy('at_ms', 'desc').orderBy('n', 'desc').limit(atOnce).execute()
}

/** Returns the detail of the newest row of an action. */
export async function findLastDetail(db: LogDb, action: string): Promise<string | null | undefined> {
  const row = await db
    .selectFrom('audit')
    .select('detail')
    .where('action', '=', action)
    .orderBy('at_ms', 'desc')
    .orderBy('n', 'desc')
    .executeTakeFirst()
  return row?.detail
}

/** Removes the name of a user from up to `limit` rows. Returns true if none is left. */
export async function removeAuditName(trx: Transaction<LogSchema>, userId: string, limit: number): Promise<boolean> {
  const named = trx
    .selectFrom('audit')
    .select('n')
    .where('actor_id', '=', userId)
    .where(sql<boolean>`actor_name <> ''`)
    .limit(limit)
  const { numUpdatedRows } = await trx
    .updateTable('audit')
    .set({ actor_name: '' })
    .where('n', 'in', named)
    .executeTakeFirstOrThrow()
  return Number(numUpdatedRows) < limit
}

/** A user whose name is to leave the events, and how far that is. */
export interface Forgotten {
  readonly user_id: string
  readonly name: string
  readonly deleted_ms: number
  readonly due_ms: number
  readonly passes: number
  readonly org_id: string
  readonly seq: number
}

export async function putForgotten(trx: Transaction<LogSchema>, forgotten: Forgotten): Promise<void> {
  await trx
    .insertInto('forgotten')
    .values(forgotten)
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ ...forgotten }))
    .execute()
}
