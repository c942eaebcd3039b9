/**
 * Writes several nodes at once, for the batch operations of REST and for imports. Checks all of them together, creates
 * the new ones in one go, and commits to the others.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import pLimit from 'p-limit'
import { allDone } from '../../../gitstore/durable.ts'
import { GitError, isStorageError } from '../../../gitstore/errors.ts'
import { newObjectDraft, type ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, PendingObject } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { readOrgsOf } from '../../../index/derived/node-queries.ts'
import { AppError, type Problem, ValidationError } from '../../base/errors.ts'
import { authorizeOrg, type NodeAccess, type OrgAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { commitToBranch, type Locate, problemOf } from '../branches/branch-commits.ts'
import { findContentProblems, newParents } from '../branches/content-rules.ts'
import { readTree, requireBranchName } from '../branches/revisions.ts'
import { type Coming, findTypeProblems } from '../branches/type-rules.ts'
import { type TakeRoom, withByteRoom } from '../byte-quota.ts'
import { findGuarded, mayOverride, placeError, requireFreePlaces, type TitledPage } from '../consent/place-checks.ts'
import { readContent } from '../format/node-format.ts'
import { authorizeNodeInOrg } from '../indexing/freshness.ts'
import { main, nodeRepo } from '../layout.ts'
import { requireRoomForNodes, withRoomForNodes } from '../quotas.ts'
import type { Ctx, Services } from '../services.ts'
import type { OrgAt } from '../targets.ts'
import { type BatchProblem, judgeGraph, type NodeMove } from './batch-graph.ts'
import { type CompleteNode, completeNode, createOrder, type NewNode } from './new-nodes.ts'
import { findTrashed, nodeTakenError, refuseTaken } from './taken-ids.ts'

/** The desired state of a node on main. */
export interface BatchNode {
  /** A UUID in lower case, of a new or an existing node. No two items share it. */
  readonly id: string
  /** The title in the ledger of a new node. node.json has its own. */
  readonly title: string
  /** The message of the commit, if there is one. */
  readonly message: string
  /** The message of a commit to an existing node, if it differs from `message`. */
  readonly changeMessage?: string
  /**
   * Builds the tree of main on the draft, from the current tree. The current tree is null for a new node, or one
   * without a commit. Called again if main has moved in the meantime. To build a whole tree from a map of files:
   * `(draft, before) => buildTree(draft, before, files)`.
   *
   * @throws ValidationError the item breaks a rule; callers are shown its `loc`
   */
  readonly build: (draft: ObjectDraft, before: Oid | null) => Promise<Oid>
}

export interface BatchOptions {
  /**
   * `refuse`: every node must be new, and an existing one is 409. `update`: an existing node that differs gets a
   * commit.
   */
  readonly existing: 'refuse' | 'update'
  /** Locates a problem at `path` of the item at position `at` in the input. */
  readonly locate: (at: number, path: string, steps?: readonly (string | number)[]) => readonly (string | number)[]
  /**
   * Called with items that break a rule. They are skipped, and the others are written. Without this function, one such
   * item refuses the whole batch before anything is written.
   */
  readonly refused?: (at: number, problems: readonly Problem[]) => void
  /**
   * Called, in addition to `refused`, with an item that has edges to skipped items. It is then built again without
   * them.
   */
  readonly without?: (at: number, lost: ReadonlySet<string>) => void
  /** Why an owner creates nodes in spite of rules that guard them. Counts only with `refused`. */
  readonly override?: string
  /** Called with the number of items done so far, and of all items. */
  readonly onProgress?: (done: number, total: number) => void
}

export interface BatchOutcome {
  readonly id: string
  /** The commit of main. */
  readonly head: Oid
  readonly status: 'created' | 'updated' | 'unchanged'
}

/** The most nodes, and bytes of their objects, that are checked and written together. */
const nodesAtOnce = 1_000
const bytesAtOnce = 64 * 1_048_576
/** Concurrent commits. Commits that change parents are made one after the other. */
const commitsAtOnce = 4
/** The most problems of one response. */
const maxProblems = 100

/**
 * Writes the tree of each item to main of its node. Returns the outcomes in the order of the items, without those that
 * `refused` was called with.
 *
 * Up to 1,000 nodes are checked together before anything is written. Such a slice is written as a whole or not at all,
 * unless a crash or a concurrent change comes between two commits. More nodes are written in several slices, new nodes
 * first, and an edge may lead to a node of a later slice. With `existing: 'update'`, a repeated call completes an
 * interrupted one.
 *
 * @throws AppError as authorizeOrg, node_exists, pull_request_required, quota_exceeded
 * @throws ValidationError the rules that items break
 * @throws GitError storage_*, busy; the reason of `deps.draining`, between two slices
 */
export async function writeBatch(
  ctx: Ctx<Person>,
  at: OrgAt,
  nodes: readonly BatchNode[],
  options: BatchOptions,
): Promise<BatchOutcome[]> {
  const access = await authorizeOrg(ctx, at, 'editor')
  const outcomes = new Map<string, BatchOutcome>()
  const [coming, lost, overridden] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const noted = { coming, lost, overridden, guarded: new Map<string, TitledPage>() }
  const batch: Batch = { deps: ctx, actor: ctx.actor, access, options, outcomes, ...noted }
  const items = await itemsOf(batch, nodes)
  for (const { node, existing } of items) if (!existing) batch.coming.add(node.id)
  // An import keeps the slices that fit.
  if (!options.refused) await requireRoomForNodes(ctx, at.org_id, batch.coming.size)
  for (let from = 0; from < items.length; ) {
    if (from > 0) ctx.draining.throwIfAborted()
    const slice = await buildSlice(batch, items, from)
    await writeSlice(batch, slice.built)
    from = slice.end
    options.onProgress?.(from, items.length)
  }
  return nodes.flatMap(({ id }) => outcomes.get(id) ?? [])
}

async function buildSlice(
  batch: Batch,
  items: readonly Item[],
  from: number,
): Promise<{ readonly built: Built[]; readonly end: number }> {
  const built: Built[] = []
  let bytes = 0
  let end = from
  for (; end < items.length && built.length < nodesAtOnce && bytes < bytesAtOnce; end++) {
    const item = items[end]
    const one = item && (await buildIfSound(batch, item))
    if (one) built.push(one)
    for (const { content } of one?.objects.values() ?? []) bytes += content.length
    await nextTurn()
  }
  return { built, end }
}

async function writeSlice(batch: Batch, all: readonly Built[]): Promise<void> {
  const { deps, access, options, outcomes } = batch
  const { built, order } = await judge(batch, all)
  const changed = built.filter(({ isSame }) => !isSame)
  const updated = changed.filter(({ existing }) => existing !== undefined)
  // An import reports each page.
  if (!options.refused) await requireFreePlaces(deps, access.org, async () => changed.map(placeOf))
  for (const { node, head, isSame } of built)
    if (isSame && head !== null) outcomes.set(node.id, { id: node.id, head, status: 'unchanged' })
  await create(
    batch,
    changed.filter(({ existing }) => existing === undefined),
  )
  const contents = contentsOf(built)
  const inOrder = new Map(order.map((id, at) => [id, at]))
  const parenting = updated.filter(({ node }) => inOrder.has(node.id))
  for (const one of parenting.sort((a, b) => (inOrder.get(a.node.id) ?? 0) - (inOrder.get(b.node.id) ?? 0)))
    await update(batch, one, contents)
  const turn = pLimit(commitsAtOnce)
  const others = updated.filter(({ node }) => !inOrder.has(node.id))
  await allDone(others.map((one) => turn(() => update(batch, one, contents))))
  deps.log.debug({ orgId: access.org.id, nodes: all.length, changed: changed.length }, 'a batch was written')
}

/** The page of an item, at its new place. */
function placeOf({ node: { id, title }, head, move }: Built): TitledPage {
  const parents = move.after.parents.map((parent) => parent.id)
  return { id, title, act: head === null ? 'create' : 'change', parents }
}

/**
 * Skips new pages of an import that rules guard at their places. Pages below them are skipped too. If the import
 * overrides rules, notes them instead. Other items are refused when they are written.
 */
async function withoutGuarded(batch: Batch, all: readonly Built[]): Promise<readonly Built[]> {
  const { deps, access, options, guarded, overridden, coming } = batch
  const items = new Map(all.flatMap((one) => (one.existing ? [] : [[one.node.id, one] as const])))
  const skipped = new Set<Built>()
  for (const one of await findGuarded(deps, access.org, async () => [...guarded.values(), ...all.map(placeOf)])) {
    const { page } = one
    const item = items.get(page.id)
    if (item === undefined) continue
    if (options.override !== undefined && mayOverride(one)) overridden.add(page.id)
    else {
      skipped.add(item)
      guarded.set(page.id, page)
      coming.delete(page.id)
      leaveOut(batch, item.at, page.id, await placeError(deps, access.org, one))
    }
  }
  return all.filter((one) => !skipped.has(one))
}

/** Skips items that break a rule, until no item breaks one. @throws ValidationError if there is no `refused` */
async function judge(
  batch: Batch,
  all: readonly Built[],
): Promise<{ built: readonly Built[]; order: readonly string[] }> {
  const { deps, access, options, coming, lost } = batch
  const free = options.refused ? await withoutGuarded(batch, all) : all
  for (let built = await withoutLost(batch, free); ; ) {
    const moves = built.map(({ move }) => move)
    const { problems, order } = await judgeGraph(deps.index.read, access.org.id, moves, coming)
    const found = new Map<number, Problem[]>()
    const contents = contentsOf(built)
    for (const { at, draft, move, problems: own } of built) {
      const typed = await findTypeProblems(deps, access.org.id, draft.repo, move.before, move.after, contents)
      const all = [...own, ...typed.map((problem) => problemOf(locateAt(options, at), problem))]
      if (all.length > 0) found.set(at, all)
    }
    for (const problem of problems)
      found.set(problem.at, [...(found.get(problem.at) ?? []), problemOf(locateAt(options, problem.at), problem)])
    if (found.size === 0) return { built, order }
    if (!options.refused) throw new ValidationError([...found.values()].flat().slice(0, maxProblems))
    for (const { at, node } of built)
      if (found.has(at)) {
        coming.delete(node.id)
        lost.add(node.id)
      }
    for (const [at, own] of found) options.refused(at, own)
    built = await withoutLost(
      batch,
      built.filter(({ at }) => !found.has(at)),
    )
  }
}

/** Builds the items again that have edges to skipped items. */
async function withoutLost(batch: Batch, built: readonly Built[]): Promise<readonly Built[]> {
  const { options, lost } = batch
  if (!options.without || lost.size === 0) return built
  const kept: Built[] = []
  for (const one of built) {
    const { parents, connections } = one.move.after
    const leads = parents.some(({ id }) => lost.has(id)) || connections.some(({ target }) => lost.has(target))
    if (leads) options.without(one.at, lost)
    const again = leads ? await buildIfSound(batch, one) : one
    if (again) kept.push(again)
  }
  return kept
}

async function create(batch: Batch, built: readonly Built[]): Promise<void> {
  if (built.length === 0) return
  const { deps, actor, access, options, coming, outcomes } = batch
  const moves = built.map(({ move }) => move)
  const overriddenBy = ({ node }: Built) => (batch.overridden.has(node.id) ? options.override : undefined)
  const make = async (take: TakeRoom): Promise<readonly CompleteNode[]> => {
    const nodes: CompleteNode[] = []
    for (const one of built) {
      // Lists are sorted by the time of this.
      nodes.push(await completeNode({ ...deps, actor }, access.org.id, newNodeOf(one, overriddenBy(one))))
      await nextTurn()
    }
    await take(nodes.flatMap(({ objects }) => [...objects.values()]))
    const judge = async () => {
      const { problems } = await judgeGraph(deps.index.read, access.org.id, moves, coming)
      refuse(options, problems)
    }
    await createOrder(access.org.id, { deps, actor, nodes, judge })
    return nodes
  }
  const { id: orgId } = access.org
  const nodes = await withRoomForNodes(deps, orgId, built.length, () => withByteRoom(deps, orgId, make))
  for (const { id, head = '' } of nodes) outcomes.set(id, { id, head, status: 'created' })
}

function newNodeOf({ node, draft, objects, tree, move }: Built, override: string | undefined): NewNode {
  const { id, title, message } = node
  const hasParents = move.after.parents.length > 0
  const made = { id, isFresh: false, title, draft, objects, first: { tree, message }, hasParents }
  return { ...made, ...(override !== undefined && { override }) }
}

/** Locates the paths of one item. */
function locateAt({ locate }: BatchOptions, at: number): Locate {
  return (path, steps) => locate(at, path, steps)
}

function refuse(options: BatchOptions, problems: readonly BatchProblem[]): void {
  if (problems.length > 0)
    throw new ValidationError(
      problems.slice(0, maxProblems).map((problem) => problemOf(locateAt(options, problem.at), problem)),
    )
}

/** Maps ids to new contents. New types count for all edges of the batch. */
function contentsOf(built: readonly Built[]): Coming {
  return new Map(built.map(({ node, move }) => [node.id, move.after]))
}

async function update(batch: Batch, { at, node, existing, head, move }: Built, coming: Coming): Promise<void> {
  if (!existing) return
  const { deps, actor, options, outcomes } = batch
  const { id } = node
  try {
    const commit = await commitToBranch({ ...deps, actor }, existing, {
      branch: requireBranchName('main'),
      message: node.changeMessage ?? node.message,
      expectedHead: head === null ? null : undefined,
      addsParents: newParents(move.before, move.after).length > 0,
      build: node.build,
      locate: locateAt(options, at),
      coming,
    })
    outcomes.set(id, { id, head: commit, status: 'updated' })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'no_changes') {
      leaveOut(batch, at, id, error)
      return
    }
    outcomes.set(id, { id, head: readRef(existing.repo, main) ?? '', status: 'unchanged' })
  }
}

/** A batch while it is written. */
interface Batch {
  readonly deps: Services
  readonly actor: Person
  readonly access: OrgAccess
  readonly options: BatchOptions
  /** Ids of the new nodes that are not refused. */
  readonly coming: Set<string>
  /** New pages that rules guard, by id. Pages below them are refused too, also in later slices. */
  readonly guarded: Map<string, TitledPage>
  /** Ids of new pages that are created in spite of rules. */
  readonly overridden: Set<string>
  /** Ids of the items that are refused. */
  readonly lost: Set<string>
  readonly outcomes: Map<string, BatchOutcome>
}

interface Item {
  /** Its position in the batch. */
  readonly at: number
  readonly node: BatchNode
  /** Undefined for a new node. */
  readonly existing: NodeAccess | undefined
}

/** The items, new nodes first. @throws AppError node_exists */
async function itemsOf(batch: Batch, nodes: readonly BatchNode[]): Promise<Item[]> {
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
    // After a crash, the index may not have it yet.
    const isThere = owner === org.id || (owner === undefined && repoExists(nodeRepo(deps.store, org.id, node.id)))
    try {
      if (owner !== undefined && !isThere) throw nodeTakenError(node.id)
      const existing = isThere ? await authorizeNodeInOrg(deps, access, node.id, 'editor') : undefined
      const list = existing ? known : fresh
      list.push({ at, node, existing })
    } catch (error) {
      leaveOut(batch, at, node.id, error)
    }
    if (isThere) await nextTurn()
  }
  return [...(await withoutTrashed(batch, fresh)), ...known]
}

/** Skips items whose id a node in the trash keeps. */
async function withoutTrashed(batch: Batch, fresh: readonly Item[]): Promise<readonly Item[]> {
  const { deps, access } = batch
  for (let left = fresh; ; ) {
    const trashed = await findTrashed(deps, access.org.id, new Set(left.map(({ node }) => node.id)))
    const item = left.find(({ node }) => node.id === trashed?.id)
    if (!trashed || !item) return left
    leaveOut(batch, item.at, item.node.id, trashed.error)
    left = left.filter((one) => one !== item)
  }
}

/**
 * Reports an item that cannot be written to `refused`.
 *
 * @throws the error itself, if there is no `refused`, or if the error concerns more than this item
 */
function leaveOut({ options: { refused, locate }, lost }: Batch, at: number, id: string, error: unknown): void {
  const isOfItem =
    error instanceof ValidationError ||
    error instanceof AppError ||
    (error instanceof GitError && !isStorageError(error))
  if (!refused || !isOfItem) throw error
  const problem = { loc: locate(at, ''), msg: error.message, type: 'value_error' as const }
  lost.add(id)
  refused(at, error instanceof ValidationError ? error.problems : [problem])
}

/** An item with its tree, in memory. */
interface Built extends Item, Pick<NewNode, 'draft' | 'objects'> {
  /** The tree of main. */
  readonly tree: Oid
  readonly head: Oid | null
  readonly move: NodeMove
  readonly problems: readonly Problem[]
  readonly isSame: boolean
}

/** Builds an item. Undefined if its repository is damaged, which is logged and reported in the response. */
async function buildIfSound(batch: Batch, item: Item): Promise<Built | undefined> {
  try {
    return await build(batch, item)
  } catch (error) {
    leaveOut(batch, item.at, item.node.id, error)
    return undefined
  }
}

/** Builds an item in memory. If its tree cannot be built, the previous one counts. */
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
    for (const problem of findContentProblems(known, await readContent(draft.repo, tree)))
      found.push(problemOf(locateAt(options, at), problem))
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    found.push(...error.problems)
  }
  const after = tree === before ? known : await readContent(draft.repo, tree)
  const move = { at, id: node.id, before: known, after }
  const isSame = tree === before && head !== null
  return { ...item, draft, objects, tree: tree ?? '', head, move, problems: found, isSame }
}
