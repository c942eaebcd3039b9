/** Writes the first rows of several nodes together. Most nodes have only main, and no pull requests. */
import type { Insertable, Transaction } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import { branchRefs } from './branches.ts'
import { insertEntries, type NewLogPart } from './chain-layout.ts'
import { countMoves } from './change-log.ts'
import { countUp, type NodeChange, placed, replaceNodeRows, StaleWriteError } from './nodes.ts'
import { settleChildren, settleNodes } from './placement.ts'
import type { EdgeTable, IndexSchema, NodeTable } from './schema.ts'
import { replaceTagRows } from './tags.ts'
import { titleKey } from './title-order.ts'

export interface NewNodeRows {
  readonly node: Omit<
    Insertable<NodeTable>,
    'version' | 'changed' | 'org_id' | 'head' | 'entries_ledger' | 'title_key' | 'is_root'
  > & {
    readonly head: string
  }
  readonly text: string
  readonly tags: readonly string[]
  readonly edges: readonly Omit<EdgeTable, 'org_id' | 'holder'>[]
  /** The log of `head`. Absent: `head` has no parents. */
  readonly log?: NewLogPart['entries']
}

/**
 * Inserts the rows of nodes that have none. Nodes with only main share statements.
 *
 * @param changes with all content of main; at most one node of an id
 * @throws StaleWriteError, or an error for which `isDuplicate` is true, if another writer has stored some
 */
export async function insertUnknownNodes(
  trx: Transaction<IndexSchema>,
  orgId: string,
  changes: readonly NodeChange[],
): Promise<void> {
  const ids = JSON.stringify(changes.map(({ nodeId }) => nodeId))
  // A crash may have left logs without a node.
  if ((await readRows(trx, anyLog, ids)).length > 0) throw new StaleWriteError()
  const plain = changes.flatMap((change) => toNewRows(change) ?? [])
  const known = new Set(plain.map(({ node }) => node.id))
  if (plain.length > 0) await insertNewNodes(trx, orgId, plain)
  for (const change of changes)
    if (!known.has(change.nodeId) && !(await replaceNodeRows(trx, change))) throw new StaleWriteError()
}

const anyLog = 'select 1 from chain where node_id in (select value from json_each(?)) limit 1'

/** Undefined if the node has pull requests or branches, or no content. */
function toNewRows(change: NodeChange): NewNodeRows | undefined {
  const { node, nodeId, ledger, bytes, branches, logs, pulls, entries, text = '', tags = [], edges = [] } = change
  const [log] = logs
  const head = branches.get(`${branchRefs}main`)
  const isPlain =
    branches.size === 1 && pulls.length === 0 && entries?.put.length === 0 && entries.checks.put.length === 0
  if (!isPlain || head === undefined || !node || !log || logs.length > 1 || log.base !== undefined) return undefined
  return { node: { ...node, id: nodeId, ledger, bytes, head }, text, tags, edges, log: log.entries }
}

/**
 * Inserts the rows of new nodes. The caller must bound them by how long the event loop may block.
 *
 * @throws an error for which `isDuplicate` is true, if one of the nodes has a row
 */
export async function insertNewNodes(
  trx: Transaction<IndexSchema>,
  orgId: string,
  nodes: readonly NewNodeRows[],
): Promise<void> {
  const all = nodes.map((one) => ({ ...one, key: titleKey(one.node.title), hasParents: one.edges.some(isParent) }))
  const ids = nodes.map(({ node }) => node.id)
  await changeRows(trx, deleteTombstones, JSON.stringify(ids))
  const last = await countUp(trx, orgId, true, nodes.length)
  for (const [at, one] of all.entries()) await insertNode(trx, orgId, one, last - nodes.length + at + 1)
  const tags = all.flatMap(({ node, tags }) => tags.map((tag) => [node.id, tag]))
  if (tags.length > 0) await changeRows(trx, insertTags, JSON.stringify(tags))
  await replaceTagRows(
    trx,
    orgId,
    all.map(({ node, tags, key }) => ({ nodeId: node.id, after: { title_key: key, tags } })),
  )
  // Only nodes of earlier transactions are their children yet.
  await settleChildren(trx, orgId, ids)
  const edges = all.flatMap(({ node, edges, key }) =>
    edges.map((edge) => ({ holder: node.id, ...edge, ...placed(edge, key) })),
  )
  if (edges.length > 0) await changeRows(trx, insertEdges, orgId, JSON.stringify(edges))
  const children = all.filter(({ hasParents }) => hasParents).map(({ node }) => node.id)
  if (children.length > 0) await settleNodes(trx, children)
  await insertLogs(trx, orgId, nodes)
  await countMoves(trx, orgId, ids)
}

function isParent({ edge_type }: Pick<EdgeTable, 'edge_type'>): boolean {
  return edge_type === 'parent_child'
}

interface FirstRow extends NewNodeRows {
  readonly key: string
  readonly hasParents: boolean
}

/** Inserts the row and the text of one node. A node without parents is a root from the start. */
async function insertNode(
  trx: Transaction<IndexSchema>,
  orgId: string,
  { node, text, key, hasParents }: FirstRow,
  changed: number,
): Promise<void> {
  const { title, description, tags, properties, created_at, updated_at, head, tree = null, bytes = null, ledger } = node
  const fields = [title, key, description, tags, properties, created_at, updated_at, head, tree]
  const counts = [bytes, changed, Number(!hasParents)]
  await changeRows(trx, insertRow, node.id, orgId, ledger, ledger, ...fields, ...counts)
  await changeRows(trx, insertText, node.id, text)
}

const deleteTombstones = 'delete from tombstone where node_id in (select value from json_each(?))'
const insertRow = `
  insert into node (id, org_id, ledger, entries_ledger, title, title_key, description, tags, properties, created_at,
    updated_at, head, tree, bytes, changed, is_root, version)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`
const insertText = 'insert into node_text (node_id, text) values (?, ?)'
const insertTags = 'insert into node_tag (node_id, tag) select value ->> 0, value ->> 1 from json_each(?)'
const insertEdges = `
  insert into edge (org_id, holder, edge_type, key, source, target, connection_type, label, title_key)
    select ?, value ->> 'holder', value ->> 'edge_type', value ->> 'key', value ->> 'source', value ->> 'target',
      value ->> 'connection_type', value ->> 'label', value ->> 'title_key' from json_each(?)`

/** Inserts a chain for each node, with its log, and the branch that ends there. */
async function insertLogs(trx: Transaction<IndexSchema>, orgId: string, nodes: readonly NewNodeRows[]): Promise<void> {
  const logs = new Map(nodes.map(({ node, log }) => [node.id, log ?? [{ oid: node.head, cut: true }]]))
  const lengths = [...logs].map(([id, log]) => [id, log.length])
  const chains = await readRows<NewChain>(trx, insertChains, JSON.stringify(lengths))
  for (const { id, node_id } of chains) await insertEntries(trx, id, 0, 0, [...(logs.get(node_id) ?? [])].reverse())
  const branches = chains.map(({ id, node_id, tip }) => [node_id, logs.get(node_id)?.[0]?.oid, id, tip])
  await changeRows(trx, insertBranches, orgId, JSON.stringify(branches))
}

interface NewChain {
  readonly id: number
  readonly node_id: string
  readonly tip: number
}

const insertChains = `
  insert into chain (node_id, base_chain, base_pos, tip, whole)
    select value ->> 0, null, 0, value ->> 1, 1 from json_each(?)
  returning id, node_id, tip`
const insertBranches = `
  insert into branch (org_id, node_id, name, head, chain, pos)
    select ?, value ->> 0, 'main', value ->> 1, value ->> 2, value ->> 3 from json_each(?)`
