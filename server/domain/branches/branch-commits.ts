/** Commits to a branch under its lock, after all checks, and updates the index. */

import type { BranchName } from '../../../gitstore/names.ts'
import { newObjectBatch, type ObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { updateRefs, withRefLock } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { AppError, type Problem, ValidationError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import type { NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { type TakeRoom, withByteRoom } from '../byte-quota.ts'
import { requireFreePlaces, type TitledPage } from '../consent/place-checks.ts'
import { recheckCommit, requireOpenMain } from '../consent/rule-checks.ts'
import { withIntent } from '../event-log/note-intents.ts'
import { parsePointer } from '../format/json-pointer.ts'
import { refuseLongText } from '../format/limits.ts'
import { readContent } from '../format/node-format.ts'
import type { ContentProblem } from '../format/path-problem.ts'
import { signature } from '../format/signatures.ts'
import { normalizeLineEnds } from '../format/text-rules.ts'
import { refuseOwnVia, withVia } from '../format/trailers.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { indexedBranches } from '../indexing/indexed-branches.ts'
import { encodeNote } from '../indexing/recovered.ts'
import { branchRef, graphRef, main, orgRepo } from '../layout.ts'
import type { Ctx, Services } from '../services.ts'
import { trailerOf } from '../via.ts'
import { locksOf, requireUnproposed } from './agent-moves.ts'
import { findContentProblems, findGraphProblems, findLossProblems, newParents } from './content-rules.ts'
import { findTree, readTree } from './revisions.ts'
import { type Coming, findTypeProblems } from './type-rules.ts'

export interface CommitRequest {
  readonly branch: BranchName
  readonly message: string
  /** The head that the caller expects. Null: no commit yet; undefined: any. */
  readonly expectedHead?: string | null | undefined
  /** True if the change can add a parent edge. It then holds the graph lock. */
  readonly addsParents: boolean
  /** Builds the new tree on the draft from the head's tree (null: none). */
  readonly build: (draft: ObjectBatch, tree: Oid | null) => Promise<Oid>
  /** The part of the request that a problem at that path belongs to. */
  readonly locate: Locate
  /** The other nodes that the same request writes. Their new types count. */
  readonly coming?: Coming
}

/** @param steps the place in node.json that breaks a rule of a type */
export type Locate = (path: string, steps?: readonly (string | number)[]) => Problem['loc']

/**
 * Commits to a branch by compare-and-swap under its lock. The index is up to date when this returns.
 *
 * @throws AppError head_moved, branch_not_found, no_changes, pull_request_required, forbidden, token_scope,
 *   quota_exceeded
 * @throws ValidationError the content breaks a rule, or the message is too long
 */
export async function commitToBranch(ctx: Ctx<Person>, access: NodeAccess, request: CommitRequest): Promise<Oid> {
  const ref = branchRef(request.branch)
  requireOpenMain(access, ref)
  refuseLongText(['body', 'message'], request.message)
  refuseOwnVia(['body', 'message'], request.message)
  await readAhead(ctx, access, ref)
  return withByteRoom(ctx, access.org.id, (take) => commitUnderLock(ctx, access, request, take))
}

async function commitUnderLock(
  ctx: Ctx<Person>,
  access: NodeAccess,
  request: CommitRequest,
  take: TakeRoom,
): Promise<Oid> {
  const ref = branchRef(request.branch)
  const { repo, org, node } = access
  return withGraphLockIf(ctx, access, ref === main && request.addsParents, () =>
    updateRefs(ctx.store, locksOf(ctx.actor, repo, ref), async (current) => {
      const head = current({ repo, ref })
      requireHead(head, request.expectedHead, ref)
      const ruled = await recheckCommit(ctx, { org_id: org.id, node_id: node.id }, { ref, head })
      await requireUnproposed(ctx, access, ref, current)
      const draft = newObjectBatch(repo)
      const before = head === null ? null : await readTree(repo, head)
      const tree = await request.build(draft, before)
      if (tree === before) throw new AppError('no_changes', 'The branch already has exactly this content')
      refuseProblems(await problemsOf(ctx, access, draft.repo, ref, before, tree, request.coming), request.locate)
      if (ref === main && ruled)
        await requireFreePlaces(ctx, ruled, () => placesOf(draft.repo, node, { before, after: tree }))
      const person = signature(ctx.actor, ctx.now())
      const parents = head === null ? [] : [head]
      const message = withVia(normalizeLineEnds(request.message), trailerOf(ctx, ctx.actor))
      const oid = await draft.commit({ tree, parents, author: person, committer: person, message })
      await take(draft.unsaved())
      return withIntent(ctx, ctx.actor, { moves: [{ repo, ref, to: oid }], value: oid, save: draft.save })
    }),
  ).then(async (oid) => {
    await tryIndexNode(ctx, org.id, node.id)
    return oid
  })
}

/** Returns the page at its new place. None if it stays where it is. Its first tree creates it. */
async function placesOf(
  repo: Repo,
  { id, title }: NodeAccess['node'],
  { before, after }: { readonly before: Oid | null; readonly after: Oid },
): Promise<TitledPage[]> {
  if (before !== null && !(await addsParents(repo, before, after))) return []
  const { parents } = await readContent(repo, after)
  return [{ id, title, act: before === null ? 'create' : 'change', parents: parents.map((parent) => parent.id) }]
}

/** Reads the head's content into the cache before the branch is locked. Thousands of edges take seconds. */
async function readAhead(deps: Services, { repo, org, node }: NodeAccess, ref: string): Promise<void> {
  const head = (await indexedBranches(deps.index.read, { ...node, epoch: org.epoch })).get(ref)
  await readContent(repo, await findTree(repo, head ?? null))
}

/** Runs `work`, with the graph locked if `held`. The node is indexed before the lock is released. */
export async function withGraphLockIf<T>(
  deps: Services,
  { org, node }: Pick<NodeAccess, 'org' | 'node'>,
  held: boolean,
  work: () => Promise<T>,
): Promise<T> {
  return held ? withGraphLock(deps, org.id, node.id, work) : work()
}

/** Runs `work` with the graph locked. Indexes the node before it releases the lock, if the index can be written. */
async function withGraphLock<T>(deps: Services, orgId: string, nodeId: string, work: () => Promise<T>): Promise<T> {
  return withGraphLockOn(deps, orgId, [nodeId], async () => {
    const value = await work()
    await tryIndexNode(deps, orgId, nodeId)
    return value
  })
}

/** Runs `work` with the graph locked. `work` indexes the nodes that it changes; if this process dies, recovery does. */
export async function withGraphLockOn<T>(
  deps: Services,
  orgId: string,
  nodeIds: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const graph = { repo: orgRepo(deps.store, orgId), ref: graphRef }
  return withRefLock(deps.store, graph, encodeNote(orgId, nodeIds), work)
}

/**
 * Problems of the tree `after` under the rules of the branch, which is at `before`. Syntax is checked on every branch;
 * on main also node.json, which must stay, the graph, and the rules of the node's type.
 */
export async function problemsOf(
  deps: Pick<Services, 'index' | 'store'>,
  { org, node }: Pick<NodeAccess, 'org' | 'node'>,
  repo: Repo,
  ref: string,
  before: Oid | null,
  after: Oid | null,
  coming?: Coming,
): Promise<ContentProblem[]> {
  const content = await readContent(repo, after)
  const known = await readContent(repo, before)
  const problems = findContentProblems(known, content)
  if (ref !== main) return problems
  const lost = findLossProblems(known, content)
  const graph = await findGraphProblems(deps.index.read, org.id, node.id, known, content)
  const typed = await findTypeProblems(deps, org.id, repo, known, content, coming)
  return [...problems, ...lost, ...graph, ...typed]
}

/** True if moving main from one tree to another adds a parent edge. */
export async function addsParents(repo: Repo, before: Oid | null, after: Oid): Promise<boolean> {
  return newParents(await readContent(repo, before), await readContent(repo, after)).length > 0
}

function requireHead(head: Oid | null, expected: string | null | undefined, ref: string): void {
  if (expected !== undefined && expected !== head) {
    const now = head === null ? 'without a commit' : `at ${head}`
    throw headMovedError(`The branch has moved since you read it (now ${now}); nothing was changed`, head)
  }
  if (head !== null || (expected === null && ref === main)) return
  const hint =
    ref === main ? 'The node has no commit yet; send "expected_head": null to create the first one' : 'Branch not found'
  throw new AppError('branch_not_found', hint)
}

/** AppError head_moved, with the current head if there is one. */
export function headMovedError(detail: string, head: Oid | null): AppError {
  return new AppError('head_moved', detail, head ? { current_head: head } : {})
}

export function refuseProblems(problems: readonly ContentProblem[], locate: CommitRequest['locate']): void {
  if (problems.length === 0) return
  throw new ValidationError(problems.map((problem) => problemOf(locate, problem)))
}

/** A content problem as a problem of the request. */
export function problemOf(locate: Locate, { path, reason, typed }: ContentProblem): Problem {
  if (typed === undefined)
    return { loc: locate(path), msg: `${excerpt(path)}: ${reason}`, type: 'value_error', ctx: { path, reason } }
  const steps = typed.pointer === undefined ? [] : (parsePointer(typed.pointer) ?? [])
  const { says, ...ctx } = typed
  return { loc: locate(path, steps), msg: says, type: 'type_rule', ctx: { path, ...ctx } }
}
