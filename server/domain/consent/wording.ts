/** The sentences about missing consent: for a push's report, its terminal, and responses. */
import type { Role } from '../../../index/derived/schema.ts'
import { excerpt } from '../../base/excerpt.ts'
import { includesRole } from '../access.ts'
import { matchesPattern } from '../format/branch-patterns.ts'
import { readReport } from './check-views.ts'
import type { CheckFact, PullJudgement, VerdictFact } from './consent.ts'
import {
  type ConsentReason,
  type DemandedCheck,
  type HeldRule,
  hasFailed,
  isMissing,
  type Missing,
  mergeRoleOf,
  type NotCounted,
} from './judge.ts'

/** Returns the URL of the page of a pull request. */
export type PullPage = (number: number) => string

/** The URLs that the answer to a push names. */
export interface PushUrls {
  readonly pull: PullPage
  /** The page of a change set. */
  readonly set: PullPage
  /** The remote of a node. */
  remote(nodeId: string): string
}

/** A refusal for one reason. */
export interface Refusal {
  /** The rest of a sentence that begins with the pull request: `needs 1 more approval`. */
  readonly reason: string
  /** Lines for the terminal, without the page. */
  readonly lines: readonly string[]
  /** A sentence for a response. */
  readonly detail: string
}

/** Words one reason why the rules hold a pull request up. */
export function toRefusal(reason: ConsentReason, judgement: PullJudgement): Refusal {
  return writers[reason](judgement)
}

const writers: Readonly<Record<ConsentReason, (judgement: PullJudgement) => Refusal>> = {
  changes_requested: ({ objections: [first] }) => {
    const name = excerpt(first?.row.name ?? '')
    const [line = ''] = (first?.row.text ?? '').trim().split('\n')
    const at = first?.isElsewhere ? ` of the same change in pull request ${first.row.number}` : ''
    return {
      reason: `: ${name} asks for changes${at}`,
      lines: line === '' ? [] : [excerpt(line.trim())],
      detail: `${name} asks for changes${at}. They can approve or withdraw their review, and a maintainer can dismiss it`,
    }
  },
  approvals_missing: ({ missing: [first], ...judgement }) => {
    const needed = first?.needed ?? 0
    const lines = first ? approvalLines(first, judgement) : []
    return {
      reason: ` needs ${counted(needed, 'more approval', 'more approvals')}`,
      lines,
      detail: `The pull request needs ${counted(needed, 'more approval', 'more approvals')}: ${lines.join('; ')}`,
    }
  },
  checks_failed: ({ demanded }) => refusedCheck(demanded.find(hasFailed)),
  checks_missing: ({ demanded }) => refusedCheck(demanded.find(isMissing)),
  threads_open: ({ openThreads }) => ({
    reason: ` has ${counted(openThreads, 'open thread', 'open threads')}`,
    lines: [],
    detail: `The pull request has ${counted(openThreads, 'open thread', 'open threads')}; resolve each of them first`,
  }),
}

/** `2 by maintainers; approved: Bo`, then the approvals that do not count. */
function approvalLines(
  { rule }: Missing,
  { verdicts, notCounted }: Pick<PullJudgement, 'verdicts' | 'notCounted'>,
): string[] {
  const approvals = verdicts.filter(({ verdict }) => verdict === 'approve')
  const counting = approvals.filter((one) => !notCounted.has(one))
  const approved = counting.length > 0 ? `; approved: ${namesOf(counting)}` : ''
  const of = (why: NotCounted) => approvals.filter((one) => notCounted.get(one) === why)
  const [stale, moved, own] = [of('stale'), of('another_commit'), of('own_commit')]
  return [
    `${rule.approvals} by ${approversOf(rule.by)}${approved}`,
    ...(stale.length > 0 ? [`stale: ${namesOf(stale)} (the change is another one since)`] : []),
    ...(moved.length > 0 ? [`stale: ${namesOf(moved)} (the commit is another one since)`] : []),
    ...(own.length > 0 ? [`not counted: ${namesOf(own)} (wrote or pushed its commits)`] : []),
  ]
}

/** The most names in a line. */
const maxNames = 5

function namesOf(verdicts: readonly VerdictFact[]): string {
  const names = verdicts.slice(0, maxNames).map(({ row }) => excerpt(row.name))
  return [...names, ...(verdicts.length > maxNames ? [`and ${verdicts.length - maxNames} more`] : [])].join(', ')
}

/** The members who may approve: `maintainers`, `2 named people`, or both. */
function approversOf({ role, people = [] }: Missing['rule']['by']): string {
  const named = people.length > 0 ? [counted(people.length, 'named person', 'named people')] : []
  return [...(role === undefined ? [] : [pluralOf(role)]), ...named].join(' or ')
}

/** The users with a role or a higher one. */
function pluralOf(role: Role): string {
  return `${role}s`
}

/** Says who creates a branch with rules. Undefined: this role may. */
export function findMakerProblem(rules: readonly HeldRule[], branch: string, role: Role | null): string | undefined {
  const least = mergeRoleOf(rules)
  if (role !== null && includesRole(role, least)) return undefined
  const strictest = rules.find(({ rule }) => rule.merge === least)
  const pattern = strictest?.rule.branches.find((one) => matchesPattern(one, branch)) ?? branch
  return `only ${pluralOf(least)} make branches named ${excerpt(pattern)}`
}

/** Ways to change which pages are at a place. `move` brings an existing page below another one. */
export type PlaceAct = 'create' | 'move' | 'delete' | 'restore'

/** A refusal to change which pages are at a place. */
export interface PlaceRefusal {
  readonly detail: string
  /** For git's report, in lower case. */
  readonly reason: string
}

/** @param under the title of the page below which the rule holds. Undefined: it holds for all pages */
export function wordPlace(act: PlaceAct, title: string, under: string | undefined, path: string): PlaceRefusal {
  const below = under === undefined ? '' : ` below “${excerpt(under)}”`
  const sentence = {
    create: `Pages${below} are created by a proposal here`,
    move: `A page comes${below} only by a proposal: propose this change with a pull request`,
    delete: `“${excerpt(title)}” can only be deleted by a proposal`,
    restore: `“${excerpt(title)}” can only be restored by a proposal`,
  }[act]
  const way = act === 'move' ? '' : `: send ${act === 'create' ? 'the page' : 'it'} to POST ${path}`
  const place = under === undefined ? 'new pages' : `pages below ${excerpt(under)}`
  return { detail: `${sentence}${way}`, reason: `${place} need a proposal` }
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

function refusedCheck(check: DemandedCheck<CheckFact> | undefined): Refusal {
  const name = check?.name ?? ''
  const report = check?.report && readReport(check.report.row)
  const outcome =
    check?.report?.state === 'failure'
      ? 'has failed'
      : check?.report?.state === 'pending'
        ? 'is pending'
        : 'has not been reported'
  const lines = [report?.description ?? '', report?.url ?? ''].filter((line) => line !== '')
  return { reason: `: check ${name} ${outcome}`, lines, detail: `The check ${name} ${outcome}` }
}
