/** Counts of sign-ups and failed sign-ins that all cells share, as rate-limiter-flexible keeps them. */
import { CompiledQuery } from 'kysely'
import type { Database } from '../sqlite/database.ts'
import type { CredentialsDb, CredentialsSchema, RateCount } from './schema.ts'

export const rateCountTable = 'rate_count'

/** A statement of the library, which would also name it, to be prepared: a pooler gives the next one another connection. */
interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** What the library asks for a client of PostgreSQL. Each statement is a transaction of its own. @throws DatabaseError */
export function rateCountClient({ write }: Database<CredentialsSchema>) {
  return {
    query: ({ text, values }: Statement) =>
      write((trx) => trx.executeQuery<RateCount>(CompiledQuery.raw(text, [...values]))),
  }
}

/** Milliseconds since 1970, as in the rows. */
export async function deleteRateCountsUntil(db: CredentialsDb, expire: number): Promise<void> {
  await db.deleteFrom('rate_count').where('expire', '<', expire).execute()
}
