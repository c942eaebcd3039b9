/** Describes a new node from the rows that its creation writes, without reading its repository. */
import type { NewNodeRows } from '../../../index/derived/new-nodes.ts'
import { main } from '../layout.ts'
import type { EventEdge } from './content-events.ts'
import { type Described, digestOf } from './describe-node.ts'
import type { EventFacts } from './event-facts.ts'
import { howOf, type KnownIntent } from './intents.ts'

/** Returns the creation of a node with one commit on main. Without an intent, it has no actor. */
export function describeNew(
  orgId: string,
  { node, edges }: NewNodeRows,
  intent: KnownIntent | undefined,
): Described & { readonly nodeId: string } {
  const { id, title, created_at, ledger, head } = node
  const edges_added = edges.map(
    ({ edge_type, source, target, connection_type }): EventEdge =>
      edge_type === 'parent_child'
        ? { edge_type, node_id: source }
        : { edge_type: 'connection', node_id: target, connection_type },
  )
  const event: EventFacts = {
    type: 'node.created',
    key: ledger,
    at: created_at,
    ...(intent?.actor && { actor: intent.actor }),
    ...howOf(intent),
    data: { title, head, edges_added },
  }
  const putRefs = new Map([[main, head]])
  const step = {
    node_id: id,
    org_id: orgId,
    before: null,
    ledger,
    digest: digestOf(ledger, [putRefs]),
    gone: 0,
    putRefs,
    removedRefs: [],
  }
  return { nodeId: id, step, events: [event], isWhole: true, linked: edges_added.map(({ node_id }) => node_id) }
}
