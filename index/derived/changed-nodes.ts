/** Reads changed nodes and deletions in slices, for readers that follow the index. */
import { readRows } from '../sqlite/statements.ts'
import type { IndexDb } from './schema.ts'

/** How far an organisation has changed. A reader keeps the state up to which it has read. */
export interface OrgState {
  /** A rebuilt organisation has a new epoch, and its versions restart. */
  readonly epoch: string
  /** The number of changes of the organisation and its nodes. */
  readonly version: number
}

export interface ChangedOrg extends OrgState {
  readonly id: string
}

/** Organisations per statement. */
const orgsAtOnce = 500

/** Yields all organisations in slices, in the order of ids. */
export async function* orgStates(db: IndexDb): AsyncGenerator<readonly ChangedOrg[]> {
  const text = 'select id, epoch, version from org where id > ? order by id limit ?'
  for (let after: string | undefined = ''; after !== undefined; ) {
    const some: ChangedOrg[] = await readRows<ChangedOrg>(db, text, after, orgsAtOnce)
    yield some
    after = some.length < orgsAtOnce ? undefined : some.at(-1)?.id
  }
}

/** A node or a deletion, and the organisation's version at that change. */
export interface NodeChange {
  readonly id: string
  readonly changed: number
}

export interface ChangedNode extends NodeChange {
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
): Promise<ChangedNode[]> {
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
): Promise<NodeChange[]> {
  return readRows(db, deletedNodes, orgId, after.version, after.version, after.id, limit)
}

export interface NodeBeginning {
  readonly title: string
  readonly head: string | null
  /** The first bytes of the text. They may end within a character. */
  readonly beginning: Buffer
}

/** Returns the title, the head and the text of one state of a node. @param bytes the most to read */
export async function readBeginning(db: IndexDb, nodeId: string, bytes: number): Promise<NodeBeginning | undefined> {
  const [row] = await readRows<NodeBeginning>(
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
