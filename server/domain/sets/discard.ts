/**
 * Removes pages that a change set has deleted, or was about to propose. Nobody sees them before either.
 */
import { longestGitMs } from '../../../gitstore/native.ts'
import { readCommit, readMessage } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { removeRepo, repoExists } from '../../../gitstore/repo-folders.ts'
import { findProposedNode } from '../../../index/derived/proposed-nodes.ts'
import type { NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { authorOf } from '../format/signatures.ts'
import { indexNode } from '../indexing/index-node.ts'
import { ledgerRef, main, nodeRepo } from '../layout.ts'
import { type NodeRecord, readLastNumber, readNodeRecord } from '../ledger/ledger.ts'
import { openPullsAt } from '../ledger/pull-ledger.ts'
import { readSetById, setsOf } from '../ledger/set-ledger.ts'
import { moveToTrash } from '../nodes/nodes.ts'
import { rewriteNode } from '../nodes/trash.ts'
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

/** The subject of the ledger commit that makes a deleted page a proposed one. */
export const proposedAgain = 'propose'

/** Milliseconds after which a page without a set was left by a process that died. */
const orphanedMs = 3_600_000

/** Milliseconds for which the new pages of a closed set can be reopened in place. */
const closedMs = 30 * 86_400_000

/**
 * Finishes what a change set has left. A deleted page goes to the trash. So does a page that a closed set was about to
 * restore, and later one that it was about to create. A new page that no set lists is removed.
 *
 * @param isFailed true: the set that was about to list the page was not written
 * @throws GitError if the repository is damaged
 */
export async function discardLeft(deps: Services, orgId: string, nodeId: string, isFailed = false): Promise<void> {
  const repo = nodeRepo(deps.store, orgId, nodeId)
  const ledger = repoExists(repo) ? readRef(repo, ledgerRef) : null
  if (ledger === null) return
  const node = await readNodeRecord(repo, ledger)
  const left = { orgId, nodeId, repo, ledger, node }
  if (node.state === 'deleted')
    return toTrash(deps, left, 'a page that a change set had deleted was moved to the trash')
  if (node.state !== 'proposed') return
  const { author } = await readCommit(repo, ledger)
  const age = deps.now().getTime() - author.timestamp * 1000
  const isReturning = readRef(repo, main) !== null
  const isOpen = await hasOpenItem(deps, left)
  if (isOpen && (age < orphanedMs || (await isListed(deps, left)))) return
  if (isReturning) {
    const isBegun = !isOpen && (await readMessage(repo, ledger)).trim() === proposedAgain
    if (isBegun && !isFailed && age < orphanedMs) return
    await rewriteNode(deps, repo, authorOf(author), 'delete', async (record) => ({
      record: { ...record, state: 'deleted' },
    }))
    return toTrash(deps, left, 'a page that a change set does not restore went back to the trash')
  }
  // No branch has come yet: a push to `new.git` is running, or its process has died.
  const isEmpty = (await readLastNumber(repo, ledger)) === 0
  if (isEmpty && age < 2 * longestGitMs) return
  if (!isOpen && !isEmpty && age >= closedMs)
    return toTrash(deps, left, 'a page of a closed change set was moved to the trash')
  if (!isOpen && !isEmpty) return
  await removeRepo(repo.dir)
  await indexNode(deps, orgId, nodeId)
  deps.log.info({ orgId, nodeId }, 'a proposed page that no change set lists was removed')
}

interface Left {
  readonly orgId: string
  readonly nodeId: string
  readonly repo: Repo
  readonly ledger: Oid
  readonly node: NodeRecord
}

/** The author of the last commit of the ledger moves it. */
async function toTrash(deps: Services, { orgId, nodeId, repo, ledger, node }: Left, message: string): Promise<void> {
  const by = { ...authorOf((await readCommit(repo, ledger)).author), kind: 'person' as const }
  const title = (await findProposedNode(deps.index.read, orgId, nodeId))?.title ?? node.title
  await moveToTrash(deps, { org_id: orgId, node_id: nodeId }, { repo, node: { title } }, { by, check: checked })
  deps.log.info({ orgId, nodeId }, message)
}

/** True if the pull request that proposes the page is open. */
async function hasOpenItem({ index }: Services, { nodeId, repo, ledger, node }: Left): Promise<boolean> {
  const open = await openPullsAt(index.read, { repo, nodeId }, ledger)
  return open.some(({ change_set }) => change_set !== undefined && change_set === node.proposed_in)
}

async function isListed(deps: Services, { orgId, nodeId, node: { proposed_in: set = '' } }: Left): Promise<boolean> {
  const own = setsOf(deps, orgId)
  const record = await readSetById(own.repo, readRef(own.repo, own.ref), set)
  return record?.items.some((item) => item.node_id === nodeId) === true
}
