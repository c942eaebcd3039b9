/**
 * The owners of conversations: nodes, and organisations for their change sets. A change set is the pull request of a
 * "node" whose id is that of the organisation, so that both have the same code.
 */
import { readRef } from '../../../gitstore/refs/refs.ts'
import { noOid, type Oid } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { listSetItems } from '../../../index/derived/change-sets.ts'
import { findPull } from '../../../index/derived/pulls.ts'
import { authorizeNode, authorizeOrg, type LedgerAccess, type Need } from '../access.ts'
import { historyOf } from '../history.ts'
import { reloadNode } from '../indexing/freshness.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { branchRef, ledgerIn, nodeRepo, orgRepo } from '../layout.ts'
import type { PullRecord } from '../ledger/ledger.ts'
import { versionOf } from '../ledger/set-ledger.ts'
import type { Ctx, Services } from '../services.ts'
import { tryIndexSets } from '../sets/set-changes.ts'
import type { NodeAt } from '../targets.ts'

/** Returns access to the ledger of a node, or to that of change sets. @throws errors of `authorizeNode` */
export async function authorizeOwner(ctx: Ctx, at: NodeAt, need: Need): Promise<LedgerAccess> {
  const orgId = at.org_id
  if (at.node_id !== orgId) return authorizeNode(ctx, at, need)
  const access = await authorizeOrg(ctx, at, need)
  await tryIndexSets(ctx, orgId)
  const ledger = ledgerIn(orgRepo(ctx.store, orgId))
  const node = { id: orgId, ledger: readRef(ledger.repo, ledger.ref) ?? noOid }
  return { ...access, node, repo: ledger.repo, history: historyOf(ctx, orgId, ledger.repo) }
}

/** True for the ledger of change sets. */
export function isOfSets({ org, node }: Pick<LedgerAccess, 'org' | 'node'>): boolean {
  return node.id === org.id
}

/** Indexes a node, or the change sets of an organisation. A failure is only logged. */
export function tryIndexOwner(deps: Services, { org_id: orgId, node_id: nodeId }: NodeAt): Promise<void> {
  return nodeId === orgId ? tryIndexSets(deps, orgId) : tryIndexNode(deps, orgId, nodeId)
}

/** Returns the access after a change, with up-to-date rows. @throws errors of `reloadNode` */
export async function reloadOwner(deps: Services, access: LedgerAccess): Promise<LedgerAccess> {
  if (!isOfSets(access)) return reloadNode(deps, access, 'reader')
  await tryIndexSets(deps, access.org.id)
  return access
}

/** Reads the source's head, or the version of a change set. If it has ended, it is the last one. */
export async function presentHead(
  deps: Services,
  access: LedgerAccess,
  { number, status, source_branch, source_commit }: Branches,
): Promise<Oid> {
  if (isOfSets(access)) return presentVersion(deps, access.org.id, number)
  return (status === 'open' && readRef(access.repo, branchRef(source_branch))) || source_commit
}

type Branches = Pick<PullRecord, 'number' | 'status' | 'source_branch' | 'source_commit'>

async function presentVersion({ index: { read }, store }: Services, orgId: string, number: number): Promise<Oid> {
  const [set, items] = [await findPull(read, orgId, number), await listSetItems(read, orgId, [number])]
  const heads = []
  for (const { node_id, pull: own } of items) {
    const pull = await findPull(read, node_id, own)
    if (pull === undefined || pull.status !== set?.status) continue
    const repo = nodeRepo(store, orgId, node_id)
    const isOpen = pull.status === 'open' && repoExists(repo)
    const head = isOpen ? readRef(repo, branchRef(pull.source_branch)) : pull.source_commit
    if (head !== null) heads.push({ node_id, head })
  }
  return versionOf(heads)
}
