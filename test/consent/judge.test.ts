/** Rules judge a pull request, against a second judge that follows the words of the contract. */

import { expect } from 'chai'
import fc from 'fast-check'
import { roles } from '../../index/derived/schema.ts'
import {
  consentReasons,
  type HeldRule,
  type JudgedCheck,
  type JudgedVerdict,
  judge,
} from '../../server/domain/consent/judge.ts'
import type { Rule } from '../../server/domain/format/rule-format.ts'

const people = ['ann', 'bo', 'cy', 'di'] as const
const checkNames = ['links', 'spelling'] as const
const opener = 'ann'

const ruleArbitrary: fc.Arbitrary<Rule> = fc.record({
  branches: fc.constant(['main']),
  approvals: fc.nat(3),
  by: fc.oneof(
    fc.record({ role: fc.constantFrom(...roles) }),
    fc.record({ people: fc.subarray([...people], { minLength: 1 }) }),
    fc.record({ role: fc.constantFrom(...roles), people: fc.subarray([...people], { minLength: 1 }) }),
  ),
  keep: fc.constantFrom('same_change', 'same_commit'),
  checks: fc.array(
    fc.oneof(
      fc.record({ name: fc.constantFrom(...checkNames) }),
      fc.record({ name: fc.constantFrom(...checkNames), from: fc.constantFrom(...people) }),
    ),
    { maxLength: 2 },
  ),
  resolved: fc.boolean(),
  merge: fc.constantFrom('editor', 'maintainer', 'owner'),
  override: fc.constantFrom('owner', 'nobody'),
  pages: fc.constantFrom('all', 'existing'),
})

const verdictArbitrary = (user_id: string): fc.Arbitrary<JudgedVerdict> =>
  fc
    .record({
      verdict: fc.constantFrom('approve' as const, 'request_changes' as const),
      state: fc.constantFrom(
        'current' as const,
        'current' as const,
        'stale' as const,
        'withdrawn' as const,
        'dismissed' as const,
      ),
      sameness: fc.constantFrom('same_commit' as const, 'same_change' as const),
      role: fc.constantFrom(null, ...roles),
      isCommitAuthor: fc.boolean(),
    })
    .map((one) => ({ ...one, user_id, isOpener: user_id === opener }))

const checkArbitrary = (name: string): fc.Arbitrary<JudgedCheck> =>
  fc
    .record({
      state: fc.constantFrom(
        'pending' as const,
        'success' as const,
        'failure' as const,
        'unknown' as const,
        'damaged' as const,
      ),
      user_id: fc.constantFrom(null, ...people),
    })
    .map((one) => ({ ...one, name, isOwn: one.user_id === opener }))

const situationArbitrary = fc.record({
  rules: fc.array(ruleArbitrary, { maxLength: 3 }),
  verdicts: fc
    .tuple(...people.map((id) => fc.option(verdictArbitrary(id), { nil: undefined })))
    .map((all) => all.filter((one) => one !== undefined)),
  checks: fc
    .tuple(...checkNames.map((name) => fc.option(checkArbitrary(name), { nil: undefined })))
    .map((all) => all.filter((one) => one !== undefined)),
  openThreads: fc.nat(2),
})

type Situation = typeof situationArbitrary extends fc.Arbitrary<infer T> ? T : never

/** Reads one rule at a time, and one sentence of the contract at a time. */
function naiveReasons({ rules, verdicts, checks, openThreads }: Situation): string[] {
  const found = new Set<string>()
  for (const rule of rules) {
    let approvals = 0
    for (const { user_id, role, verdict, state, sameness, isCommitAuthor } of verdicts) {
      const isMember = role !== null
      const isNamed = 'people' in rule.by && (rule.by.people ?? []).includes(user_id)
      const hasRole = isMember && rule.by.role !== undefined && roles.indexOf(role) >= roles.indexOf(rule.by.role)
      const isAsked = isMember && (isNamed || hasRole)
      const isOn = state !== 'withdrawn' && state !== 'dismissed'
      if (rule.approvals > 0 && verdict === 'request_changes' && state === 'current' && isAsked && user_id !== opener)
        found.add('changes_requested')
      const isSame = state === 'current' && (rule.keep === 'same_change' || sameness === 'same_commit')
      if (verdict === 'approve' && isOn && isSame && isAsked && user_id !== opener && !isCommitAuthor) approvals++
    }
    if (approvals < rule.approvals) found.add('approvals_missing')
    for (const { name, from } of rule.checks) {
      const report = checks.find((one) => one.name === name)
      const isFromRight = report && (from === undefined ? report.user_id !== opener : report.user_id === from)
      if (isFromRight && report.state === 'failure') found.add('checks_failed')
      else if (!isFromRight || report.state !== 'success') found.add('checks_missing')
    }
    if (rule.resolved && openThreads > 0) found.add('threads_open')
  }
  return consentReasons.filter((reason) => found.has(reason))
}

const held = (rules: readonly Rule[]): HeldRule[] => rules.map((rule, at) => ({ rule, at }))

describe('judging a pull request', () => {
  it.deep('gives the reasons that the contract gives, whatever the rules, verdicts and checks', () => {
    const seen = new Map<string, number>()
    fc.assert(
      fc.property(situationArbitrary, (situation) => {
        const { reasons } = judge(held(situation.rules), situation)
        expect(reasons).to.deep.equal(naiveReasons(situation))
        for (const reason of reasons.length > 0 ? reasons : ['none']) seen.set(reason, (seen.get(reason) ?? 0) + 1)
      }),
      { numRuns: 20_000 },
    )
    expect([...seen.keys()]).to.have.members([...consentReasons, 'none'])
    expect(Math.min(...seen.values())).to.be.greaterThan(200)
  })

  it('is only stricter with one rule more', () => {
    fc.assert(
      fc.property(situationArbitrary, ruleArbitrary, (situation, rule) => {
        const before = judge(held(situation.rules), situation)
        const after = judge(held([...situation.rules, rule]), situation)
        expect(after.reasons).to.include.members([...before.reasons])
        expect(roles.indexOf(after.mergeRole)).to.be.at.least(roles.indexOf(before.mergeRole))
        expect(before.mayOverride || !after.mayOverride).to.equal(true)
      }),
      { numRuns: 5_000 },
    )
  })

  it('does not depend on the order of rules, verdicts and checks', () => {
    fc.assert(
      fc.property(situationArbitrary, ({ rules, verdicts, checks, openThreads }) => {
        const turned = { verdicts: verdicts.toReversed(), checks: checks.toReversed(), openThreads }
        const one = judge(held(rules), { verdicts, checks, openThreads })
        const other = judge(held(rules).toReversed(), turned)
        expect(other.reasons).to.deep.equal(one.reasons)
        expect(other.notCounted.size).to.equal(one.notCounted.size)
      }),
      { numRuns: 5_000 },
    )
  })

  it('counts a verdict if and only if it changes what some rule needs', () => {
    fc.assert(
      fc.property(situationArbitrary, (situation) => {
        const { rules, verdicts } = situation
        const asking = rules.map((rule) => ({ ...rule, approvals: rule.approvals > 0 ? 20 : 0 }))
        const whole = judge(held(asking), situation)
        for (const verdict of verdicts) {
          if (verdict.verdict !== 'approve' || asking.every(({ approvals }) => approvals === 0)) continue
          const without = judge(held(asking), { ...situation, verdicts: verdicts.filter((one) => one !== verdict) })
          const needs = (missing: typeof whole.missing) => missing.reduce((sum, { needed }) => sum + needed, 0)
          expect(needs(without.missing) > needs(whole.missing)).to.equal(!whole.notCounted.has(verdict))
        }
      }),
      { numRuns: 5_000 },
    )
  })
})
