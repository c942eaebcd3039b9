/**
 * Pages that a change set brings back from the trash. While they are proposed, their repositories are in place and
 * hidden, with a `main` without files. So the merge is that of any other page, and reviewers read all of the text.
 */
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { emptyTree } from '../../../gitstore/objects/trees.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { readOrgsOf } from '../../../index/derived/node-queries.ts'
import type { OrgAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { readTree } from '../branches/revisions.ts'
import type { Mover } from '../event-log/note-intents.ts'
import { readContent } from '../format/node-format.ts'
import { countTrash } from '../indexing/byte-counts.ts'
import { authorizeNodeInOrg } from '../indexing/freshness.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { withNodeIntent } from '../indexing/recovered.ts'
import type { TrashedNode } from '../indexing/stored-repositories.ts'
import { ledgerRef, main, nodeRepo } from '../layout.ts'
import { readNodeRecord } from '../ledger/ledger.ts'
import type { SetItem, SetRecord } from '../ledger/set-ledger.ts'
import { moveBack, unlockCopy } from '../nodes/moved-back.ts'
import { nodeTakenError } from '../nodes/taken-ids.ts'
import { findCopy, refusalOf, rewriteNode, treeBefore } from '../nodes/trash.ts'
import { withRoomForNodes } from '../quotas.ts'
import type { Ctx, Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'
import { discardLeft, proposedAgain } from './discard.ts'
import { type ChangeItem, commitOn, type RestoredItem } from './items.ts'

/**
 * Runs `make` while the pages are in place. They go back to the trash if no set lists them afterwards.
 *
 * @throws AppError node_exists, node_not_found, quota_exceeded; errors of `make`
 */
export async function withRestored<T>(
  ctx: Ctx<Person>,
  org: OrgAccess,
  set: Pick<SetRecord, 'id'>,
  restored: readonly RestoredItem[],
  make: (items: readonly ChangeItem[]) => Promise<T>,
): Promise<T> {
  if (restored.length === 0) return make([])
  const orgId = org.org.id
  return withRoomForNodes(ctx, orgId, restored.length, () =>
    withPlaced(ctx, orgId, async (placed) => {
      const items: ChangeItem[] = []
      for (const { copy } of restored) {
        await putInPlace(ctx, { org_id: orgId, node_id: copy.nodeId }, copy, set.id, ctx.actor)
        placed.push(copy.nodeId)
        items.push(await buildReturn(ctx, org, copy.nodeId))
      }
      return make(items)
    }),
  )
}

/** Runs `work`. If it fails, the pages that it has placed and no set lists go back. */
async function withPlaced<T>(ctx: Ctx<Person>, orgId: string, work: (placed: string[]) => Promise<T>): Promise<T> {
  const placed: string[] = []
  try {
    return await work(placed)
  } catch (error) {
    for (const id of placed)
      await discardLeft(ctx, orgId, id, true).catch((fault: unknown) => {
        ctx.log.warn({ err: fault, orgId, nodeId: id }, 'a page could not go back to the trash; the sweep retries')
      })
    throw error
  }
}

/** Marks the copy as proposed, and renames it into place. @throws AppError node_exists, node_not_found */
async function putInPlace(deps: Services, at: NodeAt, copy: TrashedNode, setId: string, by: Mover): Promise<void> {
  const { org_id: orgId, node_id: nodeId } = at
  const owner = (await readOrgsOf((deps.wholeIndex ?? deps.index).read, [nodeId])).get(nodeId)
  if (owner !== undefined && owner !== orgId) throw nodeTakenError(nodeId)
  const work = async () => {
    await unlockCopy(copy)
    if (readRef(copy.repo, main) !== null)
      await rewriteNode(deps, copy.repo, by, proposedAgain, async (record, head) => ({
        record: { ...record, state: 'proposed', proposed_in: setId },
        ...((await readTree(copy.repo, head)) !== emptyTree && {
          first: { tree: emptyTree, message: `Delete ${record.title}` },
        }),
      }))
    await moveBack(deps, orgId, copy, by)
    await tryIndexNode(deps, orgId, nodeId)
  }
  await withNodeIntent(deps, orgId, [nodeId], work).catch((error: unknown) => {
    throw refusalOf(deps, at, error)
  })
  await countTrash(deps, orgId, (id) => id === nodeId)
}

/** Builds the commit that gives the page its earlier tree. */
async function buildReturn(ctx: Ctx<Person>, org: OrgAccess, nodeId: string): Promise<ChangeItem> {
  const access = await authorizeNodeInOrg(ctx, org, nodeId, 'maintainer', true)
  const { repo, node } = access
  const from = readRef(repo, main)
  if (from === null) throw new Error('A page that comes back has a main')
  const draft = newObjectBatch(repo)
  const tree = await treeBefore(repo, from)
  const head = await commitOn(ctx, draft, from, tree, `Restore ${node.title}`)
  const move = { before: await readContent(repo, null), after: await readContent(repo, tree) }
  return { act: 'restore', access, from, head, draft, move }
}

/**
 * Runs `reopen` once the pages that a closed set has left are back. Purged pages stay gone.
 *
 * @throws AppError node_exists, node_not_found, quota_exceeded; errors of `reopen`
 */
export async function withReturned<T>(
  ctx: Ctx<Person>,
  orgId: string,
  set: Pick<SetRecord, 'id'>,
  items: readonly Pick<SetItem, 'node_id' | 'act'>[],
  reopen: () => Promise<T>,
): Promise<T> {
  return withPlaced(ctx, orgId, async (placed) => {
    for (const { node_id, act } of items) {
      const at = { org_id: orgId, node_id }
      if ((act !== 'create' && act !== 'restore') || repoExists(nodeRepo(ctx.store, orgId, node_id))) continue
      const copy = await findCopy(ctx.store, at)
      const ledger = copy && readRef(copy.repo, ledgerRef)
      if (!copy || !ledger || (await readNodeRecord(copy.repo, ledger)).proposed_in !== set.id) continue
      await withRoomForNodes(ctx, orgId, 1, () => putInPlace(ctx, at, copy, set.id, ctx.actor))
      placed.push(node_id)
    }
    return reopen()
  })
}
