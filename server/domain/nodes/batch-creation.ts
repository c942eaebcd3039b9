/** Creates several nodes at once: staged, made durable by one sync, judged under the graph's lock, renamed, indexed. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isGitError } from '../../../gitstore/errors.ts'
import { type StagedRepos, stageRepos } from '../../../gitstore/new-repos.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import type { Oid, PendingObject } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import type { NewNodeRows } from '../../../index/derived/new-nodes.ts'
import { readOrgsOf } from '../../../index/derived/node-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { Refusal } from '../../base/errors.ts'
import { requireStill } from '../access.ts'
import type { Person } from '../actor.ts'
import { holdingGraph } from '../branches/branch-moves.ts'
import { signature } from '../format/signatures.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { indexNewNodes } from '../indexing/new-nodes.ts'
import { newNodeRows } from '../indexing/node-rows.ts'
import { announced } from '../indexing/recovered.ts'
import { ledgerRef, main, nodeRepo, orgFolder } from '../layout.ts'
import { startLedger } from '../ledger/ledger.ts'
import type { BatchNode } from './batch-node.ts'
import { findTrashedElsewhere } from './trashed.ts'

/** A node to create, with the tree of its first commit. */
export interface NewNode {
  readonly node: BatchNode
  readonly draft: ObjectDraft
  readonly objects: ReadonlyMap<Oid, PendingObject>
  readonly tree: Oid
  readonly hasParents: boolean
}

/**
 * Creates all of them and returns their heads, by id. The renames are the commit points: a crash before the first leaves a folder
 * that the sweep removes, one between two leaves some of the nodes, each whole.
 *
 * @param judge throws where a rule does not hold any more; the graph is locked if one of the nodes has parents
 * @throws Refusal node_exists, forbidden; GitError repo_missing (the organisation is deleted), storage_*, busy
 */
export async function createAll(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodes: readonly NewNode[],
  judge: () => Promise<void>,
): Promise<Map<string, Oid>> {
  const heads = new Map<string, Oid>()
  const rows: NewNodeRows[] = []
  const staged = stageRepos(orgFolder(deps.store, orgId))
  try {
    for (const one of nodes) {
      // Lists are in this order.
      const { head, row } = await stage(staged, actor, orgId, one, deps.now().toISOString())
      heads.set(one.node.id, head)
      rows.push(row)
      await nextTurn()
    }
    await staged.sync()
    const publish = async () => {
      await judge()
      await requireStill(deps, actor, orgId, 'editor')
      await refuseTaken(deps, orgId, [...heads.keys()])
      await publishAll(deps, orgId, staged, rows)
    }
    const held = nodes.filter(({ hasParents }) => hasParents).map(({ node }) => node.id)
    if (held.length > 0) await holdingGraph(deps, orgId, held, publish)
    else await announced(deps, orgId, [...heads.keys()], publish)
    return heads
  } finally {
    await staged.close()
  }
}

async function stage(
  staged: StagedRepos,
  actor: Person,
  orgId: string,
  { node, draft, objects, tree }: NewNode,
  created_at: string,
): Promise<{ readonly head: Oid; readonly row: NewNodeRows }> {
  const { id, title, message } = node
  const person = signature(actor, created_at)
  const head = await draft.commit({ tree, parents: [], author: person, committer: person, message })
  const ledger = await startLedger(draft, { id, org_id: orgId, title, created_at }, actor)
  const refs = new Map([
    [main, head],
    [ledgerRef, ledger],
  ])
  await staged.add(`${id}.git`, { refs, objects })
  return { head, row: await newNodeRows(draft.repo, ledger, head) }
}

/** Those that are published before a fault are indexed too: they are nodes. */
async function publishAll(deps: Deps, orgId: string, staged: StagedRepos, rows: readonly NewNodeRows[]): Promise<void> {
  const published: string[] = []
  try {
    await staged.publish((name) => published.push(name.slice(0, -'.git'.length)))
  } catch (error) {
    for (const id of published) await tryIndexNode(deps, orgId, id)
    if (isGitError(error, 'repo_exists')) throw known(orgId, String(error.facts.name).slice(0, -'.git'.length))
    throw error
  }
  await indexNewNodes(deps, orgId, rows)
}

/** Refuses an id that a node has, on disk or in the index, here or in another organisation, or in the trash of another. */
export async function refuseTaken(deps: Deps, orgId: string, ids: readonly string[]): Promise<void> {
  const orgs = await readOrgsOf((deps.wholeIndex ?? deps.index).read, ids)
  for (const id of ids) {
    const owner = orgs.get(id)
    if (owner !== undefined && owner !== orgId) throw taken(id)
    if (owner === orgId || repoExists(nodeRepo(deps.store, orgId, id))) throw known(orgId, id)
  }
  const trashed = await findTrashedElsewhere(deps.store, orgId, new Set(ids))
  if (trashed !== undefined) throw taken(trashed)
}

/** For an id used in another organisation: says nothing about that node. */
export function taken(id: string): Refusal {
  return new Refusal('node_exists', `The id ${id} is taken`)
}

/** For an id used in this organisation. */
export function known(orgId: string, id: string): Refusal {
  return new Refusal('node_exists', `A node with the id ${id} exists`, { location: `/orgs/${orgId}/nodes/${id}` })
}
