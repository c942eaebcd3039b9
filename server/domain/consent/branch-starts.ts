/** Judges where a new branch with rules begins. It must be a commit that such rules have let in before. */
import { isDeepStrictEqual } from 'node:util'
import { listRefs } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import { excerpt } from '../../base/excerpt.ts'
import { includesRole, type NodeAccess } from '../access.ts'
import { matchesPattern } from '../format/branch-patterns.ts'
import type { Rule } from '../format/rule-format.ts'
import { branchName, branchRefs, main } from '../layout.ts'
import type { Services } from '../services.ts'
import { rulesForAnyNode, rulesOfBranch } from './branch-rules.ts'
import type { HeldRule } from './judge.ts'

interface NewBranch {
  readonly branch: string
  readonly rules: readonly HeldRule[]
  readonly to: Oid
}

/**
 * Says why a new branch cannot begin at a commit. Undefined: it can. Rules with approvals or checks demand that a branch
 * contains the commit whose rules are as strict. A pattern for all names does not, because drafts match it as well.
 */
export async function findStartProblem(
  deps: Services,
  { repo, node, history }: NodeAccess,
  org: OrgRow,
  { branch, rules, to }: NewBranch,
): Promise<string | undefined> {
  const demanded = rules.map(({ rule }) => rule).filter((rule) => isDemanding(rule) && names(rule, branch))
  if (demanded.length === 0) return undefined
  const heads = [...listRefs(repo, branchRefs)].sort(([a], [b]) => Number(b === main) - Number(a === main))
  for (const [ref, head] of heads) {
    const name = branchName(ref)
    if (!(await rulesForAnyNode(deps, org, name)).some(({ rule }) => isDemanding(rule))) continue
    // Anyone may begin a draft that only a pattern for all names matches.
    const held = (await rulesOfBranch(deps, org, node.id, name)).filter((one) => ref === main || names(one.rule, name))
    const isCovered = demanded.every((rule) => held.some((one) => isAsStrict(one.rule, rule)))
    if (isCovered && (await history.contains(head, to))) return undefined
  }
  return `${excerpt(branch)} begins only at a commit of a branch whose rules are as strict`
}

function isDemanding({ approvals, checks }: Rule): boolean {
  return approvals > 0 || checks.length > 0
}

/** True if a pattern names the branch, other than one for all names. */
function names({ branches }: Rule, branch: string): boolean {
  return branches.some((pattern) => !/^\*+$/.test(pattern) && matchesPattern(pattern, branch))
}

function isAsStrict(one: Rule, other: Rule): boolean {
  const hasChecks = other.checks.every(({ name, from }) =>
    one.checks.some((check) => check.name === name && (from === undefined || check.from === from)),
  )
  return hasChecks && one.approvals >= other.approvals && (other.approvals === 0 || asksAsHigh(one.by, other.by))
}

function asksAsHigh(one: Rule['by'], other: Rule['by']): boolean {
  if (isDeepStrictEqual(one, other)) return true
  if (one.people !== undefined || one.role === undefined || other.role === undefined) return false
  return includesRole(one.role, other.role)
}
