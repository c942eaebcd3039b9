/** Undoes a merged pull request with a new one that reverts its changes. */

import { isGitError } from '../../../gitstore/errors.ts'
import { revert } from '../../../gitstore/history/revert.ts'
import { type BranchName, branchNameProblem, parseBranchName } from '../../../gitstore/names.ts'
import { findCommit } from '../../../gitstore/objects/commits.ts'
import type { Decision } from '../../../gitstore/refs/ref-transaction.ts'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, type NodeAccess, recheckAccess } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { problemsOf, refuseProblems } from '../branches/branch-commits.ts'
import { countRefRoom, pathProblems, tooManyRefsMessage } from '../branches/ref-rules.ts'
import { readTree } from '../branches/revisions.ts'
import { requireBytesLeft } from '../byte-quota.ts'
import { requireMaker } from '../consent/rule-checks.ts'
import { signature } from '../format/signatures.ts'
import { withVia } from '../format/trailers.ts'
import { branchRef, branchRefs } from '../layout.ts'
import { openPullsAt } from '../ledger/pull-ledger.ts'
import type { Ctx, RequestCtx, Services } from '../services.ts'
import type { Body, Path, PullAt } from '../targets.ts'
import { trailerOf } from '../via.ts'
import { semaphore } from './branch-updates.ts'
import { changeLedger } from './ledger-changes.ts'
import { type PullRequest, sentence } from './pull-state.ts'
import { appendOpened, findPullRow, pullAfter, refusePair } from './pulls.ts'

export interface UndoInput {
  readonly title?: string
  readonly source_branch?: string
}

/**
 * Opens a pull request that undoes a merged one. Its source is a new branch with one commit on the target's head. The
 * branch and the pull request appear together, or neither does.
 *
 * @throws AppError not_merged, target_branch_missing, merge_conflict with `paths`, too_large, too_many_branches, busy
 * @throws AppError no_changes if nothing is left to undo, pull_request_exists with the `number` of an open undo
 * @throws AppError branch_exists, branch_name_taken, quota_exceeded; the reason of `signal`, after which nothing has changed
 * @throws ValidationError the branch name or the resulting content is invalid
 */
export async function undoPull(
  ctx: RequestCtx<Person>,
  { path, body }: Path<PullAt> & Body<UndoInput>,
): Promise<PullRequest> {
  const { signal } = ctx.request
  const access = await authorizeNode(ctx, path, 'editor')
  const named = body.source_branch === undefined ? undefined : requireName(body.source_branch)
  const pull = await findPullRow(ctx, path)
  if (pull.status !== 'merged')
    throw new AppError('not_merged', `Only a merged pull request can be undone; this one is ${pull.status}`)
  await requireBytesLeft(ctx, path.org_id)
  const onto = targetHead(access, pull)
  await refuseSecond(ctx, access, access.node.ledger, pull, named)
  const title = body.title ?? titleOfUndo(pull)
  const head = await semaphore.run({ caller: callerOf(ctx), signal }, () =>
    reverted(ctx, access, pull, { actor: ctx.actor, onto, title, signal }),
  )
  const branch = named ?? freeName(access, pull.number)
  await refuseInvalid(ctx, access, branch, { onto, head })
  signal.throwIfAborted()
  const number = await open(ctx, access, { pull, named, branch, head, title })
  return pullAfter(ctx, access, { ...path, number })
}

interface Opening {
  /** The merged pull request. */
  readonly pull: PullRow
  /** The branch that the request names. */
  readonly named: BranchName | undefined
  readonly branch: BranchName
  readonly head: Oid
  readonly title: string
}

/** Creates the branch and opens the pull request in one transaction. Returns its number. */
async function open(ctx: Ctx<Person>, access: NodeAccess, opening: Opening): Promise<number> {
  const { pull, named, branch, head, title } = opening
  const { repo } = access
  const source = { repo, ref: branchRef(branch) }
  const decide = async (ledger: Oid): Promise<Decision<number>> => {
    await refuseSecond(ctx, access, ledger, pull, named)
    const rights = await recheckAccess(ctx, access.org.id, 'editor')
    await requireMaker(ctx, access, { branch, to: head }, rights)
    if (readRef(repo, source.ref)) throw new AppError('branch_exists', `A branch ${excerpt(branch)} already exists`)
    if (countRefRoom(repo, 'heads') <= 0)
      throw new AppError('too_many_branches', `The node ${tooManyRefsMessage('heads')}`)
    const { append, number } = await appendOpened(ctx, access, ledger, {
      title,
      description: descriptionOf(pull),
      source_branch: branch,
      target_branch: pull.target_branch,
      is_draft: false,
      reviewers: [],
      source: head,
      target: targetHead(access, pull),
    })
    return { moves: [{ ...source, to: head }, append], value: number }
  }
  return changeLedger(ctx, access, 'editor', decide, [source]).catch((error: unknown) => {
    if (!isGitError(error, 'ref_name_taken')) throw error
    const detail = `A branch that conflicts with ${excerpt(branch)} exists: Git cannot have both a and a/b`
    throw new AppError('branch_name_taken', detail)
  })
}

interface Reverting {
  readonly actor: Person
  /** The target's head. */
  readonly onto: Oid
  readonly title: string
  readonly signal: AbortSignal
}

/** Reverts what the pull request changed since it forked from its target. Returns the new commit. */
export async function reverted(
  deps: Services,
  { repo, history }: NodeAccess,
  pull: PullRow,
  { actor, onto, title, signal }: Reverting,
): Promise<Oid> {
  const { number, source_commit: last, target_commit: target } = pull
  if (!(await findCommit(repo, last)) || !(await findCommit(repo, target)))
    throw new AppError('no_changes', 'The commits of the pull request no longer exist, so it cannot be undone')
  // After a push of a merge commit, the target had commits that the source lacked. They stay.
  const before = (await history.mergeBase(target, last)) ?? target
  const text = `${title}\n\nThis reverts the changes of proposal ${number}, from ${before} to ${last}.`
  const message = withVia(text, trailerOf(deps, actor))
  try {
    const person = signature(actor, deps.now())
    const head = await revert(repo, { before, last, onto, person, message, signal })
    if (head !== undefined) return head
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) throw new AppError('too_large', tooLarge, {}, { cause: error })
    if (!isGitError(error, 'merge_conflict')) throw error
    const { paths } = error.facts
    throw new AppError('merge_conflict', 'Later commits changed the same paths; nothing was changed', { paths })
  }
  throw new AppError('no_changes', 'The target branch has nothing of this pull request that could be undone')
}

const tooLarge = 'The folders that the pull request changed are too large to undo it here. Revert with Git and push'

/** Refuses content that breaks a rule of every branch. For rules of main, the new pull request has merge_problems. */
async function refuseInvalid(
  deps: Services,
  access: NodeAccess,
  branch: BranchName,
  { onto, head }: { readonly onto: Oid; readonly head: Oid },
): Promise<void> {
  const { repo } = access
  const [before, after] = [await readTree(repo, onto), await readTree(repo, head)]
  const paths = await pathProblems(repo, before, after)
  const content = await problemsOf(deps, access, repo, branchRef(branch), before, after)
  refuseProblems([...paths, ...content], () => ['body'])
}

/** @throws ValidationError git or Grove refuses the name */
function requireName(name: string): BranchName {
  const problem = branchNameProblem(name)
  const branch = parseBranchName(name)
  if (branch) return branch
  throw invalid(['body', 'source_branch'], problem ?? 'A branch cannot have this name', name)
}

/** @throws AppError target_branch_missing */
function targetHead({ repo }: NodeAccess, { target_branch }: PullRow): Oid {
  const branch = parseBranchName(target_branch)
  const head = branch ? readRef(repo, branchRef(branch)) : null
  if (!head) throw new AppError('target_branch_missing', sentence.target_branch_missing)
  return head
}

/**
 * Refuses to undo a pull request again while that is proposed. Without a branch in the request, every open pull request
 * from a branch with a name of `freeName` counts.
 *
 * @throws AppError pull_request_exists
 */
async function refuseSecond(
  deps: Services,
  access: NodeAccess,
  ledger: Oid,
  { number, target_branch }: PullRow,
  named: BranchName | undefined,
): Promise<void> {
  if (named !== undefined) return refusePair(deps, access, ledger, { source_branch: named, target_branch })
  const own = new RegExp(`^undo-${number}(-\\d+)?$`)
  const open = await openPullsAt(deps.index.read, { repo: access.repo, nodeId: access.node.id }, ledger)
  const first = open.find((record) => record.target_branch === target_branch && own.test(record.source_branch))
  if (!first) return
  const detail = `Pull request ${first.number} is already open to undo pull request ${number}`
  throw new AppError('pull_request_exists', detail, { number: first.number })
}

/** Returns the first of `undo-7`, `undo-7-2`, `undo-7-3`, … that is free. */
function freeName({ repo }: NodeAccess, number: number): BranchName {
  const taken = new Set([...listRefs(repo, branchRefs).keys()].map((ref) => ref.slice(branchRefs.length).split('/')[0]))
  for (let count = 1; ; count++) {
    const name = parseBranchName(count === 1 ? `undo-${number}` : `undo-${number}-${count}`)
    if (name && !taken.has(name)) return name
  }
}

/** Returns the title of the proposal that undoes another. */
export function titleOfUndo({ title }: Pick<PullRow, 'title'>): string {
  const letters = [...`Undo: ${title}`]
  return letters.length <= limits.title ? letters.join('') : `${letters.slice(0, limits.title - 1).join('')}…`
}

/** Markdown. Pages show the link as one to the pull request's page. */
function descriptionOf({ org_id, node_id, number }: PullRow): string {
  return `This undoes [proposal ${number}](/orgs/${org_id}/nodes/${node_id}/pull-requests/${number}).`
}
