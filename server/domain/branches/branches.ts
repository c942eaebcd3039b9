/** Branches: refs with rules. */

import { isGitError } from '../../../gitstore/errors.ts'
import { branchNameProblem, parseBranchName } from '../../../gitstore/names.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { AppError, invalid, type ValidationError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import { authorizeNode, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { requireMaker, requireOpenMain } from '../consent/rule-checks.ts'
import { withIntent } from '../event-log/note-intents.ts'
import { timeOf } from '../format/signatures.ts'
import { reloadNode } from '../indexing/freshness.ts'
import { indexNode, readResult, tryIndexNode } from '../indexing/index-node.ts'
import { branchName, branchRef, branchRefs, main } from '../layout.ts'
import { type Page, pageOf, slice } from '../pagination.ts'
import type { Ctx } from '../services.ts'
import type { Body, BranchAt, NodeAt, Path, Query } from '../targets.ts'
import { locksOf, requireUnproposed } from './agent-moves.ts'
import { problemsOf, refuseProblems } from './branch-commits.ts'
import { shownMessage, withinPage } from './commit-views.ts'
import { PushRejectedError, StaleRefError } from './push-context.ts'
import { countRefRoom, tooManyRefsMessage } from './ref-rules.ts'
import { applyRefUpdates } from './ref-updates.ts'
import { findHead, readTree, resolveCommit } from './revisions.ts'
import { audienceOf, seesRef } from './visible-refs.ts'

export interface Branch {
  readonly name: string
  readonly head: Oid
  readonly message: string
  /** Present if `message` is not complete. */
  readonly message_truncated?: true
  readonly updated_at: string
}

/** Lists the branches that the caller sees, sorted by name. */
export async function listBranches(ctx: Ctx, { path, query }: Path<NodeAt> & Query<Page>) {
  const access = await authorizeNode(ctx, path, 'public')
  const { repo, role } = access
  const visible = [...listRefs(repo, branchRefs)].filter(([ref]) => seesRef(audienceOf(role), ref))
  const headOf = (ref: string, head: Oid) => (ref === main ? (findHead(access, 'main') ?? head) : head)
  const branches = await Promise.all(
    slice(visible, query).map(([ref, head]) => toBranch(repo, branchName(ref), headOf(ref, head))),
  )
  return { branches: withinPage(branches), ...pageOf(query, visible.length) }
}

export async function getBranch(ctx: Ctx, { path }: Path<BranchAt>): Promise<Branch> {
  const access = await authorizeNode(ctx, path, 'public')
  const head = findHead(access, path.branch)
  if (!head) throw new AppError('branch_not_found', 'Branch not found')
  return toBranch(access.repo, path.branch, head)
}

/**
 * Creates a branch at a revision, by default at main.
 *
 * @throws AppError branch_exists, branch_name_taken, too_many_branches, forbidden (a rule names who creates it),
 *   pull_request_required (a rule demands where it begins)
 * @throws ValidationError git or Grove refuses the name, or the start does not exist
 */
export async function createBranch(
  ctx: Ctx<Person>,
  { path, body }: Path<NodeAt> & Body<{ name: string; from?: string }>,
): Promise<Branch> {
  const ref = branchRef(body.name)
  const access = await authorizeNode(ctx, path, { ref })
  const { repo } = access
  const name = parseBranchName(body.name)
  if (!name)
    throw invalid(['body', 'name'], branchNameProblem(body.name) ?? 'A branch cannot have this name', body.name)
  requireOpenMain(access, ref)
  const from = await resolveCommit(access, body.from ?? 'main')
  if (!from) throw noSuchStart(body.from ?? 'main')
  const tree = await readTree(repo, from)
  // The node's own content is always accepted on another branch.
  refuseProblems(await problemsOf(ctx, access, repo, ref, ref === main ? null : tree, tree), () => ['body', 'from'])
  await updateRefs(ctx.store, locksOf(ctx.actor, repo, ref), async (current) => {
    if (current({ repo, ref })) throw new AppError('branch_exists', 'A branch with this name already exists')
    const rights = await recheckAccess(ctx, path.org_id, { ref })
    await requireUnproposed(ctx, access, ref, current)
    await requireMaker(ctx, access, { branch: name, to: from }, rights)
    if (countRefRoom(repo, 'heads') <= 0)
      throw new AppError('too_many_branches', `The node ${tooManyRefsMessage('heads')}`)
    return withIntent(ctx, ctx.actor, { moves: [{ repo, ref, to: from }], value: undefined })
  }).catch((error: unknown) => {
    if (!isGitError(error, 'ref_name_taken')) throw error
    const detail = `A branch that conflicts with "${name}" exists: Git cannot have both a and a/b`
    throw new AppError('branch_name_taken', detail)
  })
  await tryIndexNode(ctx, path.org_id, path.node_id)
  return readResult(ctx, () => toBranch(repo, name, from))
}

/**
 * Deletes a branch, as a push does. Pull requests from it close and keep their heads. Pull requests into it are
 * retargeted to main or close.
 */
export async function deleteBranch(ctx: Ctx<Person>, { path }: Path<BranchAt>): Promise<void> {
  const ref = branchRef(path.branch)
  for (let access = await authorizeNode(ctx, path, { ref }); ; access = await reloadNode(ctx, access, { ref })) {
    if (parseBranchName(path.branch) === undefined) throw new AppError('branch_not_found', 'Branch not found')
    const from = readRef(access.repo, ref)
    if (from === null) throw new AppError('branch_not_found', 'Branch not found')
    if (ref === main) throw new AppError('branch_protected', '`main` cannot be deleted')
    const { refused } = await applyRefUpdates(ctx, access, [{ ref, from, to: null }], 'all or none')
    const cause = refused.get(ref)
    if (cause === undefined) break
    if (cause instanceof StaleRefError) continue
    if (cause instanceof PushRejectedError) throw new AppError('branch_protected', cause.message)
    throw cause
  }
  await readResult(ctx, () => indexNode(ctx, path.org_id, path.node_id))
}

function noSuchStart(from: string): ValidationError {
  const msg = `No branch, tag or commit of this node is called "${excerpt(from)}"`
  return invalid(['body', 'from'], msg, from)
}

async function toBranch(repo: Repo, name: string, head: Oid): Promise<Branch> {
  const commit = await readCommit(repo, head)
  return { name, head, ...shownMessage(commit), updated_at: timeOf(commit.committer) }
}
