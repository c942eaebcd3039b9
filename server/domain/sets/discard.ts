/**
 * Removes pages that a change set has deleted, or was about to propose. Nobody sees them before either.
 */
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { removeRepo, repoExists } from '../../../gitstore/repo-folders.ts'
import type { NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { authorOf } from '../format/signatures.ts'
import { indexNode } from '../indexing/index-node.ts'
import { ledgerRef, nodeRepo } from '../layout.ts'
import { type NodeRecord, readNodeRecord, readPull } from '../ledger/ledger.ts'
import { findSetNumber, readSet, setsOf } from '../ledger/set-ledger.ts'
import { moveToTrash } from '../nodes/nodes.ts'
import type { Ctx, Services } from '../services.ts'

const checked = async () => {}

/** Moves the pages to the trash. A failure is only logged, because the sweep does it later. */
export async function discardMerged(ctx: Ctx<Person>, orgId: string, pages: readonly NodeAccess[]): Promise<void> {
  for (const page of pages) {
    const at = { org_id: orgId, node_id: page.node.id }
    await moveToTrash(ctx, at, page, { by: ctx.actor, check: checked }).catch((error: unknown) => {
      ctx.log.warn({ err: error, ...at }, 'a deleted page could not be moved to the trash; the sweep retries')
    })
  }
}

/** Milliseconds after which a page without a set was left by a process that died. */
const orphanedMs = 3_600_000

/**
 * Finishes what a process that died has left of a change set. A deleted page goes to the trash. A page that no set lists
 * is removed.
 *
 * @throws GitError if the repository is damaged
 */
export async function discardLeft(deps: Services, orgId: string, nodeId: string): Promise<void> {
  const repo = nodeRepo(deps.store, orgId, nodeId)
  const ledger = repoExists(repo) ? readRef(repo, ledgerRef) : null
  if (ledger === null) return
  const node = await readNodeRecord(repo, ledger)
  if (node.state === 'deleted') {
    const by = { ...authorOf((await readCommit(repo, ledger)).author), kind: 'person' as const }
    await moveToTrash(deps, { org_id: orgId, node_id: nodeId }, { repo, node }, { by, check: checked })
    deps.log.info({ orgId, nodeId }, 'a page that a change set had deleted was moved to the trash')
  }
  const age = deps.now().getTime() - Date.parse(node.created_at)
  if (node.state !== 'proposed' || age < orphanedMs || !(await isOrphaned(deps, orgId, node, repo))) return
  await removeRepo(repo.dir)
  await indexNode(deps, orgId, nodeId)
  deps.log.info({ orgId, nodeId }, 'a proposed page that no change set lists was removed')
}

/** True if its pull request is open, and no set lists the page. */
async function isOrphaned(deps: Services, orgId: string, { id, proposed_in: set }: NodeRecord, repo: Repo) {
  const ledger = readRef(repo, ledgerRef)
  if (ledger === null || set === undefined) return false
  const { status, change_set } = await readPull(repo, ledger, 1)
  if (status !== 'open' || change_set !== set) return false
  const own = setsOf(deps, orgId)
  const sets = readRef(own.repo, own.ref)
  const number = await findSetNumber(own.repo, sets, set)
  if (sets === null || number === undefined) return true
  return !(await readSet(own.repo, sets, number)).items.some((item) => item.node_id === id)
}
