/** Reads `index.sqlite` for queries by property. Blocks. Part of `openRows`, so that all reads share a snapshot. */
import type Sqlite from 'better-sqlite3'
import { typeTextSql } from '../derived/type-text.ts'

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

/** An edge that a node holds, as types judge it. */
interface HeldEdge {
  readonly edge_type: 'parent_child' | 'connection'
  readonly key: string
  readonly source: string
  readonly target: string
  readonly connection_type: string
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
  const one = db.prepare<[string, string], PropertyRow>(
    `select id, changed, title, tags, properties, created_at, updated_at from node where id = ? and org_id = ?`,
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
    ...heldEdgesIn(db),
    propertyRow: (orgId: string, id: string): PropertyRow | undefined => one.get(id, orgId),
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

/** Queries for the edges that nodes hold in their repositories. */
function heldEdgesIn(db: Sqlite.Database) {
  const held = db.prepare<[string], HeldEdge>(
    'select edge_type, key, source, target, connection_type from edge where holder = ? order by edge_type, key',
  )
  const holders = db
    .prepare<[string, string], string>(
      `select holder from edge where target = ? and edge_type = 'connection'
       union select holder from edge where source = ? and edge_type = 'parent_child'`,
    )
    .pluck()
  const typeText = db
    .prepare<[string, string], string | null>(`select ${typeTextSql} from node where id = ? and org_id = ?`)
    .pluck()
  return {
    heldEdges: (nodeId: string): HeldEdge[] => held.all(nodeId),
    /** Lists the nodes that hold an edge with the node at its other end. */
    holdersOf: (nodeId: string): string[] => holders.all(nodeId, nodeId),
    /** Returns the property `type` of a node. Null: it is not a text. Undefined: the node does not exist. */
    typeTextOf: (orgId: string, nodeId: string): string | null | undefined => typeText.get(nodeId, orgId),
  }
}
