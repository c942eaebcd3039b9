/** Writes the first rows of several nodes together. Each node has one commit on main and no pull requests. */
import type { Insertable, Transaction } from 'kysely'
import { toBytes } from './chains.ts'
import { countMoves } from './change-log.ts'
import { countUp, placed } from './nodes.ts'
import { markUnsettled, settleNodes } from './placement.ts'
import type { EdgeTable, IndexSchema, NodeTable } from './schema.ts'
import { inSlices } from './slices.ts'
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
}

/**
 * Inserts the rows of new nodes. Takes 0.1 ms a node, so the caller must bound them by how long the event loop may
 * block.
 *
 * @throws an error for which `isDuplicate` is true, if one of the nodes has a row
 */
export async function insertNewNodes(
  trx: Transaction<IndexSchema>,
  orgId: string,
  nodes: readonly NewNodeRows[],
): Promise<void> {
  const ids = nodes.map(({ node }) => node.id)
  const keys = new Map(nodes.map(({ node }) => [node.id, titleKey(node.title)]))
  await trx.deleteFrom('tombstone').where('node_id', 'in', ids).execute()
  const last = await countUp(trx, orgId, true, nodes.length)
  await inSlices(
    nodes.map(({ node }, at) => ({
      ...node,
      entries_ledger: node.ledger,
      title_key: keys.get(node.id) ?? '',
      org_id: orgId,
      version: 1,
      changed: last - nodes.length + at + 1,
    })),
    (rows) => trx.insertInto('node').values(rows).execute(),
  )
  await inSlices(
    nodes.map(({ node, text }) => ({ node_id: node.id, text })),
    (rows) => trx.insertInto('node_text').values(rows).execute(),
  )
  await inSlices(
    nodes.flatMap(({ node, tags }) => tags.map((tag) => ({ node_id: node.id, tag }))),
    (rows) => trx.insertInto('node_tag').values(rows).execute(),
  )
  await replaceTagRows(
    trx,
    orgId,
    nodes.map(({ node, tags }) => ({ nodeId: node.id, after: { title_key: keys.get(node.id) ?? '', tags } })),
  )
  // Only nodes of earlier transactions are their children yet.
  await markUnsettled(trx, orgId, ids)
  const edgesOf = ({ node, edges }: NewNodeRows) =>
    edges.map((edge) => ({ org_id: orgId, holder: node.id, ...edge, ...placed(edge, keys.get(node.id) ?? '') }))
  await inSlices(nodes.flatMap(edgesOf), (rows) => trx.insertInto('edge').values(rows).execute())
  await settleNodes(trx, ids)
  await insertLogs(trx, orgId, nodes)
  await countMoves(trx, orgId, ids)
}

/** Inserts a chain with one entry for each node, and the branch that ends there. */
async function insertLogs(trx: Transaction<IndexSchema>, orgId: string, nodes: readonly NewNodeRows[]): Promise<void> {
  const chains = new Map<string, number>()
  await inSlices(
    nodes.map(({ node }) => ({ node_id: node.id, base_chain: null, base_pos: 0, tip: 1, whole: 1 })),
    async (rows) => {
      const made = await trx.insertInto('chain').values(rows).returning(['id', 'node_id']).execute()
      for (const { id, node_id } of made) chains.set(node_id, id)
    },
  )
  const chainOf = (id: string): number => chains.get(id) ?? 0
  await inSlices(
    nodes.map(({ node }) => ({ chain: chainOf(node.id), pos: 1, oid: toBytes(node.head), bend: 0 })),
    (rows) => trx.insertInto('entry').values(rows).execute(),
  )
  await inSlices(
    nodes.map(({ node: { id, head } }) => ({
      org_id: orgId,
      node_id: id,
      name: 'main',
      head,
      chain: chainOf(id),
      pos: 1,
    })),
    (rows) => trx.insertInto('branch').values(rows).execute(),
  )
}
