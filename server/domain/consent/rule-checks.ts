/** Refuses moves of branches with rules other than merges, for all writers but pushes. */
import type { Oid } from '../../../gitstore/repo.ts'
import { isProposed } from '../../../index/derived/node-queries.ts'
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { findOrgWithRights, type NodeAccess, type Rights, requireRole, requireSignedIn } from '../access.ts'
import type { Person } from '../actor.ts'
import { findOrg } from '../indexing/freshness.ts'
import { branchName, branchRef, branchRefs, main } from '../layout.ts'
import type { Ctx, Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'
import { rulesOfBranch } from './branch-rules.ts'
import { findStartProblem } from './branch-starts.ts'
import { placeError, pullRequestRequired } from './place-checks.ts'
import { rulesOfMove } from './places.ts'
import { findMakerProblem } from './wording.ts'

/** The branch of a commit. */
interface CommittedBranch {
  readonly ref: string
  /** Null: the branch has no commit yet. */
  readonly head: string | null
}

/** Refuses a commit to a branch that moves only by merges. @throws AppError pull_request_required */
export async function requireFreeBranch(
  deps: Services,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  branch: CommittedBranch,
): Promise<void> {
  const org = await findOrg(deps, orgId)
  if (org) await requireFree(deps, org, nodeId, branch)
}

/**
 * Checks a commit under the lock of its branch. The rules come first, then the caller and the role. The organisation
 * and the role are read at once. Returns the organisation.
 *
 * @throws AppError pull_request_required, invalid_token, token_scope, forbidden
 */
export async function recheckCommit(
  ctx: Ctx<Person>,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  branch: CommittedBranch,
): Promise<OrgRow | undefined> {
  const found = await findOrgWithRights(ctx, orgId, ctx.actor)
  if (found) await requireFree(ctx, found.org, nodeId, branch)
  await requireSignedIn(ctx.credentials.read, ctx.actor)
  requireRole(found ?? { role: null, person: ctx.actor }, { ref: branch.ref })
  return found?.org
}

async function requireFree(deps: Services, org: OrgRow, nodeId: string, { ref, head }: CommittedBranch): Promise<void> {
  if (head === null || !ref.startsWith(branchRefs)) return
  const branch = branchName(ref)
  const rules = await rulesOfBranch(deps, org, nodeId, branch)
  if (rules.length > 0) throw pullRequestRequired(branch, rules)
}

/** The reason why only a change set moves this branch. Undefined for `main` of a node that is there, and for others. */
export function findClosedMain({ node }: Pick<NodeAccess, 'node'>, ref: string): string | undefined {
  return ref === main && isProposed(node) ? 'this page is proposed; its `main` comes with its change set' : undefined
}

/** Refuses to write to `main` of a proposed node. @throws AppError pull_request_required */
export function requireOpenMain(access: Pick<NodeAccess, 'node'>, ref: string): void {
  if (findClosedMain(access, ref) === undefined) return
  throw new AppError('pull_request_required', 'This page is proposed; its `main` comes with its change set')
}

/**
 * Checks who may create a branch with rules, and where. `main` creates the page. An owner who is signed in may begin
 * another branch anywhere, if its rules let owners override them.
 *
 * @throws AppError forbidden, pull_request_required
 */
export async function requireMaker(
  deps: Services,
  access: NodeAccess,
  { branch, to }: { readonly branch: string; readonly to: Oid },
  { role, person }: Rights,
): Promise<void> {
  const org = (await findOrg(deps, access.org.id)) ?? access.org
  const rules = await rulesOfMove(deps, access, org, branch, { from: null, to })
  if (rules.length === 0) return
  if (branchRef(branch) === main) throw await placeError(deps, org, { page: { ...access.node, act: 'create' }, rules })
  const refusal = findMakerProblem(rules, branch, role)
  if (refusal !== undefined) throw new AppError('forbidden', `In this organisation ${refusal}`)
  const mayOverride = role === 'owner' && person?.access === undefined
  if (mayOverride && rules.every(({ rule }) => rule.override === 'owner')) return
  const problem = await findStartProblem(deps, access, org, { branch, rules, to })
  if (problem === undefined) return
  const detail = `In this organisation ${problem}, such as \`main\`. Begin it there and propose the rest, or ask an owner`
  throw new AppError('pull_request_required', detail)
}

/**
 * Requires what an override of rules needs: an owner, a session and a reason.
 *
 * @param loc the part of the request that has the reason
 * @throws AppError token_scope, forbidden; ValidationError
 */
export function requireOverridable(actor: Person, rights: Rights, reason: string, loc: readonly string[]): void {
  if (actor.access !== undefined) {
    const what = actor.connection === undefined ? 'A personal access token' : 'A connected program'
    throw new AppError('token_scope', `${what} cannot override rules; sign in with your password`)
  }
  requireRole(rights, 'owner')
  if (reason.trim() === '') throw invalid(loc, 'Say why the rules are overridden')
}
