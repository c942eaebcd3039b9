/** Queries for mails that wait, are being sent, or failed. Each function runs one statement. */
import { PostgresAdapter, sql } from 'kysely'
import { totalOf } from '../slice.ts'
import { databaseNow } from './cells.ts'
import type { CredentialsDb, Mail } from './schema.ts'

/** A mail to send at once. */
export type NewMail = Pick<Mail, 'id' | 'kind' | 'account_id' | 'address' | 'fields' | 'cell' | 'created_at'>

/** Returns the time in milliseconds. Processes that share PostgreSQL use its clock, because theirs may differ. */
export function timeIn(db: CredentialsDb, now: Date) {
  return isPostgres(db) ? databaseNow : sql<number>`${now.getTime()}`
}

export function isPostgres(db: CredentialsDb): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}

export async function insertMail(trx: CredentialsDb, mail: NewMail, now: Date): Promise<void> {
  await trx
    .insertInto('mail')
    .values({ ...mail, next_at: timeIn(trx, now), attempts: 0, claimed_until: 0 })
    .execute()
}

/** True if a mail is due. A read, so that an empty outbox causes no write. */
export async function hasDueMail(db: CredentialsDb, cell: string | null, now: Date): Promise<boolean> {
  return (await dueMails(db, cell, now).limit(1).executeTakeFirst()) !== undefined
}

function dueMails(db: CredentialsDb, cell: string | null, now: Date) {
  const time = timeIn(db, now)
  return db
    .selectFrom('mail')
    .select('id')
    .where('next_at', '<=', time)
    .where('claimed_until', '<=', time)
    .where('failed_at', 'is', null)
    .where((eb) => eb.or([eb('cell', 'is', null), eb('cell', '=', cell)]))
    .orderBy('next_at')
}

export interface Claim {
  readonly by: string
  readonly cell: string | null
  readonly now: Date
  /** Milliseconds until another process may claim them. */
  readonly ms: number
  readonly limit: number
}

/** Claims mails that are due. Transactions that claim at the same time get different ones. */
export function claimMails(trx: CredentialsDb, { by, cell, now, ms, limit }: Claim): Promise<Mail[]> {
  const due = dueMails(trx, cell, now).limit(limit)
  return trx
    .with(
      (cte) => cte('due').materialized(),
      () => (isPostgres(trx) ? due.forUpdate().skipLocked() : due),
    )
    .updateTable('mail')
    .set((eb) => ({
      claimed_by: by,
      claimed_until: sql<number>`${timeIn(trx, now)} + ${ms}`,
      attempts: eb('attempts', '+', 1),
    }))
    .where('id', 'in', (eb) => eb.selectFrom('due').select('due.id'))
    .returningAll()
    .execute()
}

/** Gives a mail back that was not tried. */
export async function releaseMail(trx: CredentialsDb, { id, claimed_by }: Mail): Promise<void> {
  await trx
    .updateTable('mail')
    .set((eb) => ({ claimed_by: null, claimed_until: 0, attempts: eb('attempts', '-', 1) }))
    .where('id', '=', id)
    .where('claimed_by', '=', claimed_by)
    .execute()
}

/** Deletes mails that were sent, or that nobody needs. */
export async function deleteMails(trx: CredentialsDb, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await trx.deleteFrom('mail').where('id', 'in', ids).execute()
}

/** Deletes the account's mails of a kind, which are out of date. */
export async function deleteMailsOf(trx: CredentialsDb, accountId: string, kind: string): Promise<void> {
  await trx.deleteFrom('mail').where('account_id', '=', accountId).where('kind', '=', kind).execute()
}

/** Finds those of the mails that wait or failed. A mail that was sent has no row. */
export async function findMailStates(
  db: CredentialsDb,
  ids: readonly string[],
): Promise<ReadonlyMap<string, 'waiting' | 'failed'>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('mail').select(['id', 'failed_at']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, failed_at }) => [id, failed_at === null ? 'waiting' : 'failed']))
}

/** Records a failure. @param waitMs undefined: it is given up */
export async function recordMailFailure(
  trx: CredentialsDb,
  { id, claimed_by }: Mail,
  { error, waitMs, now }: { readonly error: string; readonly waitMs: number | undefined; readonly now: Date },
): Promise<void> {
  const next =
    waitMs === undefined ? { failed_at: now.toISOString() } : { next_at: sql<number>`${timeIn(trx, now)} + ${waitMs}` }
  await trx
    .updateTable('mail')
    .set({ ...next, error, claimed_by: null, claimed_until: 0 })
    .where('id', '=', id)
    .where('claimed_by', '=', claimed_by)
    .execute()
}

/** Deletes mails that failed before `time`. */
export async function deleteFailedMailsBefore(trx: CredentialsDb, time: string): Promise<void> {
  await trx.deleteFrom('mail').where('failed_at', '<', time).execute()
}

/** Counts the mails that wait. */
export function countPendingMails(db: CredentialsDb): Promise<number> {
  return totalOf(db.selectFrom('mail').where('failed_at', 'is', null))
}

/** Lists the oldest mails that wait or failed. */
export function listMails(db: CredentialsDb, limit: number): Promise<Mail[]> {
  return db.selectFrom('mail').selectAll().orderBy('created_at').orderBy('id').limit(limit).execute()
}

/** Makes mails that failed or wait due at once, with all attempts. Returns their number. @param id only this one */
export async function retryMails(trx: CredentialsDb, now: Date, id?: string): Promise<number> {
  let update = trx
    .updateTable('mail')
    .set({ next_at: timeIn(trx, now), attempts: 0, failed_at: null, error: null })
    .where('claimed_by', 'is', null)
  if (id !== undefined) update = update.where('id', '=', id)
  return Number((await update.executeTakeFirstOrThrow()).numUpdatedRows)
}
