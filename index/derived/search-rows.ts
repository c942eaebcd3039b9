/** The rows that update a search index: changes in their order, and the searchable columns of a node. */
import { sql } from 'kysely'
import type { IndexDb } from './schema.ts'

/** Nodes that changed after the organisation's version `since`. */
export function listChangedNodes(db: IndexDb, orgId: string, since: number, limit: number) {
  return db
    .selectFrom('node')
    .select(['id', 'changed'])
    .where('org_id', '=', orgId)
    .where('changed', '>', since)
    .orderBy('changed')
    .limit(limit)
    .execute()
}

/** Nodes that were deleted after the organisation's version `since`. */
export function listTombstones(db: IndexDb, orgId: string, since: number, limit: number) {
  return db
    .selectFrom('tombstone')
    .select(['node_id', 'changed'])
    .where('org_id', '=', orgId)
    .where('changed', '>', since)
    .orderBy('changed')
    .limit(limit)
    .execute()
}

/** A node with the first `textBytes` of its text, which may end within a character, and the size of the whole text. */
export function findSearchRow(db: IndexDb, orgId: string, nodeId: string, textBytes: number) {
  return (
    db
      .selectFrom('node')
      .innerJoin('node_text', 'node_text.node_id', 'node.id')
      .select(['node.title', 'node.tags', 'node.updated_at', 'node.head'])
      // substr returns null for an empty blob.
      .select(sql<Buffer>`coalesce(substr(cast(node_text.text as blob), 1, ${textBytes}), x'')`.as('beginning'))
      .select(sql<number>`octet_length(node_text.text)`.as('bytes'))
      .where('node.id', '=', nodeId)
      .where('node.org_id', '=', orgId)
      .executeTakeFirst()
  )
}

/** The whole text, and the head of main that it is from. */
export function findTextWithHead(db: IndexDb, nodeId: string) {
  return db
    .selectFrom('node')
    .innerJoin('node_text', 'node_text.node_id', 'node.id')
    .select(['node.head', 'node_text.text'])
    .where('node.id', '=', nodeId)
    .executeTakeFirst()
}
