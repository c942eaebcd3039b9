/** Claims of processes on rows that they send: of deliveries of webhooks, and of mails. */
import { type QueryExecutorProvider, sql } from 'kysely'

/** The value of `claimed_until` without a claim, by table. */
const unclaimed = { delivery: null, mail: 0 } as const

export type ClaimedTable = keyof typeof unclaimed

/** The database of a table with claims, of any engine. */
export interface ClaimDatabase {
  readonly read: QueryExecutorProvider
  write(work: (trx: QueryExecutorProvider) => Promise<void>): Promise<void>
}

/** Lists the processes that have claims. */
export async function listClaimers({ read }: ClaimDatabase, table: ClaimedTable): Promise<string[]> {
  const claimed = sql<{ claimed_by: string }>`
    select distinct claimed_by from ${sql.table(table)} where claimed_by is not null`
  return (await claimed.execute(read)).rows.map(({ claimed_by }) => claimed_by)
}

/** Ends all claims of a process, so that another one sends its rows. */
export async function endClaimsOf(db: ClaimDatabase, table: ClaimedTable, by: string): Promise<void> {
  const ended = sql`
    update ${sql.table(table)} set claimed_by = null, claimed_until = ${unclaimed[table]} where claimed_by = ${by}`
  await db.write(async (trx) => {
    await ended.execute(trx)
  })
}
