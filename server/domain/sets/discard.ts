/** Moves the pages that a merged set has deleted to the trash. They are gone for every reader before. */
import type { NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { moveToTrash } from '../nodes/nodes.ts'
import type { Ctx } from '../services.ts'

/** Moves the pages to the trash. A failure is only logged, because the sweep does it later. */
export async function discardMerged(ctx: Ctx<Person>, orgId: string, pages: readonly NodeAccess[]): Promise<void> {
  for (const page of pages) {
    const nodeId = page.node.id
    await moveToTrash(ctx, { org_id: orgId, node_id: nodeId }, page).catch((error: unknown) => {
      ctx.log.warn({ err: error, orgId, nodeId }, 'a deleted page could not be moved to the trash; the sweep retries')
    })
  }
}
