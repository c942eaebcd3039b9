/**
 * A pull request as responses show it. Its state says whether it can merge, and why not. The state is exact, because it
 * is computed from refs, history and the types of the organisation.
 */
import { findCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { noOid, type Oid } from '../../../gitstore/repo.ts'
import { findSetById } from '../../../index/derived/change-sets.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import { AppError, type MergeRefusal } from '../../base/errors.ts'
import type { NodeAccess } from '../access.ts'
import { problemsOf } from '../branches/branch-commits.ts'
import { findContentProblems } from '../branches/content-rules.ts'
import { findTree } from '../branches/revisions.ts'
import { findTypeAdvice } from '../branches/type-rules.ts'
import { type Consent, judgePull, type PullJudgement, toConsent } from '../consent/consent.ts'
import type { ConsentReason, HeldRule } from '../consent/judge.ts'
import { rulesOfMove } from '../consent/places.ts'
import { type Change, mergeBaseOf } from '../consent/same-change.ts'
import {
  type Judged,
  type ReviewFacts,
  type ReviewRequest,
  readChecksByHead,
  readReviewFacts,
} from '../consent/verdicts.ts'
import { readContent } from '../format/node-format.ts'
import type { ContentProblem, TypeRuleProblem } from '../format/path-problem.ts'
import { laterOf, timeOf } from '../format/signatures.ts'
import { branchRef, main } from '../layout.ts'
import type { Overridden } from '../ledger/ledger.ts'
import type { Services } from '../services.ts'
import { toMergeProblem, toNodeProblem } from '../types/content-problems.ts'
import { provenance, type ShownVia } from './provenance.ts'

type MergeReason = MergeRefusal | 'mergeable'
/** The reasons that follow from refs and content, not from rules. */
type StateReason = Exclude<MergeReason, ConsentReason | 'in_change_set'>

const maxProblems = 100

export interface PullState {
  readonly source: Oid | null
  readonly target: Oid | null
  readonly ahead: number
  readonly behind: number
  /** The first 100 problems. */
  readonly problems: readonly ContentProblem[]
  /** The first 100 rules of advisory types that main would break more than now. */
  readonly advice: readonly TypeRuleProblem[]
  /** All reasons, the most important first; only `mergeable` if it can merge. */
  readonly reasons: readonly [StateReason, ...StateReason[]]
  /** The last change of the pull request or its source, in ISO 8601. */
  readonly updatedAt: string
}

type PullFacts = Pick<
  PullRow,
  | 'status'
  | 'is_draft'
  | 'source_branch'
  | 'target_branch'
  | 'source_commit'
  | 'target_commit'
  | 'ahead'
  | 'behind'
  | 'recorded_at'
> &
  Partial<Pick<PullRow, 'change_set'>>

/**
 * The current state. For a pull request that has ended, it is the state recorded at its end.
 *
 * @param judged the problems of an item, whose set has judged it together with the others
 */
export async function stateOf(
  deps: Pick<Services, 'index' | 'store'>,
  access: NodeAccess,
  pull: PullFacts,
  judged?: readonly ContentProblem[],
): Promise<PullState> {
  const { repo, history } = access
  const frozen = {
    source: pull.source_commit,
    target: pull.target_commit,
    ahead: pull.ahead,
    behind: pull.behind,
    problems: [],
    advice: [],
    updatedAt: pull.recorded_at,
  }
  if (pull.status === 'merged') return { ...frozen, reasons: ['already_merged'] }
  if (pull.status === 'closed') return { ...frozen, reasons: ['closed'] }
  const source = readRef(repo, branchRef(pull.source_branch))
  const target = readRef(repo, branchRef(pull.target_branch))
  const onto = target ?? targetBefore(pull)
  const { ahead, behind } = source && onto ? await history.divergence(onto, source) : pull
  const into = branchRef(pull.target_branch)
  const [before, after] = [await findTree(repo, target), await findTree(repo, source)]
  const problems = judged ?? (source ? await problemsOfPull(deps, access, pull, before, after) : [])
  const advice =
    source && into === main ? await findTypeAdvice(deps, access.org.id, repo, before, after) : frozen.advice
  const holds: [StateReason, boolean][] = [
    ['source_branch_missing', source === null],
    ['target_branch_missing', onto === null],
    ['no_commits_ahead', source !== null && target !== null && ahead === 0],
    ['diverged', source !== null && target !== null && ahead > 0 && behind > 0],
    ['invalid_content', problems.length > 0],
    ['draft', pull.is_draft === 1],
  ]
  const [first = 'mergeable', ...rest] = holds.filter(([, held]) => held).map(([reason]) => reason)
  const moved = source ? await findCommit(repo, source) : undefined
  const movedAt = moved ? timeOf(moved.committer) : ''
  const updatedAt = laterOf(movedAt, pull.recorded_at)
  const listed = { problems: problems.slice(0, maxProblems), advice: advice.slice(0, maxProblems) }
  return { source, target, ahead, behind, ...listed, reasons: [first, ...rest], updatedAt }
}

/** The problems of a pull request. The edges and types of an item are judged by its set, which knows the others. */
async function problemsOfPull(
  deps: Pick<Services, 'index' | 'store'>,
  access: NodeAccess,
  { target_branch: target, change_set: set }: PullFacts,
  before: Oid | null,
  after: Oid | null,
): Promise<ContentProblem[]> {
  const { repo } = access
  if (set == null) return problemsOf(deps, access, repo, branchRef(target), before, after)
  return findContentProblems(await readContent(repo, before), await readContent(repo, after))
}

/** The missing target of a pull request that creates the node. Null for others. */
function targetBefore({ target_commit: target }: Pick<PullRow, 'target_commit'>): Oid | null {
  return target === noOid ? noOid : null
}

/**
 * The heads of a pull request that can merge by its content. Rules are judged apart.
 *
 * @throws AppError with its merge_reason as code, and with `merge_problems`
 */
export function requireMergeable({ source, target, problems, reasons }: PullState): { from: Oid; to: Oid } {
  const [reason] = reasons
  if (reason === 'mergeable' && source && target) return { from: target, to: source }
  const facts = problems.length > 0 ? { merge_problems: problems.map(toMergeProblem) } : {}
  throw new AppError(reason === 'mergeable' ? 'source_branch_missing' : reason, sentence[reason], facts)
}

export const sentence: Readonly<Record<StateReason, string>> = {
  already_merged: 'The pull request is already merged',
  closed: 'The pull request is closed',
  source_branch_missing: 'The source branch does not exist',
  target_branch_missing: 'The target branch does not exist',
  no_commits_ahead: 'The target already has every commit of the source',
  diverged: 'The target has commits that the source does not have; update the branch first',
  invalid_content: 'Some files on the source branch are not valid; see `merge_problems`',
  draft: 'The pull request is a draft',
  mergeable: 'The pull request can be merged',
}

export interface PullRequest {
  readonly id: string
  readonly node_id: string
  readonly number: number
  readonly title: string
  readonly description: string
  readonly source_branch: string
  readonly target_branch: string
  readonly source_commit: string
  readonly target_commit: string
  readonly status: 'open' | 'merged' | 'closed'
  readonly is_draft: boolean
  readonly author: string
  readonly author_email: string
  readonly created_at: string
  readonly updated_at: string
  readonly merged_by?: string
  readonly merged_by_email?: string
  readonly merged_at?: string
  readonly closed_by?: string
  readonly closed_by_email?: string
  readonly closed_at?: string
  readonly opened_via?: ShownVia
  readonly ended_via?: ShownVia
  /** The number of the change set that it is an item of. */
  readonly change_set?: number
  readonly can_merge: boolean
  readonly merge_reason: MergeReason
  readonly merge_reasons: MergeReason[]
  readonly merge_problems: ReturnType<typeof toMergeProblem>[]
  readonly type_problems: ReturnType<typeof toNodeProblem>[]
  readonly commits_ahead: number
  readonly commits_behind: number
  readonly author_id?: string
  readonly reviewers: readonly ReviewRequest[]
  readonly consent: Consent & {
    /** True if the caller may merge in spite of the rules. */
    readonly may_override: boolean
    /** Requests for changes of the same head or change in other pull requests. Absent without one. */
    readonly objections_elsewhere?: readonly { readonly number: number; readonly author: string }[]
  }
  readonly overridden?: Overridden
  readonly comments: number
  readonly open_threads: number
  readonly last_activity_at: string
}

/** The commits that a pull request compares. It has those of its branches, or of its end. */
export function headsOf(
  { repo }: Pick<NodeAccess, 'repo'>,
  row: PullRow,
): Pick<PullRequest, 'source_commit' | 'target_commit'> {
  const headOf = (branch: string) => (row.status === 'open' ? readRef(repo, branchRef(branch)) : null)
  return {
    source_commit: headOf(row.source_branch) ?? row.source_commit,
    target_commit: headOf(row.target_branch) ?? row.target_commit,
  }
}

/** Reads a pull request from its row. */
export async function toPull(deps: Services, access: NodeAccess, row: PullRow): Promise<PullRequest> {
  const factsOf = await readReviewFacts(deps, access, [row])
  return toPullWith(deps, access, row, factsOf(row.number))
}

/** The most objections in other pull requests that a response shows. */
const maxElsewhere = 10

export async function toPullWith(
  deps: Services,
  access: NodeAccess,
  row: PullRow,
  facts: ReviewFacts,
): Promise<PullRequest> {
  const { node } = access
  const state = await stateOf(deps, access, row)
  const heads = { from: state.target, to: state.source }
  const isOpen = row.status === 'open'
  const rules = isOpen ? await rulesOfMove(deps, access, access.org, row.target_branch, heads) : []
  const judgement = await judgeRow(deps, access, row, state, facts, rules)
  const isItem = isOpen && row.change_set !== null
  const reasons = reasonsOf(state, judgement, isItem)
  const elsewhere = judgement.verdicts
    .filter(({ isElsewhere, role }) => isElsewhere && role !== null)
    .map(({ row: { number, name } }) => ({ number, author: name }))
  return {
    id: row.id,
    node_id: node.id,
    number: row.number,
    title: row.title,
    description: row.description,
    source_branch: row.source_branch,
    target_branch: row.target_branch,
    source_commit: state.source ?? row.source_commit,
    target_commit: state.target ?? row.target_commit,
    status: row.status,
    is_draft: row.is_draft === 1,
    author: row.author,
    author_email: row.author_email,
    created_at: row.created_at,
    updated_at: state.updatedAt,
    ...ending(row),
    ...provenance(row),
    ...(row.change_set !== null && (await setOfItem(deps, access, row.change_set))),
    can_merge: reasons[0] === 'mergeable',
    merge_reason: reasons[0],
    merge_reasons: reasons,
    merge_problems: state.problems.map(toMergeProblem),
    type_problems: state.advice.map(toNodeProblem),
    commits_ahead: state.ahead,
    commits_behind: state.behind,
    ...(row.author_id !== null && { author_id: row.author_id }),
    reviewers: facts.reviewers,
    consent: {
      ...toConsent(judgement),
      may_override: mayOverride(access, state, judgement),
      ...(elsewhere.length > 0 && { objections_elsewhere: elsewhere.slice(0, maxElsewhere) }),
    },
    ...(row.overridden !== null && { overridden: JSON.parse(row.overridden) as Overridden }), // from a record of ours
    comments: row.comments,
    open_threads: row.open_threads,
    last_activity_at: laterOf(state.updatedAt, row.last_entry_at ?? ''),
  }
}

/** The change set of an item, by its number. Empty if its rows are missing. */
async function setOfItem(
  { index }: Pick<Services, 'index'>,
  { org }: NodeAccess,
  id: string,
): Promise<{ readonly change_set?: number }> {
  const set = await findSetById(index.read, org.id, id)
  return set ? { change_set: set.number } : {}
}

/** Judges the pull request as it is in the index. One that has ended needs no consent any more. */
export async function judgeRow(
  deps: Services,
  access: NodeAccess,
  row: PullRow & Pick<Judged, 'set_author_id'>,
  state: PullState,
  { verdicts, objections, checks: byHead }: ReviewFacts,
  rules: readonly HeldRule[],
): Promise<PullJudgement> {
  const { index } = deps
  const { node } = access
  const isOpen = row.status === 'open'
  const head = state.source ?? row.source_commit
  // Reads them again if the source has moved since.
  const checks = byHead && (byHead.get(head) ?? (await readChecksByHead(index.read, node.id, [head])).get(head))
  const facts = { verdicts, objections: isOpen ? objections : [], checks: checks ?? [], open_threads: row.open_threads }
  const present = () => presentChange(access, row, state)
  const target = state.target ?? targetBefore(row)
  return judgePull(deps, access, { pull: row, rules, facts, present, target, ledger: access.node.ledger })
}

/** Returns all reasons, those of content first. It is only `mergeable` if it can merge. */
function reasonsOf({ reasons }: PullState, judgement: PullJudgement, isItem: boolean): [MergeReason, ...MergeReason[]] {
  const found: MergeReason[] = [
    ...reasons.filter((reason) => reason !== 'mergeable'),
    ...judgement.reasons,
    ...(isItem ? (['in_change_set'] as const) : []),
  ]
  const [first = 'mergeable', ...rest] = found
  return [first, ...rest]
}

/** True if only rules hold it up, and they let the caller override them. */
function mayOverride({ role }: NodeAccess, { reasons }: PullState, judgement: PullJudgement): boolean {
  return role === 'owner' && reasons[0] === 'mergeable' && judgement.reasons.length > 0 && judgement.mayOverride
}

/** The current change, of the heads that the state was computed from. @throws the errors of mergeBaseOf */
async function presentChange({ history }: NodeAccess, row: PullRow, state: PullState): Promise<Change> {
  const { source, target, behind } = state
  // The source contains the target.
  if (row.status === 'open' && source && target && behind === 0) return { base: target, head: source }
  const head = source ?? row.source_commit
  return { base: await mergeBaseOf(history, target ?? row.target_commit, head), head }
}

/** The time at which it ended, and the user who ended it, if known. */
export function ending({
  status,
  ended_by: name,
  ended_by_email: email,
  ended_at: at,
}: Pick<PullRow, 'status' | 'ended_by' | 'ended_by_email' | 'ended_at'>) {
  if (at === null) return {}
  const known = name !== null && email !== null
  if (status === 'merged') return { merged_at: at, ...(known ? { merged_by: name, merged_by_email: email } : {}) }
  return { closed_at: at, ...(known ? { closed_by: name, closed_by_email: email } : {}) }
}
