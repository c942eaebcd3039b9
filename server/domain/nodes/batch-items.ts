/** The items of a batch: which are new, what each builds, and which cannot be written. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError, isStorageFault } from '../../../gitstore/errors.ts'
import { newObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, PendingObject } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { readOrgsOf } from '../../../index/derived/node-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { Invalid, type Problem, Refusal } from '../../base/errors.ts'
import { type NodeAccess, nodeIn, type OrgAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { problemOf } from '../branches/branch-moves.ts'
import { readTree } from '../branches/commit-trees.ts'
import { contentProblems } from '../branches/edge-rules.ts'
import { readContent } from '../format/node-format.ts'
import { main, nodeRepo } from '../layout.ts'
import { type NewNode, refuseTaken, taken } from './batch-creation.ts'
import type { NodeMove } from './batch-graph.ts'
import type { BatchNode, BatchOptions, BatchOutcome } from './batch-node.ts'
import { findTrashedElsewhere } from './trashed.ts'

/** A batch while it is written. */
export interface Batch {
  readonly deps: Deps
  readonly actor: Person
  readonly access: OrgAccess
  readonly options: BatchOptions
  /** Ids of the new nodes, without those that are refused. */
  readonly coming: Set<string>
  /** Ids of the items that are refused. */
  readonly lost: Set<string>
  readonly outcomes: Map<string, BatchOutcome>
}

export interface Item {
  /** Its position in the batch. */
  readonly at: number
  readonly node: BatchNode
  /** Undefined: it is new. */
  readonly existing: NodeAccess | undefined
}

/** New nodes first. @throws Refusal node_exists */
export async function itemsOf(batch: Batch, nodes: readonly BatchNode[]): Promise<Item[]> {
  const { deps, access, options } = batch
  const { org } = access
  const ids = nodes.map(({ id }) => id)
  if (options.existing === 'refuse') {
    await refuseTaken(deps, org.id, ids)
    return nodes.map((node, at) => ({ at, node, existing: undefined }))
  }
  const orgs = await readOrgsOf(deps.index.read, ids)
  const [fresh, known]: [Item[], Item[]] = [[], []]
  for (const [at, node] of nodes.entries()) {
    const owner = orgs.get(node.id)
    // A crash may have left it out of the index.
    const isThere = owner === org.id || (owner === undefined && repoExists(nodeRepo(deps.store, org.id, node.id)))
    try {
      if (owner !== undefined && !isThere) throw taken(node.id)
      const existing = isThere ? await nodeIn(deps, access, node.id, 'editor') : undefined
      const list = existing ? known : fresh
      list.push({ at, node, existing })
    } catch (error) {
      leaveOut(batch, at, node.id, error)
    }
    if (isThere) await nextTurn()
  }
  return [...(await withoutTrashed(batch, fresh)), ...known]
}

/** Without those whose id a node in the trash of another organisation has. */
async function withoutTrashed(batch: Batch, fresh: readonly Item[]): Promise<readonly Item[]> {
  const { deps, access } = batch
  for (let left = fresh; ; ) {
    const trashed = await findTrashedElsewhere(deps.store, access.org.id, new Set(left.map(({ node }) => node.id)))
    const item = left.find(({ node }) => node.id === trashed)
    if (!item) return left
    leaveOut(batch, item.at, item.node.id, taken(item.node.id))
    left = left.filter((one) => one !== item)
  }
}

/**
 * Reports an item that cannot be written to `refused`.
 *
 * @throws the error itself, if there is no `refused` or if the error does not concern this item alone
 */
export function leaveOut({ options: { refused, locate }, lost }: Batch, at: number, id: string, error: unknown): void {
  const isOfItem =
    error instanceof Invalid || error instanceof Refusal || (error instanceof GitError && !isStorageFault(error))
  if (!refused || !isOfItem) throw error
  const problem = { loc: locate(at, ''), msg: error.message, type: 'value_error' as const }
  lost.add(id)
  refused(at, error instanceof Invalid ? error.problems : [problem])
}

/** An item with its tree, in memory. */
export interface Built extends Item, Omit<NewNode, 'node' | 'hasParents'> {
  readonly head: Oid | null
  readonly move: NodeMove
  readonly problems: readonly Problem[]
  readonly isSame: boolean
}

/** Undefined: its repository is damaged, which is in the log and in the answer. */
export async function buildIfSound(batch: Batch, item: Item): Promise<Built | undefined> {
  try {
    return await build(batch, item)
  } catch (error) {
    leaveOut(batch, item.at, item.node.id, error)
    return undefined
  }
}

/** A tree that cannot be built counts as the one before. */
async function build({ deps, access, options }: Batch, item: Item): Promise<Built> {
  const { at, node, existing } = item
  const repo = nodeRepo(deps.store, access.org.id, node.id)
  const head = existing ? readRef(repo, main) : null
  const before = head === null ? null : await readTree(repo, head)
  const objects = new Map<Oid, PendingObject>()
  const draft = newObjectDraft(repo, objects)
  const known = await readContent(repo, before)
  const found: Problem[] = []
  let tree = before
  try {
    tree = await node.build(draft, before)
    for (const problem of contentProblems(known, await readContent(draft.repo, tree)))
      found.push(problemOf(options.locate(at, problem.path), problem))
  } catch (error) {
    if (!(error instanceof Invalid)) throw error
    found.push(...error.problems)
  }
  const after = tree === before ? known : await readContent(draft.repo, tree)
  const move = { at, id: node.id, before: known, after }
  const isSame = tree === before && head !== null
  return { ...item, draft, objects, tree: tree ?? '', head, move, problems: found, isSame }
}
