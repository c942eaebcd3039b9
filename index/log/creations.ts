/** Reads which nodes were created directly, without a proposal. */
import { openToRead } from '../sqlite/backup.ts'

/**
 * Lists the newest creations of nodes since a time, by organisation. The list has none of change sets, which they name.
 *
 * @param file the database of events, which may be in use
 * @throws Error if it cannot be read
 */
export function listCreations(file: string, sinceMs: number, limit: number): ReadonlyMap<string, readonly string[]> {
  const db = openToRead(file)
  try {
    const rows = db
      .prepare(
        `select org_id, node_id from event where type = 'node.created' and recorded_ms >= ?
           and body not like '%"change_set":%' order by recorded_ms desc limit ?`,
      )
      .all(sinceMs, limit) as { readonly org_id: string; readonly node_id: string }[] // the columns that it selects
    const created = new Map<string, string[]>()
    for (const { org_id, node_id } of rows) {
      const known = created.get(org_id)
      if (known) known.push(node_id)
      else created.set(org_id, [node_id])
    }
    return created
  } finally {
    db.close()
  }
}
