/** Parts of ordered lists, and how long the whole list is. */
import type { SelectQueryBuilder } from 'kysely'

/** A part of an ordered list: at most `limit` rows after the first `offset`. */
export interface Slice {
  readonly limit: number
  readonly offset: number
}

/** The number of all rows of a query that has no columns yet. */
export async function totalOf<DB, TB extends keyof DB>(
  all: SelectQueryBuilder<DB, TB, Record<never, never>>,
): Promise<number> {
  const count = all.select((eb) => eb.fn.countAll<number>().as('total'))
  // Of a generic query Kysely cannot tell the columns.
  return (await count.$castTo<{ total: number }>().executeTakeFirstOrThrow()).total
}
