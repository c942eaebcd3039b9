/** Creates nodes whose trees are built. Writes their repositories, gives them their names, and indexes them. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isGitError } from '../../../gitstore/errors.ts'
import type { BranchName } from '../../../gitstore/names.ts'
import { type StagedRepos, stageRepos } from '../../../gitstore/new-repos.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import type { Oid, PendingObject } from '../../../gitstore/repo.ts'
import { removeRepo } from '../../../gitstore/repo-folders.ts'
import type { NewNodeRows } from '../../../index/derived/new-nodes.ts'
import { type Need, orgIsGone, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { withGraphLockOn } from '../branches/branch-commits.ts'
import { findGuarded, mayOverride, placeError, type TitledPage } from '../consent/place-checks.ts'
import { noteIntents } from '../event-log/note-intents.ts'
import { readContent } from '../format/node-format.ts'
import { signature } from '../format/signatures.ts'
import { withVia } from '../format/trailers.ts'
import { indexNewNodes, tryIndexNode } from '../indexing/index-node.ts'
import { newNodeRows } from '../indexing/node-rows.ts'
import { withNodeIntent } from '../indexing/recovered.ts'
import { branchRef, ledgerRef, main, nodeRepo, orgFolder } from '../layout.ts'
import { addEvents, type PullRecord, startLedger } from '../ledger/ledger.ts'
import type { Ctx, Services } from '../services.ts'
import { trailerOf } from '../via.ts'
import { nodeExistsError, refuseTaken, withIdLock } from './taken-ids.ts'

/** A node to create. */
export interface NewNode {
  readonly id: string
  /** True if the service has just made the id. No other node has it then. */
  readonly isFresh: boolean
  /** The title in the ledger. */
  readonly title: string
  readonly draft: ObjectDraft
  /** The objects of the draft. */
  readonly objects: ReadonlyMap<Oid, PendingObject>
  /** The tree of its first commit, or its last commit if it has several. Undefined: it has none. */
  readonly first: { readonly tree: Oid; readonly message: string } | { readonly head: Oid } | undefined
  /** True if its tree may have parents, and it is on main. */
  readonly hasParents: boolean
  /** Why an owner creates it in spite of rules that guard it. */
  readonly override?: string
  /** Set for a page that a change set proposes. Its first commit is on a branch, and `main` does not exist. */
  readonly proposed?: ProposedNode
}

/** The proposal of a new page. */
interface ProposedNode {
  /** The id of the change set. */
  readonly set: string
  readonly branch: BranchName
  /** Returns the open pull request of the branch. */
  readonly pull: (head: Oid) => PullRecord
}

/** A new node with all its objects. */
export interface CompleteNode extends NewNode {
  /** The commit of main, or of the proposed branch. */
  readonly head: Oid | undefined
  readonly ledger: Oid
}

/** Adds the commit and the ledger to the node's objects. */
export async function completeNode(ctx: Ctx<Person>, orgId: string, node: NewNode): Promise<CompleteNode> {
  const { id, title, draft, first, proposed, override: reason } = node
  const created_at = ctx.now().toISOString()
  const head = first && ('head' in first ? first.head : await commitFirst(ctx, draft, first, created_at))
  const by = { id: ctx.actor.id, name: ctx.actor.name }
  const overridden = reason !== undefined && { overridden: { by, at: created_at, reason } }
  const record = { id, org_id: orgId, title, created_at, ...overridden }
  if (!proposed || head === undefined) return { ...node, head, ledger: await startLedger(draft, record, ctx.actor) }
  // An older version shows the title of the ledger, because it does not know that the page is only proposed.
  const hidden = { ...record, title: '', state: 'proposed', proposed_in: proposed.set }
  const begun = await startLedger(draft, hidden, ctx.actor)
  const ledger = await addEvents(draft, begun, [{ event: 'open', record: proposed.pull(head) }])
  return { ...node, head, ledger }
}

function commitFirst(
  ctx: Ctx<Person>,
  draft: ObjectDraft,
  { tree, message }: { readonly tree: Oid; readonly message: string },
  created_at: string,
): Promise<Oid> {
  const person = signature(ctx.actor, created_at)
  const text = withVia(message, trailerOf(ctx, ctx.actor))
  return draft.commit({ tree, parents: [], author: person, committer: person, message: text })
}

/** Nodes that are created together or not at all. */
export interface Order {
  readonly deps: Services
  readonly actor: Person
  readonly nodes: readonly CompleteNode[]
  /** Throws if a rule no longer holds. Runs with the graph locked if one of the nodes has parents. */
  readonly judge: () => Promise<void>
  /** The role that it needs. Default: editor. */
  readonly need?: Need
  /** The change that the nodes belong to. Such an order is not written together with others. */
  readonly whole?: WholeChange
}

/** A change that is made after its new nodes have their names. Nobody knows them before. */
interface WholeChange {
  make(): Promise<void>
  /** True if it was made, although `make` threw. Else the nodes are removed again. */
  isMade(): Promise<boolean>
}

/** The rows of its nodes with one commit, or the reason of its refusal. */
export type OrderOutcome = PromiseSettledResult<readonly NewNodeRows[]>

/**
 * Creates the nodes of one order.
 *
 * @throws AppError node_exists, forbidden, pull_request_required, org_not_found (it was deleted in the meantime); GitError
 *   storage_*, busy
 */
export async function createOrder(orgId: string, order: Order): Promise<readonly NewNodeRows[]> {
  const [outcome] = await createOrders(orgId, order.deps, [order])
  if (outcome?.status === 'rejected') throw outcome.reason
  return outcome?.value ?? []
}

/**
 * Creates the nodes of several orders. The renames are the commit points. A crash before the first one leaves folders
 * that the sweep removes. A crash between two leaves some of the nodes, each complete. An order that is refused leaves
 * the others as they are.
 *
 * @throws AppError org_not_found (it was deleted in the meantime), GitError storage_*, busy: for all orders
 */
export function createOrders(orgId: string, deps: Services, orders: readonly Order[]): Promise<OrderOutcome[]> {
  return writeOrders(orgId, deps, orders).catch(orgIsGone)
}

async function writeOrders(orgId: string, deps: Services, orders: readonly Order[]): Promise<OrderOutcome[]> {
  const all = orders.flatMap(({ nodes }) => nodes)
  const staged = stageRepos(orgFolder(deps.store, orgId), all.length)
  const rows = new Map<Order, readonly NewNodeRows[]>()
  const refused = new Map<Order, unknown>()
  const each = async (work: (order: Order) => Promise<void>): Promise<void> => {
    for (const order of orders)
      if (!refused.has(order))
        await work(order)
          .catch(orgIsGone)
          .catch((error: unknown) => {
            refused.set(order, error)
            for (const { id } of order.nodes) staged.drop(folderOf(id))
          })
  }
  try {
    await each(async (order) => void rows.set(order, await stageAll(staged, order.nodes)))
    await Promise.all([staged.sync(), ...orders.map((order) => noteOrder(orgId, order))])
    const publish = async () => {
      await each((order) => recheck(orgId, order))
      const left = orders.filter((order) => !refused.has(order))
      const [nodes, fresh] = [left.flatMap((one) => one.nodes), left.flatMap((one) => rows.get(one) ?? [])]
      const whole = left[0]?.whole
      if (nodes.length > 0) await publishAll({ deps, orgId, staged, ...(whole && { whole }) }, nodes, fresh)
    }
    const isChosen = all.some(({ isFresh }) => !isFresh)
    await withIntents(deps, orgId, all, isChosen ? () => withIdLock(deps, publish) : publish)
  } finally {
    await staged.close()
  }
  return orders.map((order) =>
    refused.has(order)
      ? { status: 'rejected', reason: refused.get(order) }
      : { status: 'fulfilled', value: rows.get(order) ?? [] },
  )
}

function folderOf(nodeId: string): string {
  return `${nodeId}.git`
}

function noteOrder(orgId: string, { deps, actor, nodes }: Order): Promise<void> {
  return noteIntents(
    deps,
    actor,
    nodes.flatMap(({ id, ledger, proposed, head }) => {
      const repo = nodeRepo(deps.store, orgId, id)
      const branch = proposed && head !== undefined ? [{ repo, ref: branchRef(proposed.branch), to: head }] : []
      return [{ repo, ref: ledgerRef, to: ledger }, ...branch]
    }),
  )
}

/** Runs `work`, with the graph locked if one of the nodes has parents. */
function withIntents(
  deps: Services,
  orgId: string,
  nodes: readonly CompleteNode[],
  work: () => Promise<void>,
): Promise<void> {
  const held = nodes.filter(({ hasParents }) => hasParents).map(({ id }) => id)
  if (held.length > 0) return withGraphLockOn(deps, orgId, held, work)
  const ids = nodes.map(({ id }) => id)
  return withNodeIntent(deps, orgId, ids, work)
}

/** Checks again, under the lock, that the order is allowed. */
async function recheck(orgId: string, { deps, actor, nodes, judge, need = 'editor' }: Order): Promise<void> {
  await judge()
  const overriding = new Set(nodes.flatMap(({ id, override }) => (override === undefined ? [] : id)))
  // A proposed page comes to its place by the merge of its set.
  const published = nodes.filter(({ proposed }) => proposed === undefined)
  const { org } = await recheckAccess({ ...deps, actor }, orgId, overriding.size > 0 ? 'owner' : need)
  for (const guarded of await findGuarded(deps, org, () => Promise.all(published.map(placeOf))))
    if (!overriding.has(guarded.page.id) || !mayOverride(guarded)) throw await placeError(deps, org, guarded)
  const chosen = nodes.filter(({ isFresh }) => !isFresh).map(({ id }) => id)
  if (chosen.length > 0) await refuseTaken(deps, orgId, chosen)
}

/** Returns the page with the parents of its tree. */
async function placeOf({ id, title, draft, first }: NewNode): Promise<TitledPage> {
  const tree = first && ('tree' in first ? first.tree : (await readCommit(draft.repo, first.head)).tree)
  const { parents } = await readContent(draft.repo, tree ?? null)
  return { id, act: 'create', title, parents: parents.map((parent) => parent.id) }
}

/** Writes the repositories. Returns the rows of those with one commit. */
async function stageAll(staged: StagedRepos, nodes: readonly CompleteNode[]): Promise<NewNodeRows[]> {
  const rows: NewNodeRows[] = []
  for (const [at, { id, draft, objects, first, head, ledger, proposed }] of nodes.entries()) {
    if (at > 0) await nextTurn()
    const ref = proposed ? branchRef(proposed.branch) : main
    const refs = new Map([...(head === undefined ? [] : [[ref, head] as const]), [ledgerRef, ledger]])
    const bytes = await staged.add(folderOf(id), { refs, objects })
    if (head !== undefined && first && 'tree' in first && !proposed)
      rows.push(await newNodeRows(draft.repo, ledger, head, bytes))
  }
  return rows
}

/** The place in which new repositories are published, and their change. */
interface Publishing extends Pick<Order, 'whole'> {
  readonly deps: Services
  readonly orgId: string
  readonly staged: StagedRepos
}

/** Publishes the nodes and indexes them. After a fault, the nodes published before it are also indexed. */
async function publishAll(
  { deps, orgId, staged, whole }: Publishing,
  nodes: readonly CompleteNode[],
  rows: readonly NewNodeRows[],
): Promise<void> {
  const published: string[] = []
  try {
    await staged.publish((name) => published.push(name.slice(0, -'.git'.length)))
    await whole?.make()
  } catch (error) {
    // If this process dies before, the sweep removes them.
    if (whole && !(await whole.isMade()))
      for (const id of published) await removeRepo(nodeRepo(deps.store, orgId, id).dir)
    for (const id of published) await tryIndexNode(deps, orgId, id)
    if (isGitError(error, 'repo_exists'))
      throw nodeExistsError(orgId, String(error.facts.name).slice(0, -'.git'.length))
    throw error
  }
  await indexNewNodes(deps, orgId, rows)
  const known = new Set(rows.map(({ node }) => node.id))
  for (const { id } of nodes) if (!known.has(id)) await tryIndexNode(deps, orgId, id)
}
