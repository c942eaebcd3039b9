/** Checks the rules that an owner sets for an organisation. */

import { readTitles } from '../../../index/derived/node-queries.ts'
import type { Sees } from '../../../index/derived/sees.ts'
import { type Problem, ValidationError } from '../../base/errors.ts'
import { patternProblem } from '../format/branch-patterns.ts'
import type { OrgRecord } from '../format/org-format.ts'
import { keepLaterKeys, plainRules, type Rule, rulesSchema, type StoredRule } from '../format/rule-format.ts'
import type { Services } from '../services.ts'

/** A rule without its defaults. */
export type RuleInput = Partial<Rule> & Pick<Rule, 'branches'>

type Loc = readonly (string | number)[]

/** The most problems of an answer. */
const maxProblems = 100

/**
 * Returns rules to be set, with their defaults.
 *
 * @throws ValidationError a pattern matches no branch name, something is there twice, or no approvals can suffice
 */
export function completeRules(input: readonly RuleInput[]): readonly Rule[] {
  throwAny(input.flatMap((rule, at) => [...shapeProblems(rule, ['body', 'rules', at])]))
  return plainRules(rulesSchema.parse(input))
}

function* shapeProblems({ branches, by, checks = [], approvals = 0 }: RuleInput, loc: Loc): Iterable<Problem> {
  for (const [at, pattern] of branches.entries()) {
    const msg = patternProblem(pattern)
    if (msg !== undefined) yield problem([...loc, 'branches', at], msg, pattern)
  }
  yield* repeated(branches, (at) => [...loc, 'branches', at], 'This pattern is in the rule twice')
  const { role, people = [] } = by ?? {}
  yield* repeated(people, (at) => [...loc, 'by', 'people', at], 'This user is in the rule twice')
  const names = checks.map(({ name }) => name)
  yield* repeated(names, (at) => [...loc, 'checks', at, 'name'], 'This check is in the rule twice')
  const counted = new Set(people).size
  if (role === undefined && by?.people && approvals > counted) {
    const users = counted === 1 ? 'The approval of only 1 user counts' : `The approvals of only ${counted} users count`
    yield problem([...loc, 'approvals'], `${users}, so there can never be ${approvals}`, approvals)
  }
}

function* repeated(values: readonly string[], locOf: (at: number) => Loc, msg: string): Iterable<Problem> {
  for (const [at, value] of values.entries()) if (values.indexOf(value) < at) yield problem(locOf(at), msg, value)
}

/** The ids that rules name, each with the place that names it. */
function* idsIn(rules: readonly StoredRule[]): Iterable<{ id: string; of: 'user' | 'node'; loc: Loc }> {
  for (const [at, { under, by, checks }] of rules.entries()) {
    const loc = ['body', 'rules', at]
    if (under !== undefined) yield { id: under, of: 'node', loc: [...loc, 'under'] }
    for (const [nth, id] of (by.people ?? []).entries()) yield { id, of: 'user', loc: [...loc, 'by', 'people', nth] }
    for (const [nth, { from }] of checks.entries())
      if (from !== undefined) yield { id: from, of: 'user', loc: [...loc, 'checks', nth, 'from'] }
  }
}

/** Returns those of the nodes that rules name which are nodes of the organisation. */
export async function findNodesIn(deps: Pick<Services, 'index'>, sees: Sees, rules: readonly Rule[]) {
  const ids = rules.flatMap(({ under }) => under ?? [])
  return new Set(ids.length === 0 ? [] : (await readTitles(deps.index.read, sees, ids)).keys())
}

/** The organisation that gets rules. A new one has none yet. */
interface Target extends Pick<OrgRecord, 'members'> {
  readonly org: Pick<OrgRecord['org'], 'rules'>
}

/**
 * Returns the rules to store. Ids that the current rules name may stay, also after a member has left.
 *
 * @throws ValidationError a user is not a member, or a node is not one of the organisation
 */
export function admitRules(
  { org, members }: Target,
  rules: readonly Rule[],
  nodes: ReadonlySet<string>,
): readonly StoredRule[] {
  const before = org.rules ?? []
  const known = new Set([...idsIn(before)].map(({ id }) => id))
  const unknown = [...idsIn(rules)].filter(({ id, of }) => !known.has(id) && !(of === 'user' ? members : nodes).has(id))
  throwAny(
    unknown.map(({ id, of, loc }) =>
      problem(loc, of === 'user' ? notMember : 'This is not a node of the organisation', id),
    ),
  )
  return keepLaterKeys(before, rules)
}

const notMember = 'This user is not a member of the organisation'

function problem(loc: Loc, msg: string, input: unknown): Problem {
  return { loc, msg, type: 'value_error', input }
}

function throwAny(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new ValidationError(problems.slice(0, maxProblems))
}
