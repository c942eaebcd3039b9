/** Creates nodes of a Grove elsewhere in batches, and reports those that it refuses. */
import { type ImportedNode, otherEnd, withoutEdgesTo } from '../apply/imports.ts'
import { writtenSchema } from './answers.ts'
import { type Remote, type RemoteAnswer, RemoteError, RemoteRefusalError } from './client.ts'
import { entriesAtOnce, entriesOfBatch, type Item, itemOf, requestBytes } from './items.ts'

/** Called for each node: what became of it, or why it was refused. */
type Tell = (id: string, outcome: 'created' | 'updated' | { readonly reason: string }) => void

interface Created {
  /** Nodes that lack edges to later ones, or what no item can say. */
  readonly unfinished: readonly ImportedNode[]
  /** Ids of those that were refused. */
  readonly lost: ReadonlySet<string>
}

/**
 * @param org the path of the organisation
 * @param nodes that are not there, parents before children
 * @throws as Remote.send; RemoteError: an answer that helps no further
 */
export async function createInBatches(
  remote: Remote,
  org: string,
  nodes: readonly ImportedNode[],
  tell: Tell,
): Promise<Created> {
  const coming = new Set(nodes.map(({ id }) => id))
  const lost = new Set<string>()
  const unfinished: ImportedNode[] = []
  for (let from = 0; from < nodes.length; ) {
    const batch = nodes.slice(from, from + fitting(nodes, from))
    from += batch.length
    for (const { id } of batch) coming.delete(id)
    await send(batch)
  }
  return { unfinished, lost }

  /** Ends: each turn has fewer nodes. */
  async function send(batch: readonly ImportedNode[]): Promise<void> {
    let left = batch
    while (left.length > 0) {
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
      for (const [id, reason] of refused) {
        lost.add(id)
        tell(id, { reason })
      }
      left = left.filter(({ id }) => !refused.has(id))
    }
  }

  /** Without edges to nodes that are not there yet, or that were refused. */
  function itemWithout(node: ImportedNode): Item {
    const files = withoutEdgesTo(lost, withoutEdgesTo(coming, node.files))
    const item = itemOf(node, files)
    const isLater = [...node.files].some(([path, bytes]) => coming.has(otherEnd(path, bytes) ?? ''))
    return isLater ? { ...item, isWhole: false } : item
  }

  function finish(batch: readonly ImportedNode[], items: readonly Item[], { body }: RemoteAnswer): void {
    const { data } = writtenSchema.safeParse(body)
    if (!data) throw new RemoteError(`${remote.url} does not answer a batch as a Grove does`)
    const statuses = new Map(data.nodes.map(({ id, status }) => [id, status]))
    for (const [at, node] of batch.entries()) {
      // Unchanged: the batch was sent twice, since the first answer was lost.
      const isChange = statuses.get(node.id) === 'updated'
      if (isChange || !items[at]?.isWhole) unfinished.push(node)
      tell(node.id, isChange ? 'updated' : 'created')
    }
  }
}

/** How many nodes from there on fit into a batch; at least one. */
function fitting(nodes: readonly ImportedNode[], from: number): number {
  let bytes = 0
  let entries = 0
  let count = 0
  for (; count < entriesAtOnce && from + count < nodes.length; count++) {
    const node = nodes[from + count]
    bytes += node === undefined ? 0 : Buffer.byteLength(itemOf(node, node.files).json)
    entries += node?.files.size ?? 0
    if (count > 0 && (bytes > requestBytes || entries > entriesOfBatch)) break
  }
  return count
}

/** Why which nodes are refused, by id; none where the answer does not say which. */
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
