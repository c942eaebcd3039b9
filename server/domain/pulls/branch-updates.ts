/** Updates the branch of a pull request: rebases its commits onto the target. */
import { isGitError } from '../../../gitstore/errors.ts'
import { rebase } from '../../../gitstore/history/rebase.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { emptyTree } from '../../../gitstore/objects/trees.ts'
import { type RefName, updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, type NodeAccess, requireRole } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { addsParents, headMovedError, problemsOf, refuseProblems, withGraphLockIf } from '../branches/branch-commits.ts'
import { type Change, type FileChange, fileChanges } from '../branches/commit-changes.ts'
import { pathProblems } from '../branches/ref-rules.ts'
import { readTree } from '../branches/revisions.ts'
import { requireBytesLeft } from '../byte-quota.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import { readCommitMakers } from '../consent/commit-authors.ts'
import { recheckCommit, requireFreeBranch } from '../consent/rule-checks.ts'
import { withIntent } from '../event-log/note-intents.ts'
import { signature } from '../format/signatures.ts'
import { withVia } from '../format/trailers.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { branchRef, ledgerRef, main } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { appendPushed } from '../ledger/ledger.ts'
import type { Ctx, RequestCtx } from '../services.ts'
import type { Body, Path, PullAt } from '../targets.ts'
import { trailerOf } from '../via.ts'
import { type PullRequest, sentence, toPull } from './pull-state.ts'
import { findPullRow, pullAfter } from './pulls.ts'

/** Limits updates and undoing per process. Each may run several Git processes, one after the other. */
export const semaphore = createCallerSemaphore({
  all: { running: 2, waiting: 32 },
  person: { running: 1, waiting: 8 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many pull requests are being updated or undone; try again in a moment',
})

export interface UpdateInput {
  /** How the conflicts between two commits end. */
  readonly resolution?: {
    readonly expected_source_commit: string
    readonly expected_target_commit: string
    readonly changes: readonly Change[]
  }
}

/**
 * Rebases the source onto the target. Files of the resolution have its contents in the result.
 *
 * @throws AppError merge_conflict with `paths` (nothing moved), merged, closed, head_moved, branch_protected,
 *   source_branch_missing, target_branch_missing, too_many_commits, pull_request_required, busy, quota_exceeded
 * @throws AppError no_changes (nothing to resolve); the reason of `signal`, after which nothing moves
 * @throws ValidationError a change of the resolution is invalid, or its path is not one of the pull request
 */
export async function updatePullBranch(
  ctx: RequestCtx<Person>,
  { path, body: { resolution } }: Path<PullAt> & Body<UpdateInput>,
): Promise<PullRequest> {
  const { signal } = ctx.request
  const access = await authorizeNode(ctx, path, 'contributor')
  const { repo, history } = access
  const row = await findPullRow(ctx, path)
  requireRole(access, { ref: branchRef(row.source_branch) })
  if (row.status !== 'open') throw new AppError(row.status, `The pull request is ${row.status}`)
  const source: RefName = { repo, ref: branchRef(row.source_branch) }
  const ledger: RefName = { repo, ref: ledgerRef }
  const from = readRef(repo, source.ref)
  const onto = readRef(repo, branchRef(row.target_branch))
  if (!from) throw new AppError('source_branch_missing', sentence.source_branch_missing)
  if (!onto) throw new AppError('target_branch_missing', sentence.target_branch_missing)
  if (resolution) requireExpected(resolution, { from, onto })
  const files = resolution && fileChanges(resolution.changes, inResolution)
  if (await history.contains(from, onto)) {
    if (files) throw new AppError('no_changes', 'The source contains the target, so nothing is left to resolve')
    return toPull(ctx, access, row)
  }
  await requireRebasable(ctx, access, { source, from, onto })
  await requireBytesLeft(ctx, path.org_id)
  const head = await semaphore.run({ caller: callerOf(ctx), signal }, () =>
    rebased(ctx, access, { from, onto, files, signal }),
  )
  signal.throwIfAborted()
  const adds = source.ref === main && (await addsParents(repo, await readTree(repo, from), await readTree(repo, head)))
  await withGraphLockIf(ctx, access, adds, () =>
    updateRefs(ctx.store, [source, ledger], async (current) => {
      if (current(source) !== from)
        throw headMovedError('The source branch has moved since the update began; nothing was changed', current(source))
      const before = current(ledger) ?? access.node.ledger
      const to = await recheckUpdate(ctx, access, { source, from, onto, head, files }, before)
      const moves = [{ ...source, to: head }, ...(to === before ? [] : [{ ...ledger, to }])]
      return withIntent(ctx, ctx.actor, { moves, value: undefined })
    }),
  )
  await tryIndexNode(ctx, path.org_id, path.node_id)
  return pullAfter(ctx, access, path)
}

/**
 * Refuses a source that cannot be rebased.
 *
 * @throws AppError pull_request_required, branch_protected, too_many_commits
 */
export async function requireRebasable(
  ctx: Ctx<Person>,
  { org, node, history }: NodeAccess,
  { source, from, onto }: { readonly source: RefName; readonly from: Oid; readonly onto: Oid },
): Promise<void> {
  await requireFreeBranch(ctx, { org_id: org.id, node_id: node.id }, { ref: source.ref, head: from })
  if (source.ref === main && !(await history.contains(onto, from)))
    throw new AppError('branch_protected', '`main` cannot be rewritten')
  const { ahead } = await history.divergence(onto, from)
  if (ahead > limits.rebasedCommits)
    throw tooManyCommits(
      `The pull request has ${ahead} commits; the service can rebase at most ${limits.rebasedCommits}`,
    )
}

/** A source that moves to its rebased commits. */
interface Rebased {
  readonly source: RefName
  readonly from: Oid
  readonly onto: Oid
  readonly head: Oid
  readonly files?: readonly FileChange[] | undefined
}

/**
 * Judges the update again under the locks. Returns the ledger commit that has the users who pushed the commits.
 *
 * @throws AppError pull_request_required; ValidationError
 */
export async function recheckUpdate(
  ctx: Ctx<Person>,
  access: NodeAccess,
  { source, from, onto, head, files }: Rebased,
  ledger: Oid,
): Promise<Oid> {
  const { repo, org, node } = access
  await recheckCommit(ctx, { org_id: org.id, node_id: node.id }, { ref: source.ref, head: from })
  const after = await readTree(repo, head)
  refuseProblems(
    [
      ...(files ? await pathProblems(repo, await readTree(repo, onto), after) : []),
      ...(await problemsOf(ctx, access, repo, source.ref, await readTree(repo, from), after)),
    ],
    () => ['body'],
  )
  return keepPushers(ctx, access, ledger, { from, onto, head })
}

/** Records the users who pushed the commits for the rebased ones. Returns the ledger commit. */
async function keepPushers(
  ctx: Ctx<Person>,
  access: NodeAccess,
  ledger: Oid,
  { from, onto, head }: { readonly from: Oid; readonly onto: Oid; readonly head: Oid },
): Promise<Oid> {
  const { pushers } = await readCommitMakers(access, ledger, { target: onto, head: from })
  const commits = pushers.size === 0 ? [] : await access.history.between(onto, head)
  return appendPushed(access.repo, ledger, { commits, userIds: [...pushers], ...changedBy(ctx, ctx.actor) })
}

const inResolution = ['body', 'resolution', 'changes'] as const

/** The resolution was made for these commits. @throws AppError head_moved */
function requireExpected(
  { expected_source_commit, expected_target_commit }: NonNullable<UpdateInput['resolution']>,
  { from, onto }: Pick<Update, 'from' | 'onto'>,
): void {
  if (expected_source_commit !== from) throw headMovedError('The source branch has moved; nothing was changed', from)
  if (expected_target_commit !== onto) throw headMovedError('The target branch has moved; nothing was changed', onto)
}

interface Update {
  readonly from: Oid
  readonly onto: Oid
  /** The files of a resolution. */
  readonly files: readonly FileChange[] | undefined
  readonly signal: AbortSignal
}

/** Rebases the commits of the source. Returns the last one. @throws AppError merge_conflict, too_many_commits; ValidationError */
export async function rebased(
  ctx: Ctx<Person>,
  { repo, history }: NodeAccess,
  { from, onto, files, signal }: Update,
): Promise<Oid> {
  const committer = signature(ctx.actor, ctx.now())
  const reword = (message: string) => withVia(message, trailerOf(ctx, ctx.actor))
  const last = await readCommit(repo, from)
  if (last.tree === emptyTree) {
    // A deletion removes what main has now, also the files that its commits do not know.
    const draft = newObjectBatch(repo)
    const { tree, author } = last
    const head = await draft.commit({ tree, parents: [onto], author, committer, message: reword(last.message) })
    await draft.save()
    return head
  }
  const commits = [...(await history.between(onto, from))].reverse()
  const decided = files && { decided: new Map(files.map(({ path, bytes }) => [path, bytes])) }
  try {
    return await rebase(repo, { commits, onto, committer, reword, ...decided, signal })
  } catch (error) {
    if (isGitError(error, 'limit_exceeded'))
      throw tooManyCommits('The folders that the commits change are too large to rebase here')
    if (isGitError(error, 'path_conflict')) {
      const at = files?.findIndex(({ path }) => path === error.facts.path) ?? -1
      const says =
        at < 0 ? 'A file and a folder cannot have the same path' : 'The pull request does not change this path'
      throw invalid([...inResolution, Math.max(at, 0), 'path'], says, files?.[at]?.path)
    }
    if (!isGitError(error, 'merge_conflict')) throw error
    throw new AppError('merge_conflict', 'Both branches changed the same paths; nothing was changed', {
      paths: error.facts.paths,
    })
  }
}

function tooManyCommits(what: string): AppError {
  return new AppError('too_many_commits', `${what}. Rebase with Git and push`)
}
