/** Rebuilds the index from the repositories. */

import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { deleteAllLogs } from '../../../index/derived/chain-removal.ts'
import { deleteAllOrgs, findOrgHead } from '../../../index/derived/org-queries.ts'
import { forgetWholeOrgs } from '../../../index/derived/whole-orgs.ts'
import { declareFilled } from '../../../index/sqlite/rebuildable-database.ts'
import type { PathProblem } from '../format/path-problem.ts'
import type { Services } from '../services.ts'
import { countTrash } from './byte-counts.ts'
import { indexNode, indexOrg } from './index-node.ts'
import { listMoved } from './moved-nodes.ts'
import type { Queue } from './partial-index.ts'
import { listNodes, listOrgs } from './stored-repositories.ts'

export interface Reindexed {
  readonly orgs: number
  readonly nodes: number
  /** Unreadable repositories. All others are served. */
  readonly failed: readonly UnreadableRepository[]
}

/** An unreadable repository. `path` is below the data folder: `<org id>/<node id>.git`, or `<org id>`. */
export interface UnreadableRepository extends PathProblem {
  readonly error: unknown
}

/** Updates the rows of a node, or of an organisation, to match its repository. */
export type IndexOne = (deps: Services, orgId: string, nodeId?: string) => Promise<void>

export const indexOne: IndexOne = (deps, orgId, nodeId) =>
  nodeId === undefined ? indexOrg(deps, orgId) : indexNode(deps, orgId, nodeId)

/** Nodes that are compared with the index at a time. */
const batch = 100

/** Clears the index and indexes every repository. */
export async function reindex(deps: Services, onProgress?: (done: number, total: number) => void): Promise<Reindexed> {
  await deps.index.write(async (trx) => {
    await declareFilled(trx, false)
    await deleteAllOrgs(trx)
    await deleteAllLogs(trx)
    await forgetWholeOrgs(trx)
  })
  const done = await indexAll(deps, onProgress)
  if (!deps.draining.aborted) await deps.index.write((trx) => declareFilled(trx, true))
  return done
}

/**
 * Indexes every repository that has moved, and deletes the rows of deleted ones. An unmoved repository costs about 0.1
 * ms. The event loop is blocked for at most about 10 ms. Organisations are indexed in the order of their ids, or in
 * that of `queue`.
 */
export async function indexAll(
  deps: Services,
  onProgress: (done: number, total: number) => void = () => {},
  queue?: Queue,
): Promise<Reindexed> {
  const failed: UnreadableRepository[] = []
  const orgs = await listOrgs(deps)
  /** Nodes that must still be indexed, by organisation. */
  const left = new Map<string, string[]>()
  for (const org of orgs) left.set(org, await listNodes(deps, org))
  const total = [...left.values()].reduce((sum, nodes) => sum + nodes.length, 0)
  const entered = new Set<string>()
  let done = 0
  while (!deps.draining.aborted) {
    const org = (await queue?.first()) ?? left.keys().next().value
    if (org === undefined) break
    // An organisation that was created after the list.
    const nodes = left.get(org) ?? (await listNodes(deps, org))
    left.set(org, nodes)
    const isEntered = entered.has(org) || (await indexMovedOrg(deps, org, failed))
    entered.add(org)
    const some = nodes.splice(0, isEntered ? batch : nodes.length)
    if (isEntered) await indexMoved(deps, org, some, failed)
    done += some.length
    onProgress(done, total)
    if (nodes.length === 0 && !deps.draining.aborted) {
      left.delete(org)
      if (isEntered) await countTrash(deps, org)
      await queue?.done(org)
    }
    await nextTurn()
  }
  return { orgs: orgs.length, nodes: total, failed }
}

/** Indexes the organisation's own repository. True if its nodes can be indexed. Failures are added to `failed`. */
export async function indexMovedOrg(
  deps: Services,
  orgId: string,
  failed: UnreadableRepository[],
  one: IndexOne = indexOne,
): Promise<boolean> {
  return (await attempt(orgId, failed, () => one(deps, orgId))) && (await hasOrgRow(deps, orgId))
}

/** Indexes the nodes that have moved. Failures are added to `failed`. */
export async function indexMoved(
  deps: Services,
  orgId: string,
  nodes: readonly string[],
  failed: UnreadableRepository[],
  one: IndexOne = indexOne,
): Promise<void> {
  for (const node of await listMoved(deps, orgId, nodes)) {
    if (deps.draining.aborted) break
    await attempt(join(orgId, `${node}.git`), failed, () => one(deps, orgId, node))
  }
}

async function attempt(path: string, failed: UnreadableRepository[], work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    failed.push({ path, reason: error instanceof Error ? error.message : String(error), error })
    return false
  }
}

/** True if the organisation has a row. Without it, its nodes cannot be indexed. */
async function hasOrgRow(deps: Services, orgId: string): Promise<boolean> {
  return (await findOrgHead(deps.index.read, orgId)) !== undefined
}
