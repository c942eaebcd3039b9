/** Keeps rules for parts of the graph where nodes are deleted and restored. */
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { isWithin } from '../../../index/derived/edges.ts'
import { countsOf } from '../../../index/derived/neighbours.ts'
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import { wholeOrg } from '../../../index/derived/sees.ts'
import { AppError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import { withGraphLockOn } from '../branches/branch-commits.ts'
import { rulesOfBranch } from '../consent/branch-rules.ts'
import { readRules } from '../format/org-rules.ts'
import { findOrg } from '../indexing/freshness.ts'
import { listTrashed } from '../indexing/stored-repositories.ts'
import { nodeRepo } from '../layout.ts'
import type { Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'

/**
 * Deletes a node by `work`, unless that would end a rule for its children. If a change of parents needs a merge, a
 * deletion must not replace it. Holds the graph's lock if there are such rules.
 *
 * @throws AppError rule_would_end, and errors of `work`
 */
export async function keepingRules(deps: Services, at: NodeAt, work: () => Promise<void>): Promise<void> {
  const org = await findOrg(deps, at.org_id)
  if (org === undefined || (await nodesWithRules(deps, org)).length === 0) return work()
  await withGraphLockOn(deps, at.org_id, [at.node_id], async () => {
    if (await wouldEndRule(deps, org, at)) {
      const reason = 'A rule holds for the nodes below this node only because of its place'
      throw new AppError('rule_would_end', `${reason}. Delete them or give them another parent first`)
    }
    await work()
  })
}

/**
 * Refuses to restore a node without its parents, where rules depend on parents. A node that was deleted before its
 * parent would come back without the rules for what is below that parent.
 *
 * @throws AppError rule_would_end
 */
export async function refuseWithoutParents(
  deps: Services,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  parents: readonly { readonly id: string }[],
): Promise<void> {
  const org = await findOrg(deps, orgId)
  if (org === undefined || (await nodesWithRules(deps, org)).length === 0) return
  const deleted = new Set((await listTrashed(deps.store, orgId)).map((one) => one.nodeId))
  const missing = parents.find(
    ({ id }) => id !== nodeId && deleted.has(id) && !repoExists(nodeRepo(deps.store, orgId, id)),
  )
  if (missing === undefined) return
  const reason = `Its parent ${excerpt(missing.id)} is in the trash, and rules of this organisation depend on parents`
  throw new AppError('rule_would_end', `${reason}. Restore the parent first`)
}

/** Lists the nodes below which a rule holds. */
async function nodesWithRules(deps: Services, org: OrgRow): Promise<string[]> {
  return (await readRules(deps, org)).flatMap(({ under }) => under ?? [])
}

/**
 * True if the children have a rule through the node. Only a merge then changes the node's own parents.
 *
 * @param leaving how many of the children are deleted together with the node
 */
export async function wouldEndRule(
  deps: Services,
  org: OrgRow,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  leaving = 0,
): Promise<boolean> {
  const { read } = deps.index
  if ((await countsOf(read, wholeOrg(orgId), nodeId)).num_children <= leaving) return false
  if ((await rulesOfBranch(deps, org, nodeId, 'main')).length === 0) return false
  // The former children of a deleted node keep the rule for that node itself.
  for (const under of await nodesWithRules(deps, org))
    if (under !== nodeId && (await isWithin(read, nodeId, under))) return true
  return false
}
