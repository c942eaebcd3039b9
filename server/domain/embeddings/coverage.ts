/** How many nodes of an organisation have vectors. */
import { readUsage } from '../../../index/derived/usage.ts'
import { countSettled } from '../../../index/vectors/progress.ts'
import type { Services } from '../services.ts'
import type { Embeddings } from './embeddings.ts'

/** Returns the share of nodes whose texts were embedded, 0 to 1. Nodes without a text count as embedded. */
export async function coveredOf(
  { index }: Pick<Services, 'index'>,
  { model, vectors }: Embeddings,
  orgId: string,
): Promise<number> {
  const settled = await countSettled(vectors.read, orgId, model.id)
  const { nodes } = await readUsage(index.read, orgId)
  return nodes === 0 ? 1 : Math.min(1, settled / nodes)
}
