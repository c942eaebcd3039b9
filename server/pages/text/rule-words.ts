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

/** The users whose approvals count, by their least role. */
export const approvers: readonly (readonly [NonNullable<Rule['by']['role']>, string])[] = [
  ['editor', 'anyone who may publish'],
  ['maintainer', 'maintainers or owners'],
  ['owner', 'owners'],
  ['contributor', 'anyone who may propose'],
  ['reader', 'any member'],
]

/**
 * Describes a rule: its pages and branches, and what a proposal needs. It leaves out the branch `main`.
 *
 * For example `Every change of all pages needs 1 approval by owners. Editors merge. Owners may override.`
 */
export function describeRule(rule: Rule, names: RuleNames): string {
  const needs = [...approvalsOf(rule, names), ...checksOf(rule, names)]
  if (rule.resolved) needs.push('all threads resolved')
  const merge = rule.merge.replace(/^./, (letter) => letter.toUpperCase())
  const override = rule.override === 'owner' ? ' Owners may override.' : ' Nobody may override.'
  const free = rule.pages === 'existing' ? ' No proposal is needed to create or delete a page.' : ''
  const place = `${pagesOf(rule, names)}${String(rule.branches) === 'main' ? '' : ` on ${and.format(rule.branches)}`}`
  return needs.length === 0
    ? `Every change of ${place} needs a proposal. ${merge}s merge.${free}`
    : `Every change of ${place} needs ${needs.join(', and ')}. ${merge}s merge.${override}${free}`
}

function pagesOf({ under }: Rule, { pages }: RuleNames): string {
  if (under === undefined) return 'all pages'
  const title = pages.get(under)
  return title === undefined ? 'a deleted page' : pageAndBelow(title)
}

export function pageAndBelow(title: string): string {
  return `“${title}” and the pages below it`
}

function* approvalsOf({ approvals, by: { role, people = [] }, keep }: Rule, { users }: RuleNames): Iterable<string> {
  if (approvals === 0) return
  const named = people.map((id) => users.get(id) ?? 'a former member')
  const all = [...approvers.flatMap(([one, words]) => (one === role ? [words] : [])), ...named]
  const list = role === undefined && approvals === named.length ? and : or
  const again = keep === 'same_commit' ? ', again for each new version' : ''
  yield `${approvals === 1 ? '1 approval' : `${approvals} approvals`} by ${list.format(all)}${again}`
}

function* checksOf({ checks }: Rule, { users }: RuleNames): Iterable<string> {
  if (checks.length === 0) return
  const all = checks.map(({ name, from }) =>
    from === undefined ? name : `${name} (by ${users.get(from) ?? 'a former member'})`,
  )
  yield `the ${checks.length === 1 ? 'check' : 'checks'} ${and.format(all)}`
}
