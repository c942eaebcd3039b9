/**
 * The rules that hold for a branch of a node. A branch with a rule moves only by merges of pull requests. For the first
 * commit of `main`, see places.ts.
 */
import { createCache } from '../../../gitstore/caching/caches.ts'
import { isWithin } from '../../../index/derived/edges.ts'
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import { matchesRule, readRules } from '../format/org-rules.ts'
import type { Rule } from '../format/rule-format.ts'
import type { Services } from '../services.ts'
import type { HeldRule } from './judge.ts'

const none: readonly HeldRule[] = []

/** The rule of `require_pull_requests`. */
const mainRule: HeldRule = {
  rule: {
    ...{ branches: ['main'], approvals: 0, by: { role: 'editor' }, keep: 'same_change', checks: [] },
    ...{ resolved: false, merge: 'maintainer', override: 'owner', pages: 'existing' },
  },
}

/** Returns the rules that hold for the branch. An organisation without rules takes no statement. */
export async function rulesOfBranch(
  deps: Services,
  org: OrgRow,
  nodeId: string,
  branch: string,
): Promise<readonly HeldRule[]> {
  const all = await rulesForAnyNode(deps, org, branch)
  if (all.every(({ rule }) => rule.under === undefined)) return all
  const held: HeldRule[] = []
  for (const one of all) if (await isWithin(deps.index.read, nodeId, one.rule.under)) held.push(one)
  return held
}

/** Returns the rules whose patterns match. They may be for other parts of the graph. */
export async function rulesForAnyNode(deps: Services, org: OrgRow, branch: string): Promise<readonly HeldRule[]> {
  const own = await readRules(deps, org)
  if (own.length === 0) return org.require_pull_requests === 1 && branch === 'main' ? [mainRule] : none
  const matching = matchingRules(own, branch)
  return org.require_pull_requests === 1 && branch === 'main' ? [mainRule, ...matching] : matching
}

/**
 * Returns for which nodes a rule holds for `main`, or for which new nodes. Rules for parts of the graph hold for some.
 * Takes no statement.
 */
export async function rulesForMain(
  deps: Services,
  org: OrgRow,
  which: 'any' | 'new' = 'any',
): Promise<'none' | 'some' | 'all'> {
  const all = await rulesForAnyNode(deps, org, 'main')
  const rules = which === 'new' ? all.filter(({ rule }) => rule.pages === 'all') : all
  if (rules.length === 0) return 'none'
  return rules.some(({ rule }) => rule.under === undefined) ? 'all' : 'some'
}

/** Matching rules by the number of their list and the branch. Each entry has at most 2 kB. */
const matched = createCache<readonly HeldRule[]>('matching_rules')
/** Numbers the lists of rules, which are cached themselves. */
const numbers = new WeakMap<readonly Rule[], number>()
let lastNumber = 0

/** Matches each branch once. A list of pull requests has the same branch 100 times. */
function matchingRules(rules: readonly Rule[], branch: string): readonly HeldRule[] {
  const number = numbers.get(rules) ?? ++lastNumber
  numbers.set(rules, number)
  const key = `${number}:${branch}`
  const known = matched.get(key)
  if (known) return known
  const found = rules.flatMap((rule, at): HeldRule[] => (matchesRule(rule, branch) ? [{ rule, at }] : []))
  matched.set(key, found)
  return found
}
