/** Rules of an organisation in words. */

import type { AnswerOf } from '../../http/in-process.ts'

export type Rule = NonNullable<AnswerOf<'getOrg'>['rules']>[number]

const and = new Intl.ListFormat('en-GB')
const or = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** The names of what rules refer to by id. */
export interface RuleNames {
  /** Names of members. */
  readonly users: ReadonlyMap<string, string>
  /** Titles of pages. */
  readonly pages: ReadonlyMap<string, string>
}

/**
 * Describes a rule: its branches and pages, then what a proposal needs.
 *
 * For example `main: 2 maintainers approve; all threads are resolved; maintainers merge; owners may override`.
 */
export function describeRule(rule: Rule, names: RuleNames): string {
  const demands = [...approvalsOf(rule, names), ...checksOf(rule, names)]
  if (rule.resolved) demands.push('all threads are resolved')
  const isOpen = demands.length === 0
  if (isOpen) demands.push('changes only by proposals')
  demands.push(`${rule.merge}s merge`)
  if (!isOpen) demands.push(rule.override === 'owner' ? 'owners may override' : 'nobody may override')
  return `${and.format(rule.branches)}${placeOf(rule, names)}: ${demands.join('; ')}`
}

function placeOf({ under }: Rule, { pages }: RuleNames): string {
  if (under === undefined) return ''
  const title = pages.get(under)
  return title === undefined ? ' of a deleted page' : ` of “${title}” and the pages below it`
}

function* approvalsOf({ approvals, by: { role, people = [] }, keep }: Rule, { users }: RuleNames): Iterable<string> {
  if (approvals === 0) return
  const named = people.map((id) => users.get(id) ?? 'a former member')
  const verb = approvals === 1 ? 'approves' : 'approve'
  if (named.length === 0) yield `${approvals} ${roleWords(role, approvals)} ${verb}`
  else if (role === undefined && approvals === named.length) yield `${and.format(named)} ${verb}`
  else if (role === undefined && approvals === 1) yield `${or.format(named)} approves`
  else yield `${approvals} of these approve: ${[...(role ? [roleWords(role, 2)] : []), ...named].join(', ')}`
  if (keep === 'same_commit') yield 'a new commit needs new approvals'
}

function roleWords(role: Rule['by']['role'], count: number): string {
  const noun = role === undefined || role === 'reader' ? 'member' : role
  return count === 1 ? noun : `${noun}s`
}

function* checksOf({ checks }: Rule, { users }: RuleNames): Iterable<string> {
  if (checks.length === 0) return
  const all = checks.map(({ name, from }) =>
    from === undefined ? name : `${name} (by ${users.get(from) ?? 'a former member'})`,
  )
  yield checks.length === 1 ? `the check ${all.join()} passes` : `the checks ${and.format(all)} pass`
}
