/** Queries for digests of inboxes. Each function runs one statement. */
import { sql } from 'kysely'
import { isPostgres, timeIn } from './mail.ts'
import type { Account, CredentialsDb, DigestTurn } from './schema.ts'

/** True if a digest is due or has no turn. A read, so that a service without digests writes nothing. */
export async function hasDigestWork(db: CredentialsDb, now: Date): Promise<boolean> {
  const due = db.selectFrom('digest_turn').select('account_id').where('next_at', '<=', timeIn(db, now))
  const without = withoutTurn(db).select('account.id as account_id')
  return (await due.unionAll(without).limit(1).executeTakeFirst()) !== undefined
}

function withoutTurn(db: CredentialsDb) {
  return db
    .selectFrom('account')
    .leftJoin('digest_turn', 'digest_turn.account_id', 'account.id')
    .where('account.digest', 'is not', null)
    .where('digest_turn.account_id', 'is', null)
}

/** Gives each account that wants digests a turn after a whole period. @param ms the lengths of the periods */
export async function insertDigestTurns(
  trx: CredentialsDb,
  now: Date,
  ms: { readonly daily: number; readonly weekly: number },
): Promise<void> {
  const period = sql<number>`case account.digest when 'daily' then ${sql.lit(ms.daily)} else ${sql.lit(ms.weekly)} end`
  const rows = withoutTurn(trx)
    .select('account.id as account_id')
    .select(
      sql<number>`cast(${timeIn(trx, now)} + ${period} as ${sql.raw(isPostgres(trx) ? 'bigint' : 'integer')})`.as(
        'next_at',
      ),
    )
    .select(sql<string>`cast(${now.toISOString()} as text)`.as('since'))
  await trx
    .insertInto('digest_turn')
    .columns(['account_id', 'next_at', 'since'])
    .expression(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export type DueDigest = Pick<DigestTurn, 'since'> & Pick<Account, 'id' | 'email' | 'digest'>

/** Locks digests that are due. Transactions that lock at the same time get different ones. */
export function lockDueDigests(trx: CredentialsDb, now: Date, limit: number): Promise<DueDigest[]> {
  const due = trx
    .selectFrom('digest_turn')
    .innerJoin('account', 'account.id', 'digest_turn.account_id')
    .select(['account.id', 'account.email', 'account.digest', 'digest_turn.since'])
    .where('digest_turn.next_at', '<=', timeIn(trx, now))
    .orderBy('digest_turn.next_at')
    .limit(limit)
  return (isPostgres(trx) ? due.forUpdate('digest_turn').skipLocked() : due).execute()
}

/** Begins the next period of an account. */
export async function setDigestTurn(trx: CredentialsDb, accountId: string, now: Date, ms: number): Promise<void> {
  await trx
    .updateTable('digest_turn')
    .set({ next_at: sql<number>`${timeIn(trx, now)} + ${ms}`, since: now.toISOString() })
    .where('account_id', '=', accountId)
    .execute()
}

export async function deleteDigestTurn(trx: CredentialsDb, accountId: string): Promise<void> {
  await trx.deleteFrom('digest_turn').where('account_id', '=', accountId).execute()
}

/** Lists the cells that have organisations of the user. */
export async function listCellsOfUser(db: CredentialsDb, userId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('org_member')
    .innerJoin('place', 'place.org_id', 'org_member.org_id')
    .select('place.cell')
    .distinct()
    .where('org_member.user_id', '=', userId)
    .where('place.state', '!=', 'gone')
    .orderBy('place.cell')
    .execute()
  return rows.map(({ cell }) => cell)
}
