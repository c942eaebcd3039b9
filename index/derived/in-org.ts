/** The condition that a row found by its id lies in an organisation. */
import { sql } from 'kysely'

/**
 * Judges rows without an index. SQLite estimates from ten rows up that an index by organisation is the shorter way: it then
 * reads all nodes of the organisation to find those that a list or an edge names.
 */
export function isInOrg(column: string, orgId: string) {
  return sql<boolean>`+${sql.ref(column)} = ${orgId}`
}
