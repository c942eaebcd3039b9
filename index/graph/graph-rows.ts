/** Reads the rows of a graph, or of a part, from one snapshot. Blocks, so it runs in a worker thread. */
import type Sqlite from 'better-sqlite3'
import type { EdgeTable, NodeTable } from '../derived/schema.ts'
import { isSqliteError, openSqlite } from '../sqlite/better-sqlite3.ts'
import { busyTimeoutMs } from '../sqlite/connection.ts'
import { DatabaseError } from '../sqlite/database-fault.ts'

export type GraphNodeRow = Pick<NodeTable, 'id' | 'title' | 'description' | 'tags' | 'created_at' | 'updated_at'>

interface GraphOrgRow {
  readonly id: string
  readonly name: string
  /** 0 or 1. */
  readonly published: number
  readonly epoch: string
  readonly version: number
  readonly graph_version: number
}

export interface GraphRows {
  readonly org: GraphOrgRow
  /** Ordered by `created_at`, then `id`. */
  readonly nodes: readonly GraphNodeRow[]
  /** Ordered by holder, type and key. An end may be missing from `nodes`. */
  readonly edges: readonly GraphEdgeRow[]
}

/** An edge as a tuple, because 200,000 objects take half a second more. */
export type GraphEdgeRow = readonly [
  holder: string,
  type: EdgeTable['edge_type'],
  key: string,
  source: string,
  target: string,
  connectionType: string,
  label: string,
]

/**
 * Reads the organisation's rows in one transaction on a new connection. Returns undefined if there is no such
 * organisation. Blocks for 0.7 s with 100,000 nodes and 200,000 edges.
 *
 * @param under reads only the nodes at or below this one, with all their ancestors, and the edges that these hold
 * @throws DatabaseError busy, storage_error
 */
export function readGraphRows(file: string, orgId: string, under?: string): GraphRows | undefined {
  try {
    const db = openSqlite(file, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs })
    try {
      return db.transaction(() => selectRows(db, orgId, under))()
    } finally {
      db.close()
    }
  } catch (error) {
    throw asFault(error)
  }
}

function selectRows(db: Sqlite.Database, orgId: string, under?: string): GraphRows | undefined {
  const org = db
    .prepare<[string], GraphOrgRow>('select id, name, published, epoch, version, graph_version from org where id = ?')
    .get(orgId)
  if (org === undefined) return undefined
  const near = under === undefined ? [] : [JSON.stringify(db.prepare(nearQuery).pluck().all(under, orgId))]
  // The plus excludes the indexes of the whole organisation.
  const isRead = (id: string) =>
    under === undefined ? 'org_id = ?' : `+org_id = ? and ${id} in (select value from json_each(?))`
  const nodes = db
    .prepare<string[], GraphNodeRow>(
      `select id, title, description, tags, created_at, updated_at from node
       where ${isRead('id')} order by created_at, id`,
    )
    .all(orgId, ...near)
  const edges = db
    .prepare<string[], GraphEdgeRow>(
      `select holder, edge_type, key, source, target, connection_type, label from edge
       where ${isRead('holder')} order by holder, edge_type, key`,
    )
    .raw()
    .all(orgId, ...near)
  return { org, nodes, edges }
}

/** The nodes at or below a node, and all their ancestors. `union` ends the walks in a cyclic graph. */
const nearQuery = `
  with recursive below (id) as (
    select id from node where id = ? and org_id = ?
    union
    select edge.target from below
      cross join edge on edge.source = below.id and edge.edge_type = 'parent_child'
  ), near (id) as (
    select id from below
    union
    select edge.source from near
      cross join edge on edge.target = near.id and edge.edge_type = 'parent_child')
  select id from near`

function asFault(error: unknown): unknown {
  if (!isSqliteError(error)) return error
  if (error.code.startsWith('SQLITE_BUSY')) return new DatabaseError('busy', 'The database is busy', { cause: error })
  if (!/^SQLITE_(IOERR|CANTOPEN|CORRUPT|NOTADB)/.test(error.code)) return error
  return new DatabaseError('storage_error', 'The file system failed', { cause: error })
}
