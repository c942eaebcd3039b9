/**
 * Writes creations together that arrive while others of their organisation are written. They share files to sync, locks
 * and transactions. One that arrives alone is written at once: no creation waits for a later one.
 */
import type { Store } from '../../../gitstore/store.ts'
import type { NewNodeRows } from '../../../index/derived/new-nodes.ts'
import { type CompleteNode, createOrder, createOrders, type Order } from './new-nodes.ts'

/** The most creations that are written together, and the most bytes of one of them. */
const together = { creations: 50, bytes: 262_144 } as const

interface Waiting {
  readonly order: Order
  readonly resolve: (rows: readonly NewNodeRows[]) => void
  readonly reject: (reason: unknown) => void
}

/** Creations that wait for those that are written now, by organisation. If they lock the graph, they wait apart. */
const lines = new WeakMap<Store, Map<string, Waiting[]>>()

/** Creates the nodes of an order, with other orders if that is sooner. @throws the errors of createOrder */
export function createInTurn(orgId: string, order: Order): Promise<readonly NewNodeRows[]> {
  if (!order.nodes.every(mayShare)) return createOrder(orgId, order)
  const { store } = order.deps
  const ofStore = lines.get(store) ?? new Map<string, Waiting[]>()
  lines.set(store, ofStore)
  const key = `${orgId} ${order.nodes.some(({ hasParents }) => hasParents)}`
  return new Promise((resolve, reject) => {
    const waiting = { order, resolve, reject }
    const line = ofStore.get(key)
    if (line) line.push(waiting)
    else {
      const begun = [waiting]
      ofStore.set(key, begun)
      void writeLine(orgId, begun, () => ofStore.delete(key))
    }
  })
}

/** True if others need not wait long for it. With an id that clients chose, two creations may concern each other. */
function mayShare({ isFresh, objects }: CompleteNode): boolean {
  let bytes = 0
  for (const { content } of objects.values()) bytes += content.length
  return isFresh && bytes <= together.bytes
}

/** Writes all creations of a line, also those that arrive until it is empty. `end` is called at once when none is left. */
async function writeLine(orgId: string, line: Waiting[], end: () => void): Promise<void> {
  while (line.length > 0) await writeGroup(orgId, line.splice(0, together.creations))
  end()
}

async function writeGroup(orgId: string, group: readonly Waiting[]): Promise<void> {
  const [first] = group
  if (!first) return
  try {
    const orders = group.map(({ order }) => order)
    const outcomes = await createOrders(orgId, first.order.deps, orders)
    for (const [at, outcome] of outcomes.entries())
      if (outcome.status === 'fulfilled') group[at]?.resolve(outcome.value)
      else group[at]?.reject(outcome.reason)
  } catch (error) {
    for (const { reject } of group) reject(error)
  }
}
