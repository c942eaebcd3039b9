/** The rows of several nodes that have none yet, written together: each node has one commit on main, and no pull request. */
import type { Insertable, Transaction } from 'kysely'
import { toBytes } from './chains.ts'
import { countMoves } from './change-log.ts'
import { countUp, inSlices } from './nodes.ts'
import type { EdgeTable, IndexSchema, NodeTable } from './schema.ts'

export interface NewNodeRows {
  readonly node: Omit<Insertable<NodeTable>, 'version' | 'changed' | 'org_id' | 'head'> & { readonly head: string }
  readonly text: string
  readonly tags: readonly string[]
  readonly edges: readonly Omit<EdgeTable, 'org_id' | 'holder'>[]
}

/**
 * 0.1 ms a node: as many in one transaction as the event loop may wait for.
 *
 * @throws a fault of which `isDuplicate` is true, where one of the nodes has a row
 */
export async function insertNewNodes(
  trx: Transaction<IndexSchema>,
  orgId: string,
  nodes: readonly NewNodeRows[],
): Promise<void> {
  const ids = nodes.map(({ node }) => node.id)
  await trx.deleteFrom('tombstone').where('node_id', 'in', ids).execute()
  const last = await countUp(trx, orgId, true, nodes.length)
  await inSlices(
    nodes.map(({ node }, at) => ({ ...node, org_id: orgId, version: 1, changed: last - nodes.length + at + 1 })),
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
  await inSlices(
    nodes.flatMap(({ node, edges }) => edges.map((edge) => ({ org_id: orgId, holder: node.id, ...edge }))),
    (rows) => trx.insertInto('edge').values(rows).execute(),
  )
  await insertLogs(trx, orgId, nodes)
  await countMoves(trx, orgId, ids)
}

/** A log of one entry for each, in a chain of its own, and the branch that ends there. */
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
