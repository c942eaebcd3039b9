/** The condition that a row found by its id belongs to an organisation. */
import { sql } from 'kysely'

/**
 * Checks rows without an index, because of the unary `+`. For ten rows or more, SQLite would prefer an index by
 * organisation. It would then read all nodes of the organisation to find the few that a list or an edge names.
 */
export function isInOrg(column: string, orgId: string) {
  return sql<boolean>`+${sql.ref(column)} = ${orgId}`
}
