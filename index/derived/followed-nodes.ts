/** Reads changed nodes and deletions in slices, for jobs that follow the index. */
import { readRows } from '../sqlite/statements.ts'
import type { IndexDb } from './schema.ts'

export interface FollowedOrg {
  readonly id: string
  /** A rebuilt organisation has a new epoch, and its versions restart. */
  readonly epoch: string
  readonly version: number
}

/** Lists organisations in the order of ids. */
export function listOrgStates(db: IndexDb, afterId: string, limit: number): Promise<FollowedOrg[]> {
  return readRows(db, 'select id, epoch, version from org where id > ? order by id limit ?', afterId, limit)
}

/** A node or a deletion, and the organisation's version at that change. */
export interface FollowedChange {
  readonly id: string
  readonly changed: number
}

export interface FollowedNode extends FollowedChange {
  /** The head of main. Null if main does not exist. */
  readonly head: string | null
}

const changedNodes = `
  select id, changed, head from node where org_id = ? and changed >= ? and (changed, id) > (?, ?)
  order by changed, id limit ?`

/** Lists nodes that have changed after a version, or in it with a greater id. */
export function listChangedNodes(
  db: IndexDb,
  orgId: string,
  after: { readonly version: number; readonly id: string },
  limit: number,
): Promise<FollowedNode[]> {
  return readRows(db, changedNodes, orgId, after.version, after.version, after.id, limit)
}

const deletedNodes = `
  select node_id as id, changed from tombstone where org_id = ? and changed >= ? and (changed, node_id) > (?, ?)
  order by changed, node_id limit ?`

/** Lists nodes that were deleted after a version, or in it with a greater id. */
export function listDeletedNodes(
  db: IndexDb,
  orgId: string,
  after: { readonly version: number; readonly id: string },
  limit: number,
): Promise<FollowedChange[]> {
  return readRows(db, deletedNodes, orgId, after.version, after.version, after.id, limit)
}

export interface FollowedText {
  readonly title: string
  readonly head: string | null
  /** The first bytes of the text. They may end within a character. */
  readonly beginning: Buffer
}

/** Returns the title, the head and the text of one state of a node. @param bytes the most to read */
export async function readFollowedText(db: IndexDb, nodeId: string, bytes: number): Promise<FollowedText | undefined> {
  const [row] = await readRows<FollowedText>(
    db,
    `select title, head, coalesce(substr(cast(node_text.text as blob), 1, ?), x'') as beginning
      from node join node_text on node_text.node_id = node.id where node.id = ?`,
    bytes,
    nodeId,
  )
  return row
}

/** Returns those of the nodes that the organisation has. */
export async function filterNodesOf(db: IndexDb, orgId: string, nodeIds: readonly string[]): Promise<Set<string>> {
  const text = 'select id from node where id in (select value from json_each(?)) and +org_id = ?'
  return new Set((await readRows<{ id: string }>(db, text, JSON.stringify(nodeIds), orgId)).map(({ id }) => id))
}
