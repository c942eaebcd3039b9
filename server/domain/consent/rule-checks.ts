/** Refuses moves of branches with rules other than merges, for all writers but pushes. */
import type { Role } from '../../../index/derived/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'
import { excerpt } from '../format/excerpt.ts'
import { branchName, branchRef, branchRefs, main } from '../layout.ts'
import type { NodeAt } from '../targets.ts'
import { rulesNow } from './branch-rules.ts'
import { findMakerProblem } from './wording.ts'

/**
 * Refuses a commit to a branch that moves only by merges. The caller holds the branch's lock.
 *
 * @param head null: the branch has no commit yet
 * @throws AppError pull_request_required
 */
export async function requireFreeBranch(
  deps: Deps,
  { orgId, nodeId }: NodeAt,
  ref: string,
  head: string | null,
): Promise<void> {
  if (head === null || !ref.startsWith(branchRefs)) return
  const branch = branchName(ref)
  if ((await rulesNow(deps, orgId, nodeId, branch)).length > 0) throw pullRequestRequired(branch)
}

export function pullRequestRequired(branch: string): AppError {
  const detail = `In this organisation \`${excerpt(branch)}\` can only be changed by merging a pull request`
  return new AppError('pull_request_required', detail)
}

/** Checks who may create a branch with rules. `main` is free until it has a commit. @throws AppError forbidden */
export async function requireMaker(deps: Deps, at: NodeAt, branch: string, role: Role | null): Promise<void> {
  if (branchRef(branch) === main) return
  const rules = await rulesNow(deps, at.orgId, at.nodeId, branch)
  const refusal = rules.length === 0 ? undefined : findMakerProblem(rules, branch, role)
  if (refusal !== undefined) throw new AppError('forbidden', `In this organisation ${refusal}`)
}
