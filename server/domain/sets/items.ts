/** Builds the items of a change set in memory: new pages, changes and deletions. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type BranchName, parseBranchName } from '../../../gitstore/names.ts'
import {
  newObjectBatch,
  newObjectDraft,
  type ObjectBatch,
  type ObjectDraft,
} from '../../../gitstore/objects/object-batch.ts'
import { emptyTree } from '../../../gitstore/objects/trees.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, PendingObject, Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { AppError, ValidationError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import { branchPrefixOf, type NodeAccess, type OrgAccess, requireRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { headMovedError, type Locate, problemOf, refuseProblems } from '../branches/branch-commits.ts'
import { applyFileChanges, type Change, fileChanges } from '../branches/commit-changes.ts'
import { findContentProblems } from '../branches/content-rules.ts'
import { readTree } from '../branches/revisions.ts'
import { type NodeContent, readContent } from '../format/node-format.ts'
import { signature } from '../format/signatures.ts'
import { normalizeLineEnds } from '../format/text-rules.ts'
import { withVia } from '../format/trailers.ts'
import { authorizeNodeInOrg } from '../indexing/freshness.ts'
import type { TrashedNode } from '../indexing/stored-repositories.ts'
import { branchRef, main, nodeRepo } from '../layout.ts'
import type { Act } from '../ledger/set-ledger.ts'
import { type InputNode, readItems, type SentNode } from '../nodes/batch-input.ts'
import type { NewNode } from '../nodes/new-nodes.ts'
import { nodeExistsError, refuseTaken } from '../nodes/taken-ids.ts'
import { findCopy, notInTrash } from '../nodes/trash.ts'
import type { Ctx } from '../services.ts'
import { trailerOf } from '../via.ts'
import { type BuiltPage, requireValid } from './required.ts'

/** A new page, or the change of a page. */
interface SentItem extends SentNode {
  /** The head of `main` that the change was made for. */
  readonly expected_head?: Oid
  /** Changes of single files, after the fields. */
  readonly changes?: readonly Change[]
}

interface SentDeletion {
  readonly node_id: string
  readonly expected_head?: Oid
}

/** The items that a request puts into a set. */
export interface ItemsInput {
  readonly nodes?: readonly SentItem[]
  readonly deletions?: readonly SentDeletion[]
  /** Pages in the trash that come back. */
  readonly restorations?: readonly { readonly node_id: string }[]
  /** Refuses content that could not merge, if all rules had their consent. */
  readonly require_mergeable?: boolean
  /** Open pull requests into `main`. */
  readonly pull_requests?: readonly { readonly node_id: string; readonly number: number }[]
}

/** A page that the set creates. */
export interface NewItem {
  readonly act: 'create'
  readonly node: NewNode
  readonly move: Differing
}

/** A new commit on the head of `main`, for a new branch. */
export interface ChangeItem {
  readonly act: 'change' | 'delete' | 'restore'
  readonly access: NodeAccess
  readonly from: Oid
  readonly head: Oid
  readonly draft: ObjectBatch
  readonly move: Differing
}

/** An open pull request that becomes an item. */
export interface JoinedItem {
  readonly act: 'join'
  readonly access: NodeAccess
  readonly number: number
}

/** The outcome for an element of `nodes`. */
export interface Outcome {
  readonly id: string
  readonly ref?: string
  /** `unchanged`: the page has this content already, so the set has no item for it. */
  readonly status: 'proposed' | 'unchanged'
}

/** A deleted page that comes back. */
export interface RestoredItem {
  readonly act: 'return'
  readonly copy: TrashedNode
}

export interface BuiltItems {
  readonly created: readonly NewItem[]
  readonly changed: readonly ChangeItem[]
  readonly joined: readonly JoinedItem[]
  readonly restored: readonly RestoredItem[]
  readonly outcomes: readonly Outcome[]
}

/** The place of the items in the body, and the default of their messages. */
interface Frame {
  readonly list: readonly (string | number)[]
  /** The message of commits without one. */
  readonly title: string
}

/**
 * Builds the items in memory. Each branch is checked for syntax only: `can_merge` and the merge judge the rest.
 *
 * @throws AppError node_exists, node_not_found, head_moved, too_many_items; ValidationError
 */
export async function buildItems(
  ctx: Ctx<Person>,
  access: OrgAccess,
  input: ItemsInput,
  frame: Frame,
): Promise<BuiltItems> {
  const { nodes: sent = [], deletions = [], restorations = [], pull_requests: pulls = [] } = input
  refuseManyItems(sent.length + deletions.length + restorations.length + pulls.length)
  refuseRepeated(input, frame)
  const at = { org_id: access.org.id }
  const { nodes, locate, worded } = await readItems(ctx, at, sent, [...frame.list, 'nodes'])
  return worded(
    (async () => {
      const created: NewItem[] = []
      const changed: ChangeItem[] = []
      const outcomes: Outcome[] = []
      const built: BuiltPage[] = []
      for (const [position, node] of nodes.entries()) {
        const asked = sent[position] ?? {}
        const loc: Locate = (path, steps) => locate(position, path, steps)
        const item = repoExists(nodeRepo(ctx.store, access.org.id, node.id))
          ? await buildChange(ctx, access, node, { asked, frame, loc, position })
          : await buildNew(ctx, access, node, { asked, frame, loc, position })
        if (item?.act === 'create') created.push(item)
        else if (item) changed.push(item)
        if (item) built.push({ id: node.id, act: item.act, repo: repoOf(item), move: item.move, loc })
        outcomes.push({
          id: node.id,
          ...(asked.ref !== undefined && { ref: asked.ref }),
          status: item ? 'proposed' : 'unchanged',
        })
        await nextTurn()
      }
      await refuseTaken(
        ctx,
        access.org.id,
        created.map(({ node }) => node.id),
      )
      for (const [position, one] of deletions.entries()) {
        const item = await buildDeletion(ctx, access, one)
        const loc: Locate = () => [...frame.list, 'deletions', position]
        changed.push(item)
        built.push({ id: one.node_id, act: item.act, repo: repoOf(item), move: item.move, loc })
      }
      if (input.require_mergeable) await requireValid(ctx, access, built)
      refuseManyEdges([...created, ...changed].map(({ move }) => move))
      const joined: JoinedItem[] = []
      for (const { node_id, number } of pulls)
        joined.push({ act: 'join', access: await authorizeNodeInOrg(ctx, access, node_id, 'contributor'), number })
      const restored: RestoredItem[] = []
      for (const { node_id } of restorations) restored.push(await findRestored(ctx, access, node_id))
      return { created, changed, joined, restored, outcomes }
    })(),
  )
}

/** The repository with the objects of the item. */
function repoOf(item: NewItem | ChangeItem): Repo {
  return item.act === 'create' ? item.node.draft.repo : item.draft.repo
}

/** @throws AppError too_many_items */
export function refuseManyItems(count: number): void {
  if (count <= limits.changeSetItems) return
  const detail = `A change set can have ${limits.changeSetItems} pages, and this one would have ${count}. Split it into several`
  throw new AppError('too_many_items', detail)
}

/** The content of a page before and after its item. */
interface Differing {
  readonly before: NodeContent
  readonly after: NodeContent
}

/**
 * Refuses changes of too many edges and tags. One transaction writes their rows, and other writers wait for it.
 *
 * @throws AppError too_many_items
 */
export function refuseManyEdges(pages: readonly Differing[]): void {
  let count = 0
  for (const { before, after } of pages) {
    const [had, has] = [namesIn(before), namesIn(after)]
    for (const name of has) if (!had.has(name)) count++
    for (const name of had) if (!has.has(name)) count++
  }
  if (count <= limits.changeSetEdges) return
  const detail = `A change set can add and remove ${limits.changeSetEdges} edges and tags, and this one would change ${count}. Split it into several`
  throw new AppError('too_many_items', detail)
}

/** Names of the edges and tags. A connection with another target is another edge. */
function namesIn({ parents, connections, tags }: NodeContent): ReadonlySet<string> {
  return new Set([
    ...parents.map(({ id }) => `parent ${id}`),
    ...connections.map(({ id, target }) => `connection ${id} ${target}`),
    ...tags.map((tag) => `tag ${tag}`),
  ])
}

/** Refuses two items for one page. @throws ValidationError */
function refuseRepeated(
  { nodes = [], deletions = [], restorations = [], pull_requests: pulls = [] }: ItemsInput,
  { list }: Frame,
): void {
  const named: [string | undefined, readonly (string | number)[]][] = [
    ...nodes.map(({ id }, at): (typeof named)[number] => [id, ['nodes', at, 'id']]),
    ...deletions.map(({ node_id: id }, at): (typeof named)[number] => [id, ['deletions', at, 'node_id']]),
    ...restorations.map(({ node_id: id }, at): (typeof named)[number] => [id, ['restorations', at, 'node_id']]),
    ...pulls.map(({ node_id: id }, at): (typeof named)[number] => [id, ['pull_requests', at, 'node_id']]),
  ]
  const seen = new Set<string>()
  const problems = named.flatMap(([id, loc]) => {
    if (id === undefined) return []
    const isRepeated = seen.has(id.toLowerCase())
    seen.add(id.toLowerCase())
    const msg = 'Another item of this change set is about the same page'
    return isRepeated ? [{ loc: [...list, ...loc], msg, type: 'value_error' as const, input: id }] : []
  })
  if (problems.length > 0) throw new ValidationError(problems)
}

interface Asked {
  readonly asked: SentItem
  readonly frame: Frame
  readonly loc: Locate
  readonly position: number
}

async function buildNew(
  ctx: Ctx<Person>,
  { org }: OrgAccess,
  { id, build, ...node }: InputNode,
  { asked, frame, loc, position }: Asked,
): Promise<NewItem> {
  if (asked.expected_head !== undefined)
    throw new AppError('node_not_found', `There is no page ${excerpt(id)} to change; a new page is sent by its fields`)
  const objects = new Map<Oid, PendingObject>()
  const draft = newObjectDraft(nodeRepo(ctx.store, org.id, id), objects)
  const within = [...frame.list, 'nodes', position, 'changes']
  const tree = await withChanges(draft, await build(draft, null), asked.changes, within)
  const move = { before: await readContent(draft.repo, null), after: await readContent(draft.repo, tree) }
  refuseProblems(findContentProblems(move.before, move.after), loc)
  const message = asked.message ?? frame.title
  const isFresh = asked.id === undefined
  return {
    act: 'create',
    node: { id, isFresh, title: node.title, draft, objects, first: { tree, message }, hasParents: false },
    move,
  }
}

async function buildChange(
  ctx: Ctx<Person>,
  org: OrgAccess,
  node: InputNode,
  { asked, frame, loc, position }: Asked,
): Promise<ChangeItem | undefined> {
  const access = await authorizeNodeInOrg(ctx, org, node.id, 'contributor')
  const from = requireMain(access, asked.expected_head)
  const draft = newObjectBatch(access.repo)
  const before = await readTree(access.repo, from)
  const within = [...frame.list, 'nodes', position, 'changes']
  const tree = await withChanges(draft, await node.build(draft, before), asked.changes, within)
  if (tree === before) return undefined
  const move = { before: await readContent(draft.repo, before), after: await readContent(draft.repo, tree) }
  const problems = findContentProblems(move.before, move.after)
  if (problems.length > 0) throw new ValidationError(problems.map((problem) => problemOf(loc, problem)))
  const head = await commitOn(ctx, draft, from, tree, asked.message ?? frame.title)
  return { act: 'change', access, from, head, draft, move }
}

/** Applies changes of single files. @param within where they are in the body */
function withChanges(
  draft: ObjectDraft,
  tree: Oid,
  changes: readonly Change[] | undefined,
  within: readonly (string | number)[],
): Promise<Oid> | Oid {
  return changes ? applyFileChanges(draft, tree, fileChanges(changes, within), within) : tree
}

export async function buildDeletion(
  ctx: Ctx<Person>,
  org: OrgAccess,
  { node_id: nodeId, expected_head: expected }: SentDeletion,
): Promise<ChangeItem> {
  const access = await authorizeNodeInOrg(ctx, org, nodeId, 'contributor')
  const from = requireMain(access, expected)
  const draft = newObjectBatch(access.repo)
  const tree = await draft.tree([])
  const before = await readContent(access.repo, await readTree(access.repo, from))
  return {
    act: 'delete',
    access,
    from,
    head: await commitOn(ctx, draft, from, tree, `Delete ${access.node.title}`),
    draft,
    move: { before, after: await readContent(draft.repo, tree) },
  }
}

/** @throws AppError head_moved, target_branch_missing */
function requireMain({ repo }: NodeAccess, expected: Oid | undefined): Oid {
  const head = readRef(repo, main)
  if (expected !== undefined && expected !== head)
    throw headMovedError(`\`main\` has moved since you read it (now at ${head}); nothing was proposed`, head)
  if (head === null) throw new AppError('target_branch_missing', 'The page has no commit on `main` yet')
  return head
}

/** Finds the newest copy in the trash. The trash is for maintainers. @throws AppError node_not_found, node_exists */
export async function findRestored(ctx: Ctx<Person>, access: OrgAccess, nodeId: string): Promise<RestoredItem> {
  requireRole(access, 'maintainer')
  const at = { org_id: access.org.id, node_id: nodeId }
  if (repoExists(nodeRepo(ctx.store, at.org_id, nodeId))) throw nodeExistsError(at.org_id, nodeId)
  const copy = await findCopy(ctx.store, at)
  if (copy === undefined || readRef(copy.repo, main) === null) throw notInTrash()
  return { act: 'return', copy }
}

export function commitOn(ctx: Ctx<Person>, draft: ObjectDraft, from: Oid, tree: Oid, message: string): Promise<Oid> {
  const person = signature(ctx.actor, ctx.now())
  const text = withVia(normalizeLineEnds(message), trailerOf(ctx, ctx.actor))
  return draft.commit({ tree, parents: [from], author: person, committer: person, message: text })
}

/** The act of an item. Before: the tree of `main`. Null: there is none. */
export function actOf(before: Oid | null, after: Oid | null): Act {
  if (before === null) return 'create'
  // Only a deleted page has a main without files.
  if (before === emptyTree) return 'restore'
  return after === emptyTree ? 'delete' : 'change'
}

/** Returns the name of the branch that an item of the set gets. */
export function branchOfItem(access: OrgAccess, setId: string, isFree: (branch: BranchName) => boolean): BranchName {
  for (let count = 1; ; count++) {
    const end = count === 1 ? '' : `-${count}`
    const name = parseBranchName(`${branchPrefixOf(access) ?? ''}set-${setId.slice(-12)}${end}`)
    if (name !== undefined && isFree(name)) return name
  }
}

/** True if the page has no such branch. */
export function isFreeIn({ repo }: NodeAccess): (branch: BranchName) => boolean {
  return (branch) => readRef(repo, branchRef(branch)) === null
}
