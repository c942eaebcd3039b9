/** Counts of sign-ups and failed sign-ins, shared by all cells, in the format of rate-limiter-flexible. */
import { CompiledQuery } from 'kysely'
import type { Database } from '../sqlite/database.ts'
import type { CredentialsDb, CredentialsSchema, RateCount } from './schema.ts'

export const rateCountTable = 'rate_count'

/**
 * A statement of the library. The `name` that the library also sends is ignored. It would make a prepared statement,
 * but a pooler may run the next one on another connection.
 */
interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/**
 * Returns the PostgreSQL client that the library needs. Each statement runs in its own transaction.
 *
 * @throws DatabaseError
 */
export function rateCountClient({ write }: Database<CredentialsSchema>) {
  return {
    query: ({ text, values }: Statement) =>
      write((trx) => trx.executeQuery<RateCount>(CompiledQuery.raw(text, [...values]))),
  }
}

/** Deletes counts that expired before `expire`, in milliseconds since 1970. */
export async function deleteRateCountsUntil(db: CredentialsDb, expire: number): Promise<void> {
  await db.deleteFrom('rate_count').where('expire', '<', expire).execute()
}
