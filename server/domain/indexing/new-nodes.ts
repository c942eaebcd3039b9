/** Indexes several new nodes at once, from the objects that their writer still holds. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { insertNewNodes, type NewNodeRows } from '../../../index/derived/new-nodes.ts'
import { isDuplicate } from '../../../index/sqlite/database.ts'
import type { Deps } from '../../base/deps.ts'
import { tryIndexNode } from './index-node.ts'

/** Nodes of one transaction, and edges from which on it takes no further node: other writers wait for it. */
const atOnce = { nodes: 50, edges: 500 } as const

/**
 * Writes the rows of nodes that were just created. As after any other change, a failure is logged and the sweep retries; a node
 * that another process has indexed meanwhile is compared with its refs.
 */
export async function indexNewNodes(deps: Deps, orgId: string, nodes: readonly NewNodeRows[]): Promise<void> {
  for (let at = 0; at < nodes.length; ) {
    const some = fitting(nodes, at)
    at += some.length
    const stop = deps.metrics.indexSeconds.startTimer({ kind: 'node' })
    try {
      await deps.index.write((trx) => insertNewNodes(trx, orgId, some))
      stop()
    } catch (error) {
      if (!isDuplicate(error)) deps.log.warn({ err: error, orgId }, 'new nodes are indexed one by one')
      for (const { node } of some) await tryIndexNode(deps, orgId, node.id)
    }
    await nextTurn()
  }
}

/** The nodes from there on that one transaction takes. */
function fitting(nodes: readonly NewNodeRows[], from: number): readonly NewNodeRows[] {
  let edges = 0
  let to = from
  for (; to < nodes.length && to - from < atOnce.nodes && edges < atOnce.edges; to++)
    edges += nodes[to]?.edges.length ?? 0
  return nodes.slice(from, to)
}
