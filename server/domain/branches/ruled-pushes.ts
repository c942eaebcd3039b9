/**
 * Judges pushes to branches with rules. Such a branch moves only forward, to the head of an open pull request that may
 * merge. It is not deleted, and only the role that merges creates it, where such rules have
 * let commits in. The first commit of `main` creates the page, which rules can guard.
 */
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { RefCommand } from '../../../gitstore/transfer/proc-receive.ts'
import { findSetById } from '../../../index/derived/change-sets.ts'
import { listOpenPulls } from '../../../index/derived/pulls.ts'
import { excerpt } from '../../base/excerpt.ts'
import { recheckAccess } from '../access.ts'
import { rulesOfBranch } from '../consent/branch-rules.ts'
import { findStartProblem } from '../consent/branch-starts.ts'
import { judgeMerge, type PullJudgement } from '../consent/consent.ts'
import { type HeldRule, mergeRoleOf } from '../consent/judge.ts'
import { type TitledPage, wordRefusal } from '../consent/place-checks.ts'
import { rulesOfMove } from '../consent/places.ts'
import { findMakerProblem, type PullPage, toRefusal } from '../consent/wording.ts'
import { branchName, branchRef, branchRefs, main } from '../layout.ts'
import type { PullRecord } from '../ledger/ledger.ts'
import { fromRow } from '../ledger/pull-ledger.ts'
import { type LockedPush, type PushContext, PushRejectedError } from './push-context.ts'

/**
 * Checks the rules that need no lock. Compares the commits that the judgement under the lock needs.
 *
 * @throws PushRejectedError
 */
export async function checkRules({ deps, access }: PushContext, { ref, from, to }: RefCommand): Promise<void> {
  const { org, node, repo } = access
  const branch = branchName(ref)
  if (from === null || to === null) return
  const rules = await rulesOfMove(deps, access, org, branch, { from, to })
  if (rules.length === 0) return
  if (!(await access.history.contains(to, from))) throw notForwardError(branch)
  const open = (await listOpenPulls(deps.index.read, node.id)).map(fromRow)
  const heads = { ledger: node.ledger, from, to }
  for (const record of candidates(open, branch, to, (source) => readRef(repo, branchRef(source))))
    await judgeMerge(deps, access, record, rules, heads)
}

/**
 * Judges the move under the locks of the ref and the ledger.
 *
 * @throws PushRejectedError; AppError invalid_token, forbidden
 */
export async function checkLockedRules(context: LockedPush, { ref, from, to }: RefCommand): Promise<void> {
  if (!ref.startsWith(branchRefs)) return
  const { deps, person, access, rights, org, current, open, ledger } = context
  const branch = branchName(ref)
  const rules = await rulesOfMove(deps, access, org, branch, { from, to })
  if (rules.length === 0) return
  if (to === null) throw protectedError(branch)
  if (from === null && ref === main) throw await placeError(context, 'create', rules)
  if (from === null) {
    const refusal = findMakerProblem(rules, branch, rights.role)
    if (refusal !== undefined) throw new PushRejectedError(refusal, { logged: 'rules: the role cannot make it' })
    const problem = await findStartProblem(deps, access, org, { branch, rules, to })
    if (problem !== undefined)
      throw new PushRejectedError(problem, { linesOf: () => [startLine], logged: 'rules: where it begins' })
    return
  }
  // Before the lock there may have been no rule.
  if (!(await access.history.contains(to, from))) throw notForwardError(branch)
  const isHead = (source: string) => current({ repo: access.repo, ref: branchRef(source) })
  const into = open.filter(({ target_branch }) => target_branch === branch)
  const found = candidates(into, branch, to, isHead)
  if (found.length === 0) {
    const item = into.find((one) => one.change_set !== undefined && isHead(one.source_branch) === to)
    if (item) throw await inSetError(context, item)
    const isGuardedNow = (await rulesOfBranch(deps, org, access.node.id, branch)).length > 0
    throw isGuardedNow ? notProposedError(branch, into) : await placeError(context, 'change', rules)
  }
  await recheckAccess({ ...deps, actor: person }, org.id, mergeRoleOf(rules))
  let refused: { record: PullRecord; judgement: PullJudgement } | undefined
  for (const record of found) {
    const judgement = await judgeMerge(deps, access, record, rules, { ledger, from, to })
    if (judgement.reasons.length === 0) return
    refused ??= { record, judgement }
  }
  if (refused) throw refusedError(refused.record, refused.judgement)
}

async function placeError(
  { deps, org, access: { node } }: LockedPush,
  act: TitledPage['act'],
  rules: readonly HeldRule[],
): Promise<PushRejectedError> {
  const { reason } = await wordRefusal(deps, org, { act, title: node.title }, rules)
  return new PushRejectedError(reason, { linesOf: () => [proposeLine], logged: 'rules: the place is guarded' })
}

const proposeLine = 'Propose it: git push origin HEAD:sets/new'
const startLine = 'Begin it at `main` and propose the rest, or ask an owner to create it'

async function inSetError(
  { deps, org }: LockedPush,
  { number, change_set = '' }: PullRecord,
): Promise<PushRejectedError> {
  const set = await findSetById(deps.index.read, org.id, change_set)
  const named = set ? `change set ${set.number}` : 'its change set'
  return new PushRejectedError(`pull request ${number} merges with ${named}`, { logged: 'rules: in a change set' })
}

/** Returns the open pull requests into the branch that have this head, by number. Items merge only with their set. */
function candidates(
  open: readonly PullRecord[],
  branch: string,
  to: Oid,
  headOf: (source: string) => Oid | null,
): PullRecord[] {
  return open.filter(
    ({ is_draft, change_set, source_branch, target_branch }) =>
      !is_draft && change_set === undefined && target_branch === branch && headOf(source_branch) === to,
  )
}

function refusedError({ number }: PullRecord, judgement: PullJudgement): PushRejectedError {
  const [first = 'approvals_missing'] = judgement.reasons
  const { reason, lines } = toRefusal(first, judgement)
  const linesOf = (pageOf: PullPage) => [...lines, pageOf(number)]
  return new PushRejectedError(`pull request ${number}${reason}`, { linesOf, logged: `rules: ${first}` })
}

/** The most pull requests that a refusal names. */
const maxNamed = 5

function notProposedError(branch: string, into: readonly PullRecord[]): PushRejectedError {
  const reason = `${excerpt(branch)} of this organisation moves only to the head of an open pull request`
  const linesOf = (pageOf: PullPage) => [
    ...into.slice(0, maxNamed).map(({ number }) => `Pull request ${number}: ${pageOf(number)}`),
    ...(into.length > maxNamed ? [`and ${into.length - maxNamed} more`] : []),
  ]
  return new PushRejectedError(reason, { linesOf, logged: 'rules: no open pull request has this head' })
}

function notForwardError(branch: string): PushRejectedError {
  const reason = `${excerpt(branch)} only moves forward: rebase onto it, or merge it`
  return new PushRejectedError(reason, { logged: 'rules: the branch moves only forward' })
}

function protectedError(branch: string): PushRejectedError {
  const linesOf = () => ['A rule of the organisation protects it']
  return new PushRejectedError(`${excerpt(branch)} cannot be deleted`, { linesOf, logged: 'rules: cannot be deleted' })
}
