/** Judges whether a pull request has the consent that its rules demand. */
import type { Oid } from '../../../gitstore/repo.ts'
import type { CheckRow } from '../../../index/derived/checks.ts'
import type { VerdictRow } from '../../../index/derived/entries.ts'
import { listMembersById } from '../../../index/derived/org-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import type { PullRecord } from '../ledger/ledger.ts'
import { toRow } from '../ledger/pull-ledger.ts'
import type { Services } from '../services.ts'
import { isByFormerMember, type PullCheck, readReport, toPullChecks } from './check-views.ts'
import { type CommitMakers, noMakers, readCommitMakers } from './commit-authors.ts'
import { type ConsentFacts, readFactsAt } from './facts.ts'
import {
  type HeldRule,
  isAskedByAny,
  type JudgedCheck,
  type JudgedVerdict,
  type Judgement,
  judge,
  type Missing,
  type NotCounted,
  type VerdictState,
} from './judge.ts'
import type { Change } from './same-change.ts'
import {
  hasEmailOf,
  type Judged,
  type JudgedNode,
  type KnownEmails,
  objectionsElsewhere,
  readVerdicts,
  type StatedVerdict,
} from './verdicts.ts'

/** The last verdict of a user. */
interface Verdict {
  readonly entry: number
  readonly author_id: string
  readonly author: string
  readonly author_email: string
  readonly created_at: string
  readonly verdict: 'approve' | 'request_changes'
  readonly state: VerdictState
  /** True if it counts for a rule. Without a rule that asks for approvals, each member but the author counts. */
  readonly counts: boolean
  /** Why it does not count. */
  readonly why?: NotCounted
  readonly head_commit: string
}

/** Approvals that a rule lacks. */
interface MissingApprovals {
  /** The place of the rule in the organisation's list, from 0. */
  readonly rule: number
  readonly needed: number
  readonly of: { readonly role?: Role; readonly people?: readonly string[] }
}

export interface Consent {
  /** The rules that hold for the target. Each is its place in the organisation's list, from 0. */
  readonly rules: readonly number[]
  /** The approvals that count. */
  readonly approvals: number
  /** The most approvals that a rule demands. */
  readonly required: number
  readonly changes_requested: number
  readonly missing: readonly MissingApprovals[]
  /** The last verdict of each user, by entry. */
  readonly verdicts: readonly Verdict[]
  /** The checks that were reported about the head or that rules demand, by name. */
  readonly checks: readonly PullCheck[]
  readonly open_threads: number
  /** True if a rule demands that no thread is open. */
  readonly threads_must_be_resolved: boolean
  /** The least role that merges. */
  readonly merge_role: Role
}

export type VerdictFact = JudgedVerdict & {
  readonly row: VerdictRow
  /** True for an objection in another pull request with this head or change. */
  readonly isElsewhere: boolean
}
export type CheckFact = JudgedCheck & { readonly row: CheckRow }

export interface PullJudgement extends Judgement<VerdictFact, CheckFact> {
  readonly rules: readonly HeldRule[]
  readonly verdicts: readonly VerdictFact[]
  readonly checks: readonly CheckFact[]
  readonly openThreads: number
}

/** A pull request to judge, its rules, and its current change. */
export interface ToJudge {
  readonly pull: Judged
  readonly rules: readonly HeldRule[]
  readonly facts: ConsentFacts
  /** Reads the current change. Called only if a verdict must be compared with it. */
  readonly present: () => Promise<Change>
  /** The head of the target. Null: the branch is gone. */
  readonly target: Oid | null
  /** The ledger commit that says who pushed commits. */
  readonly ledger: Oid
}

/**
 * Judges the pull request. Asks Git only about changes and commits that no earlier call has compared.
 *
 * @throws the errors of readVerdicts and readCommitMakers
 */
export async function judgePull(
  deps: Services,
  node: JudgedNode,
  { pull, rules, facts, present, target, ledger }: ToJudge,
  signal?: AbortSignal,
): Promise<PullJudgement> {
  const stated = await readVerdicts(deps, node, pull, facts.verdicts, present, signal)
  const reporters = await findReporters(deps, node, pull, rules, facts.checks)
  const makers =
    target !== null && (reporters.size > 0 || stated.some((one) => mayCount(rules, one)))
      ? await readCommitMakers(node, ledger, { target, head: (await present()).head }, signal)
      : noMakers
  const elsewhere = await objectionsElsewhere(
    node,
    { pull, rules, own: stated, objections: facts.objections, present },
    signal,
  )
  const verdicts = [...stated, ...elsewhere].map(({ row, state, sameness, isOpener }): VerdictFact => {
    const { user_id, verdict, role } = row
    const isElsewhere = row.number !== pull.number
    return { row, user_id, verdict, role, state, sameness, isOpener, isElsewhere, isCommitAuthor: isMaker(makers, row) }
  })
  const checks = facts.checks.map((row): CheckFact => {
    const by = reporters.get(row)
    const isOwn = by === undefined ? isOpenerOfCheck(pull, row) : by === 'gone' || isMaker(makers, by)
    return { row, name: row.name, state: row.state, user_id: row.user_id, isOwn }
  })
  const openThreads = facts.open_threads
  return { ...judge(rules, { verdicts, checks, openThreads }), rules, verdicts, checks, openThreads }
}

function isMaker({ emails, pushers }: CommitMakers, user: KnownEmails): boolean {
  return pushers.has(user.user_id) || hasEmailOf(emails, user)
}

/** True for an approval that counts unless its author is the author of a commit. */
function mayCount(rules: readonly HeldRule[], { row, state, isOpener }: StatedVerdict): boolean {
  if (row.verdict !== 'approve' || state !== 'current' || isOpener) return false
  return isAskedByAny(rules, row)
}

function isOpenerOfCheck({ author_id, author_email }: Judged, row: CheckRow): boolean {
  return author_id === null ? readReport(row)?.by.email === author_email : row.user_id === author_id
}

/** Finds the users whose reports count unless they wrote or pushed a commit. Takes a statement if there are any. */
async function findReporters(
  { index }: Services,
  { org }: JudgedNode,
  pull: Judged,
  rules: readonly HeldRule[],
  checks: readonly CheckRow[],
): Promise<ReadonlyMap<CheckRow, KnownEmails | 'gone'>> {
  const open = new Set(rules.flatMap(({ rule }) => rule.checks.flatMap((one) => (one.from ? [] : one.name))))
  const rows = checks.filter((row) => open.has(row.name) && !isOpenerOfCheck(pull, row))
  const members = await listMembersById(index.read, org.id, [...new Set(rows.flatMap(({ user_id }) => user_id ?? []))])
  return new Map(
    rows.map((row): [CheckRow, KnownEmails | 'gone'] => {
      const member = members.find(({ user_id }) => user_id === row.user_id)
      const email = readReport(row)?.by.email ?? ''
      if (isByFormerMember({ email }, member)) return [row, 'gone']
      const known = { member_email: member?.email ?? null, former_emails: member?.former_emails ?? null }
      return [row, { user_id: row.user_id ?? '', email, ...known }]
    }),
  )
}

/** Returns the consent as responses show it. */
export function toConsent(judgement: PullJudgement): Consent {
  const { rules, verdicts, notCounted, missing, required, needsThreads, openThreads, mergeRole } = judgement
  const counting = (verdict: Verdict['verdict']) =>
    verdicts.filter((one) => one.verdict === verdict && !notCounted.has(one)).length
  return {
    rules: rules.flatMap(({ at }) => at ?? []),
    approvals: counting('approve'),
    required,
    changes_requested: counting('request_changes'),
    missing: missing.flatMap((one) => toMissing(one)),
    verdicts: verdicts.filter((one) => !one.isElsewhere).map((one) => toVerdict(one, notCounted.get(one))),
    checks: toPullChecks(judgement),
    open_threads: openThreads,
    threads_must_be_resolved: needsThreads,
    merge_role: mergeRole,
  }
}

function toMissing({ at, needed, rule: { by } }: Missing): MissingApprovals[] {
  if (at === undefined) return []
  const { role, people } = by
  return [{ rule: at, needed, of: { ...(role !== undefined && { role }), ...(people && { people }) } }]
}

function toVerdict({ row, state }: VerdictFact, why: NotCounted | undefined): Verdict {
  return {
    entry: row.entry,
    author_id: row.user_id,
    author: row.name,
    author_email: row.email,
    created_at: row.at,
    verdict: row.verdict,
    state,
    counts: why === undefined,
    ...(why !== undefined && { why }),
    head_commit: row.head,
  }
}

/** The heads that a merge would move the target from and to. */
export interface MergeHeads {
  readonly from: Oid
  readonly to: Oid
}

/**
 * Judges a pull request whose source contains its target, at a ledger commit. Exact under the lock of the ledger. Call
 * it before the lock too: what Git must compare is then known under it.
 *
 * @throws the errors of readFactsAt and judgePull
 */
export async function judgeMerge(
  deps: Services,
  access: JudgedNode,
  record: PullRecord,
  rules: readonly HeldRule[],
  { ledger, from, to }: MergeHeads & { readonly ledger: Oid },
): Promise<PullJudgement> {
  const facts = await readFactsAt(deps, access, { number: record.number, head: to }, ledger)
  const pull = toRow({ org_id: access.org.id, node_id: access.node.id }, record)
  const present = () => Promise.resolve({ base: from, head: to })
  return judgePull(deps, access, { pull, rules, facts, present, target: from, ledger })
}
