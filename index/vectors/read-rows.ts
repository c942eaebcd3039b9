/** The search thread's connection to `vectors.sqlite`. Blocks. Reconnects if the file is replaced. */
import type Sqlite from 'better-sqlite3'
import { openSqlite } from '../sqlite/better-sqlite3.ts'
import { busyTimeoutMs, identityOf } from '../sqlite/connection.ts'
import { asDatabaseError } from '../sqlite/database-fault.ts'
import { asVector, keyBytes } from './vectors.ts'

export interface StoredModel {
  readonly number: number
  readonly name: string
  /** 0 before its first vector. */
  readonly dimensions: number
}

/** With the same state, a reader has all rows of an organisation and model. */
interface VectorsState {
  /** With another one, all rows must be read from the beginning. */
  readonly incarnation: string
  /** The greatest `seq`. */
  readonly seq: number
}

interface VectorNode {
  readonly id: string
  readonly seq: number
  /** The commit of main from which its texts were read. */
  readonly head: string
  /** True if the node is deleted. Its vector is then empty. */
  readonly isGone: boolean
  /** In hex, in the order of its passages. */
  readonly keys: readonly string[]
  /** The mean of its passages. Empty if none has a vector. */
  readonly vector: Int8Array
}

/** Each function may throw a DatabaseError. Without a file there are no models and no rows. */
export interface VectorRows {
  /** @param id the model's id in hex */
  modelOf(id: string): StoredModel | undefined
  stateOf(orgId: string, model: number): VectorsState | undefined
  /** Lists rows that have changed since, in the order of their changes. Ids may repeat those of earlier calls. */
  nodesSince(orgId: string, model: number, seq: number, limit: number): VectorNode[]
  /** Returns the row of a node. Undefined also if the node is deleted. */
  nodeOf(orgId: string, model: number, id: string): VectorNode | undefined
  /** Returns the vectors by key. An empty one: the model refuses the text. @param keys in hex, a few hundred */
  passages(orgId: string, model: number, keys: readonly string[]): ReadonlyMap<string, Int8Array>
  close(): void
}

interface Connection {
  readonly db: Sqlite.Database
  readonly statements: ReturnType<typeof statementsOf>
  /** The inode of the open file. */
  readonly identity: bigint
}

/** Opens the file at the first use. It may be missing, and other processes may write to it. */
export function openVectorRows(file: string): VectorRows {
  let connection: Connection | undefined
  const close = () => {
    connection?.db.close()
    connection = undefined
  }
  const connect = (): Connection | undefined => {
    const identity = identityOf(file)
    if (connection?.identity === identity) return connection
    close()
    if (identity === undefined) return undefined
    const db = openSqlite(file, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs })
    try {
      if (!hasTables(db)) {
        db.close()
        return undefined
      }
      connection = { db, statements: statementsOf(db), identity }
      return connection
    } catch (error) {
      db.close()
      throw error
    }
  }
  const read = <T>(none: T, work: (statements: Connection['statements']) => T): T => {
    try {
      const open = connect()
      return open === undefined ? none : work(open.statements)
    } catch (error) {
      throw asDatabaseError(error, file)
    }
  }
  return {
    modelOf: (id) => read(undefined, ({ model }) => model.get(id)),
    stateOf: (orgId, model) => read(undefined, ({ state }) => state.get(orgId, model)),
    nodesSince: (orgId, model, seq, limit) =>
      read([], ({ nodes }) => nodes.all(orgId, model, seq, limit).map((row) => nodeOf(row))),
    nodeOf: (orgId, model, id) =>
      read(undefined, ({ node }) => {
        const row = node.get(orgId, model, id)
        return row === undefined || row.gone === 1 ? undefined : nodeOf(row)
      }),
    passages: (orgId, model, keys) =>
      read(new Map(), ({ passages }) => {
        const rows = passages.all(JSON.stringify(keys), orgId, model)
        return new Map(rows.map(({ key, vector }) => [key, asVector(vector)]))
      }),
    close,
  }
}

/** False if the process that creates the file has not finished yet. */
function hasTables(db: Sqlite.Database): boolean {
  return db.prepare("select 1 from sqlite_master where name = 'erasure'").get() !== undefined
}

interface NodeRow {
  readonly node_id: string
  readonly seq: number
  readonly head: string
  readonly gone: number
  readonly keys: Buffer
  readonly vector: Buffer
}

function statementsOf(db: Sqlite.Database) {
  return {
    model: db.prepare<[string], StoredModel>('select number, name, dimensions from model where id = ?'),
    state: db.prepare<[string, number], VectorsState>(
      'select incarnation, seq from position where org_id = ? and model = ?',
    ),
    nodes: db.prepare<[string, number, number, number], NodeRow>(
      `select node_id, seq, head, gone, keys, vector from node
       where org_id = ? and model = ? and seq > ? order by seq limit ?`,
    ),
    node: db.prepare<[string, number, string], NodeRow>(
      'select node_id, seq, head, gone, keys, vector from node where org_id = ? and model = ? and node_id = ?',
    ),
    passages: db.prepare<[string, string, number], { readonly key: string; readonly vector: Buffer }>(
      `select wanted.value as key, passage.vector from json_each(?) as wanted
       cross join passage on passage.org_id = ? and passage.model = ? and passage.key = unhex(wanted.value)`,
    ),
  }
}

function nodeOf({ node_id, seq, head, gone, keys, vector }: NodeRow): VectorNode {
  const count = keys.length / keyBytes
  const all = Array.from({ length: count }, (_, n) => keys.toString('hex', n * keyBytes, (n + 1) * keyBytes))
  return { id: node_id, seq, head, isGone: gone === 1, keys: all, vector: asVector(vector) }
}
