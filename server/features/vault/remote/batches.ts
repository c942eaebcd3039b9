/** Creates nodes of a remote Grove in batches, and reports refused nodes. */

import * as limits from '../../../base/limits.ts'
import { edgeIdAt } from '../../../domain/format/paths.ts'
import { type Remote, type RemoteAnswer, RemoteError, RemoteRefusalError } from '../../../domain/net/remote-grove.ts'
import { type ImportedNode, otherEnd, withoutEdgesTo } from '../apply/imported-nodes.ts'
import { writtenSchema } from './answers.ts'
import { type Item, itemOf } from './items.ts'

/** Called for each node with its outcome, or the reason of a refusal. */
type Tell = (id: string, outcome: 'created' | 'updated' | { readonly reason: string }) => void

interface Created {
  /** Nodes that still lack edges to later nodes, or content that an item cannot express. */
  readonly unfinished: readonly ImportedNode[]
  /** Ids of refused nodes. */
  readonly lost: ReadonlySet<string>
}

/**
 * Creates nodes in batches.
 *
 * @param org the path of the organisation
 * @param nodes new nodes, parents before children
 * @throws RemoteError for an unusable answer; the errors of Remote.send
 */
export async function createInBatches(
  remote: Remote,
  org: string,
  nodes: readonly ImportedNode[],
  tell: Tell,
): Promise<Created> {
  const coming = new Set(nodes.map(({ id }) => id))
  const lost = new Set<string>()
  const guarded = new Map<string, string>()
  const unfinished: ImportedNode[] = []
  for (let from = 0; from < nodes.length; ) {
    const batch = nodes.slice(from, from + fitting(nodes, from))
    from += batch.length
    for (const { id } of batch) coming.delete(id)
    await send(batch)
  }
  return { unfinished, lost }

  /** Sends a batch, and again without refused nodes. It ends because each attempt has fewer nodes. */
  async function send(batch: readonly ImportedNode[]): Promise<void> {
    let left = batch
    for (;;) {
      left = refuse(left, belowGuarded(left, guarded))
      if (left.length === 0) return
      const items = left.map(itemWithout)
      const body = `{"nodes":[${items.map(({ json }) => json).join(',')}]}`
      const answer = await remote.send('PUT', `${org}/nodes/batch`, body)
      if (answer.status < 400) return finish(left, items, answer)
      if (answer.status >= 500) throw new RemoteError(`${remote.url} answers ${answer.status}: ${answer.detail}`)
      if (answer.code === 'org_not_found') throw new RemoteRefusalError(`${remote.url}: ${answer.detail}`, answer.code)
      const refused = refusedIn(answer, left)
      if (refused.size === 0) {
        const half = Math.ceil(left.length / 2)
        const later = left.slice(half)
        for (const { id } of later) coming.add(id)
        await send(left.slice(0, half))
        for (const { id } of later) coming.delete(id)
        left = later
        continue
      }
      if (answer.code === 'pull_request_required') for (const [id, reason] of refused) guarded.set(id, reason)
      left = refuse(left, refused)
    }
  }

  /** Reports the refused nodes. Returns the others. */
  function refuse(batch: readonly ImportedNode[], refused: ReadonlyMap<string, string>): readonly ImportedNode[] {
    for (const [id, reason] of refused) {
      lost.add(id)
      tell(id, { reason })
    }
    return batch.filter(({ id }) => !refused.has(id))
  }

  /** Returns the item without edges to nodes that do not exist yet or were refused. */
  function itemWithout(node: ImportedNode): Item {
    const files = withoutEdgesTo(lost, withoutEdgesTo(coming, node.files))
    const item = itemOf(node, files)
    const isLater = [...node.files].some(([path, bytes]) => coming.has(otherEnd(path, bytes) ?? ''))
    return isLater ? { ...item, isWhole: false } : item
  }

  function finish(batch: readonly ImportedNode[], items: readonly Item[], { body }: RemoteAnswer): void {
    const { data } = writtenSchema.safeParse(body)
    if (!data) throw new RemoteError(`${remote.url} does not respond to a batch like a Grove service`)
    const statuses = new Map(data.nodes.map(({ id, status }) => [id, status]))
    for (const [at, node] of batch.entries()) {
      // Unchanged means that the batch was sent twice, because the first answer was lost.
      const isChange = statuses.get(node.id) === 'updated'
      if (isChange || !items[at]?.isWhole) unfinished.push(node)
      tell(node.id, isChange ? 'updated' : 'created')
    }
  }
}

/** Finds nodes below those that rules guard, which must not be created elsewhere. Adds them to `guarded`. */
function belowGuarded(nodes: readonly ImportedNode[], guarded: Map<string, string>): ReadonlyMap<string, string> {
  const below = new Map<string, string>()
  if (guarded.size === 0) return below
  for (const { id, files } of nodes) {
    const parent = [...files.keys()].flatMap((path) => edgeIdAt('parents', path) ?? []).find((one) => guarded.has(one))
    const reason = parent === undefined ? undefined : guarded.get(parent)
    if (reason === undefined) continue
    guarded.set(id, reason)
    below.set(id, reason)
  }
  return below
}

/** Counts the nodes after `from` that fit into a batch; at least one. */
function fitting(nodes: readonly ImportedNode[], from: number): number {
  let bytes = 0
  let entries = 0
  let count = 0
  for (; count < limits.importItems && from + count < nodes.length; count++) {
    const node = nodes[from + count]
    bytes += node === undefined ? 0 : Buffer.byteLength(itemOf(node, node.files).json)
    entries += node?.files.size ?? 0
    if (count > 0 && (bytes > limits.importRequestBytes || entries > limits.importEntries)) break
  }
  return count
}

/** Returns the reasons of refused nodes, by id. Empty if the answer does not name the nodes. */
function refusedIn(
  { status, detail, problems }: RemoteAnswer,
  batch: readonly ImportedNode[],
): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>()
  const add = (id: string | undefined, reason: string) => {
    const known = id === undefined ? undefined : reasons.get(id)
    if (id !== undefined) reasons.set(id, known === undefined ? reason : `${known}; ${reason}`)
  }
  for (const { loc, msg } of problems) if (loc[1] === 'nodes' && typeof loc[2] === 'number') add(batch[loc[2]]?.id, msg)
  if (status === 409) add(batch.find(({ id }) => detail.includes(id))?.id, detail)
  if (reasons.size === 0 && batch.length === 1) add(batch[0]?.id, detail)
  return reasons
}
