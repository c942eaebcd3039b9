/** Counts the nodes that wait for their vectors, from few rows. */
import { type FollowedOrg, listChangedNodes } from '../../../index/derived/followed-nodes.ts'
import { readUsage } from '../../../index/derived/usage.ts'
import { findModel, findPosition } from '../../../index/vectors/positions.ts'
import { readSettledHeads } from '../../../index/vectors/vectors.ts'
import type { Deps } from '../../base/deps.ts'
import type { Embeddings } from './embeddings.ts'

interface Counting extends Pick<Deps, 'index'> {
  readonly embeddings: Embeddings
}

/** Changed nodes that are checked. More are not counted, unless they have no vectors at all. */
const mostChanged = 500

/** Estimates the nodes that are new or have changed since they were embedded. @throws DatabaseError */
export async function countPendingNodes({ index, embeddings }: Counting, org: FollowedOrg): Promise<number> {
  if (!(await embeddings.isAllowed(org.id))) return 0
  const { read } = embeddings.vectors
  const { nodes } = await readUsage(index.read, org.id)
  const model = await findModel(read, embeddings.model.id)
  if (model === undefined) return nodes
  const at = { orgId: org.id, model }
  const position = await findPosition(read, at)
  const without = Math.max(0, nodes - (position?.settled ?? 0))
  const after = position?.epoch === org.epoch ? position.nodes : { version: 0, id: '' }
  const changed = await listChangedNodes(index.read, org.id, after, mostChanged)
  const ids = changed.map(({ id }) => id)
  const settled = await readSettledHeads(read, at, ids)
  const stale = changed.filter(({ id, head }) => settled.get(id) !== (head ?? ''))
  return Math.max(without, stale.length)
}
