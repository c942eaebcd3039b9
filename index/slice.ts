/** Pages of ordered lists, and the number of all rows. */
import type { SelectQueryBuilder } from 'kysely'

/** A page of an ordered list: at most `limit` rows after the first `offset`. */
export interface Slice {
  readonly limit: number
  readonly offset: number
}

/** Returns the number of all rows. Counts them only if the rows of the page do not show it. */
export async function totalWith(
  rows: readonly unknown[],
  { limit, offset }: Slice,
  count: () => Promise<number>,
): Promise<number> {
  const isLast = rows.length < limit && (rows.length > 0 || offset === 0)
  return isLast ? offset + rows.length : count()
}

/** Counts all rows of a query that selects no columns yet. */
export async function totalOf<DB, TB extends keyof DB>(
  all: SelectQueryBuilder<DB, TB, Record<never, never>>,
): Promise<number> {
  const count = all.select((eb) => eb.fn.countAll<number>().as('total'))
  // Kysely cannot infer the columns of a generic query.
  return (await count.$castTo<{ total: number }>().executeTakeFirstOrThrow()).total
}
