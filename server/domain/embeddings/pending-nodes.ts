/** Lists changed nodes, and counts those that wait for their vectors, from few rows. */
import { type ChangedNode, type ChangedOrg, listChangedNodes } from '../../../index/derived/changed-nodes.ts'
import { readUsage } from '../../../index/derived/usage.ts'
import {
  findModel,
  findProgress,
  type LastChange,
  lastReadOf,
  type VectorsAt,
} from '../../../index/vectors/progress.ts'
import { readSettledHeads } from '../../../index/vectors/vectors.ts'
import type { Services } from '../services.ts'
import type { Embeddings } from './embeddings.ts'

interface Counting extends Pick<Services, 'index'> {
  readonly embeddings: Embeddings
}

/** Changed nodes that are checked. More are not counted, unless they have no vectors at all. */
const mostChanged = 500

/** Lists nodes that changed after another. `isSettled`: their vectors are those of their heads. */
export async function listChanges(
  { index, embeddings }: Counting,
  at: VectorsAt,
  after: LastChange,
  limit: number,
): Promise<(ChangedNode & { readonly isSettled: boolean })[]> {
  const changed = await listChangedNodes(index.read, at.orgId, after, limit)
  if (changed.length === 0) return []
  const ids = changed.map(({ id }) => id)
  const settled = await readSettledHeads(embeddings.vectors.read, at, ids)
  return changed.map((node) => ({ ...node, isSettled: settled.get(node.id) === (node.head ?? '') }))
}

/** Estimates the nodes that are new or have changed since they were embedded. @throws DatabaseError */
export async function countPendingNodes(deps: Counting, org: ChangedOrg): Promise<number> {
  const { index, embeddings } = deps
  if (!(await embeddings.isAllowed(org.id))) return 0
  const { read } = embeddings.vectors
  const { nodes } = await readUsage(index.read, org.id)
  const model = await findModel(read, embeddings.model.id)
  if (model === undefined) return nodes
  const at = { orgId: org.id, model }
  const progress = await findProgress(read, at)
  const without = Math.max(0, nodes - (progress?.settled ?? 0))
  const changed = await listChanges(deps, at, lastReadOf(progress, org.epoch), mostChanged)
  const stale = changed.filter(({ isSettled }) => !isSettled)
  return Math.max(without, stale.length)
}
