/**
 * Judges a pull request by the rules of its target. It is pure, so that REST, pages, batches and pushes share one
 * answer. All rules hold together, and the strictest wins.
 */
import { type Role, roles } from '../../../index/derived/schema.ts'
import type { Rule } from '../format/rule-format.ts'
import type { Sameness } from './same-change.ts'

/** Reasons why rules hold a pull request up, the most important first. */
export const consentReasons = [
  'changes_requested',
  'approvals_missing',
  'checks_failed',
  'checks_missing',
  'threads_open',
] as const
export type ConsentReason = (typeof consentReasons)[number]

/** `stale` is an approval of another change. Objections do not become stale. */
export type VerdictState = 'current' | 'stale' | 'withdrawn' | 'dismissed'

/** A rule that holds for the branch. */
export interface HeldRule {
  readonly rule: Rule
  /** Its place in the organisation's list, from 0. Absent for `require_pull_requests`. */
  readonly at?: number
}

/** The last verdict of a user, as rules see it. */
export interface JudgedVerdict {
  readonly user_id: string
  readonly verdict: 'approve' | 'request_changes'
  readonly state: VerdictState
  /** How the change of a current approval compares with the one proposed now. */
  readonly sameness: Sameness
  /** The user's role now. Null: not a member any more. */
  readonly role: Role | null
  /** True if the user opened the pull request. */
  readonly isOpener: boolean
  /** True if the user is the author of one of its commits. */
  readonly isCommitAuthor: boolean
}

/** The last report under a name, for the head. */
export interface JudgedCheck {
  readonly name: string
  /** `unknown` and `damaged` are files that this version cannot read. They do not count. */
  readonly state: 'pending' | 'success' | 'failure' | 'unknown' | 'damaged'
  readonly user_id: string | null
  /** True if its reporter opened the pull request, or wrote or pushed a commit. */
  readonly isOwn: boolean
}

export interface JudgedFacts<V extends JudgedVerdict, C extends JudgedCheck> {
  readonly verdicts: readonly V[]
  readonly checks: readonly C[]
  readonly openThreads: number
}

/** Why a verdict does not count. */
export type NotCounted =
  | 'stale'
  | 'withdrawn'
  | 'dismissed'
  | 'not_a_member'
  | 'own_pull_request'
  | 'own_commit'
  | 'another_commit'
  | 'not_asked'

/** The approvals that a rule lacks. */
export interface Missing extends HeldRule {
  readonly needed: number
}

/** A check that a rule demands. */
export interface DemandedCheck<C extends JudgedCheck> {
  readonly name: string
  /** The only user whose report counts. */
  readonly from?: string
  /** The report that counts. Absent if there is none. */
  readonly report?: C
}

export interface Judgement<V extends JudgedVerdict, C extends JudgedCheck> {
  /** In the order of `consentReasons`; empty if nothing holds the pull request up. */
  readonly reasons: readonly ConsentReason[]
  /** Why each verdict does not count. Verdicts that count are not in it. */
  readonly notCounted: ReadonlyMap<V, NotCounted>
  /** The objections that block. */
  readonly objections: readonly V[]
  readonly missing: readonly Missing[]
  /** The most approvals that a rule demands. */
  readonly required: number
  /** The checks that rules demand, in the order of the rules. */
  readonly demanded: readonly DemandedCheck<C>[]
  /** True if a rule demands that all threads are resolved. */
  readonly needsThreads: boolean
  /** The least role that merges. */
  readonly mergeRole: Role
  /** True if every rule lets an owner override it. */
  readonly mayOverride: boolean
}

export function judge<V extends JudgedVerdict, C extends JudgedCheck>(
  rules: readonly HeldRule[],
  facts: JudgedFacts<V, C>,
): Judgement<V, C> {
  const asking = rules.filter(({ rule }) => rule.approvals > 0)
  const notCounted = new Map<V, NotCounted>()
  for (const verdict of facts.verdicts) {
    const why = reasonNotCounted(asking, verdict)
    if (why !== undefined) notCounted.set(verdict, why)
  }
  const objections = facts.verdicts.filter(
    (one) => one.verdict === 'request_changes' && asking.length > 0 && !notCounted.has(one),
  )
  const missing = asking.flatMap((held): Missing[] => {
    const approvals = facts.verdicts.filter(
      (one) => one.verdict === 'approve' && countsFor(held.rule, one) === undefined,
    )
    const needed = held.rule.approvals - approvals.length
    return needed > 0 ? [{ ...held, needed }] : []
  })
  const demanded = demandedChecks(rules, facts.checks)
  const needsThreads = rules.some(({ rule }) => rule.resolved)
  const found: Readonly<Record<ConsentReason, boolean>> = {
    changes_requested: objections.length > 0,
    approvals_missing: missing.length > 0,
    checks_failed: demanded.some(hasFailed),
    checks_missing: demanded.some(isMissing),
    threads_open: needsThreads && facts.openThreads > 0,
  }
  return {
    reasons: consentReasons.filter((reason) => found[reason]),
    ...{ notCounted, objections, missing, demanded, needsThreads },
    required: Math.max(0, ...rules.map(({ rule }) => rule.approvals)),
    mergeRole: mergeRoleOf(rules),
    mayOverride: rules.every(({ rule }) => rule.override === 'owner'),
  }
}

/** Returns the least role that merges under these rules. Without rules it is `editor`. */
export function mergeRoleOf(rules: readonly HeldRule[]): Role {
  const places = rules.map(({ rule }) => roles.indexOf(rule.merge))
  return roles[Math.max(roles.indexOf('editor'), ...places)] ?? 'owner'
}

/** Returns why a verdict counts for no rule. Without rules that ask for approvals, each member counts. */
function reasonNotCounted(asking: readonly HeldRule[], verdict: JudgedVerdict): NotCounted | undefined {
  if (asking.length === 0) return reasonWithoutRules(verdict)
  const reasons = asking.map(({ rule }) => countsFor(rule, verdict))
  return reasons.includes(undefined) ? undefined : reasons[0]
}

function reasonWithoutRules({ state, role, isOpener }: JudgedVerdict): NotCounted | undefined {
  if (state !== 'current') return state
  if (role === null) return 'not_a_member'
  return isOpener ? 'own_pull_request' : undefined
}

/**
 * Returns why a verdict does not count for a rule. Undefined: it counts. The author of a commit cannot approve it, but
 * can object.
 */
function countsFor(rule: Rule, verdict: JudgedVerdict): NotCounted | undefined {
  const general = reasonWithoutRules(verdict)
  if (general !== undefined) return general
  if (!isAsked(rule, verdict)) return 'not_asked'
  if (verdict.verdict === 'request_changes') return undefined
  if (verdict.isCommitAuthor) return 'own_commit'
  return rule.keep === 'same_commit' && verdict.sameness !== 'same_commit' ? 'another_commit' : undefined
}

/** True if the rule asks this user for approvals, by role or by name. */
function isAsked({ by }: Rule, { user_id, role }: Pick<JudgedVerdict, 'user_id' | 'role'>): boolean {
  if (role === null) return false
  if (by.people?.includes(user_id)) return true
  return by.role !== undefined && roles.indexOf(role) >= roles.indexOf(by.role)
}

/** True if a rule asks this user for approvals. Verdicts of others hold no merge up. */
export function isAskedByAny(rules: readonly HeldRule[], user: Pick<JudgedVerdict, 'user_id' | 'role'>): boolean {
  return rules.some(({ rule }) => rule.approvals > 0 && isAsked(rule, user))
}

export function hasFailed({ report }: DemandedCheck<JudgedCheck>): boolean {
  return report?.state === 'failure'
}

/** True if no report counts, or the last one is not a result. */
export function isMissing({ report }: DemandedCheck<JudgedCheck>): boolean {
  return report?.state !== 'failure' && report?.state !== 'success'
}

function demandedChecks<C extends JudgedCheck>(rules: readonly HeldRule[], reports: readonly C[]): DemandedCheck<C>[] {
  const byName = new Map(reports.map((report) => [report.name, report]))
  const demanded = new Map<string, DemandedCheck<C>>()
  for (const { rule } of rules)
    for (const { name, from } of rule.checks) {
      const last = byName.get(name)
      const report = last && countsAsReport(last, from) ? last : undefined
      const check = { name, ...(from !== undefined && { from }), ...(report && { report }) }
      demanded.set(JSON.stringify([name, from]), check)
    }
  return [...demanded.values()]
}

/** True if the report is from the named user. Without one, those about own changes do not count. */
function countsAsReport({ user_id, isOwn }: JudgedCheck, from: string | undefined): boolean {
  return from === undefined ? !isOwn : user_id === from
}
