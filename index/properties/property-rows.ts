/** Reads `index.sqlite` for queries by property. Blocks. Part of `openRows`, so that all reads share a snapshot. */
import type Sqlite from 'better-sqlite3'

/** The fields of a node that columns are made from. */
export interface PropertyRow {
  readonly id: string
  /** The organisation's version at its last change. */
  readonly changed: number
  readonly title: string
  /** JSON array of strings. */
  readonly tags: string
  /** JSON object. */
  readonly properties: string
  /** ISO 8601. */
  readonly created_at: string
  /** ISO 8601. */
  readonly updated_at: string
}

/** The fields of a node in a list. */
export interface ListedRow extends Omit<PropertyRow, 'changed' | 'properties'> {
  readonly org_id: string
  /** JSON object. Null: it is longer than the limit. */
  readonly properties: string | null
  readonly head: string | null
}

/** Prepares the statements. Every function may throw the errors of better-sqlite3. */
export function propertyRowsIn(db: Sqlite.Database) {
  const changed = db.prepare<[string, number], PropertyRow>(
    `select id, changed, title, tags, properties, created_at, updated_at
     from node where org_id = ? and changed > ? order by changed`,
  )
  const listed = db.prepare<[number, string], ListedRow>(
    `select id, org_id, title, tags, created_at, updated_at, head,
            case when octet_length(properties) <= ? then properties end as properties
     from node where id = ?`,
  )
  const graph = db.prepare<[string], number>('select graph_version from org where id = ?').pluck()
  const children = db
    .prepare<[string], string>(`select target from edge where source = ? and edge_type = 'parent_child'`)
    .pluck()
  const connectedTo = db
    .prepare<[string, string], string>(
      `select source from edge where target = ? and edge_type = 'connection' and connection_type = ?`,
    )
    .pluck()
  const connected = db
    .prepare<[string, string], string>(
      `select distinct source from edge where org_id = ? and edge_type = 'connection' and connection_type = ?`,
    )
    .pluck()
  return {
    /** Iterates over changed nodes by version, and reads each row lazily. */
    propertiesAfter: (orgId: string, version: number): IterableIterator<PropertyRow> => changed.iterate(orgId, version),
    /** @param bytes the most bytes of properties that are read */
    listedNode: (id: string, bytes: number): ListedRow | undefined => listed.get(bytes, id),
    /** Returns the number of changes of edges of the organisation. */
    graphVersion: (orgId: string): number => graph.get(orgId) ?? 0,
    childrenOf: (parentId: string): string[] => children.all(parentId),
    /** Lists the nodes with a connection of the type to the target. */
    connectedTo: (type: string, targetId: string): string[] => connectedTo.all(targetId, type),
    /** Lists the nodes of the organisation with a connection of the type. */
    connected: (orgId: string, type: string): string[] => connected.all(orgId, type),
  }
}
