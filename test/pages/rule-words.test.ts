/** Rules of an organisation in words. */

import { expect } from 'chai'
import fc from 'fast-check'
import { describeRule, type Rule } from '../../server/pages/text/rule-words.ts'

const names = {
  users: new Map([
    ['a', 'Ann'],
    ['b', 'Bob'],
    ['c', 'Cleo'],
  ]),
  pages: new Map([['w', 'Whales']]),
}
const plain: Rule = {
  branches: ['main'],
  approvals: 0,
  by: { role: 'editor' },
  keep: 'same_change',
  checks: [],
  resolved: false,
  merge: 'editor',
  override: 'owner',
  pages: 'all',
}

describe('the sentence of a rule', () => {
  const [all, ends] = ['Every change of all pages needs', 'Editors merge. Owners may override.']
  const examples: readonly (readonly [Partial<Rule>, string])[] = [
    [{}, 'Every change of all pages needs a proposal. Editors merge.'],
    [{ merge: 'maintainer', override: 'nobody' }, 'Every change of all pages needs a proposal. Maintainers merge.'],
    [
      { pages: 'existing' },
      'Every change of all pages needs a proposal. Editors merge. No proposal is needed to create or delete a page.',
    ],
    [
      {
        ...{ approvals: 2, by: { role: 'maintainer' }, checks: [{ name: 'links' }], resolved: true },
        merge: 'maintainer',
      },
      'Every change of all pages needs 2 approvals by maintainers or owners, and the check links, and all threads resolved. Maintainers merge. Owners may override.',
    ],
    [
      { branches: ['main', 'next', 'release/**'], approvals: 1, override: 'nobody' },
      'Every change of all pages on main, next and release/** needs 1 approval by anyone who may publish. Editors merge. Nobody may override.',
    ],
    [
      { under: 'w', approvals: 1, by: { role: 'reader' }, keep: 'same_commit' },
      'Every change of “Whales” and the pages below it needs 1 approval by any member, again for each new version. Editors merge. Owners may override.',
    ],
    [
      { under: 'gone', resolved: true },
      'Every change of a deleted page needs all threads resolved. Editors merge. Owners may override.',
    ],
    [{ approvals: 1, by: { people: ['a'] } }, `${all} 1 approval by Ann. ${ends}`],
    [{ approvals: 1, by: { people: ['a', 'b'] } }, `${all} 1 approval by Ann or Bob. ${ends}`],
    [{ approvals: 2, by: { people: ['a', 'b'] } }, `${all} 2 approvals by Ann and Bob. ${ends}`],
    [
      { approvals: 2, by: { people: ['a', 'b', 'gone'] } },
      `${all} 2 approvals by Ann, Bob or a former member. ${ends}`,
    ],
    [{ approvals: 2, by: { role: 'owner', people: ['a'] } }, `${all} 2 approvals by owners or Ann. ${ends}`],
    [
      { checks: [{ name: 'links', from: 'c' }, { name: 'spelling' }] },
      `${all} the checks links (by Cleo) and spelling. ${ends}`,
    ],
  ]
  for (const [rule, sentence] of examples)
    it(`is “${sentence}”`, () => {
      expect(describeRule({ ...plain, ...rule }, names)).to.equal(sentence)
    })

  const id = fc.constantFrom('a', 'b', 'c')
  const role = fc.constantFrom('reader', 'contributor', 'editor', 'maintainer', 'owner')
  const some = (of: fc.Arbitrary<string>) => fc.uniqueArray(of, { minLength: 1, maxLength: 3 })
  const rules = fc.record({
    branches: some(fc.constantFrom('main', 'next', 'release/**')),
    approvals: fc.nat(3),
    by: fc.oneof(fc.record({ role }), fc.record({ people: some(id) }), fc.record({ role, people: some(id) })),
    keep: fc.constantFrom('same_change', 'same_commit'),
    checks: fc.uniqueArray(
      fc.oneof(
        fc.record({ name: fc.constantFrom('links', 'spelling') }),
        fc.record({ name: fc.constantFrom('links', 'spelling'), from: id }),
      ),
      { maxLength: 2, selector: ({ name }) => name },
    ),
    resolved: fc.boolean(),
    merge: fc.constantFrom('editor', 'maintainer', 'owner'),
    override: fc.constantFrom('owner', 'nobody'),
    pages: fc.constantFrom('all', 'existing'),
  }) as fc.Arbitrary<Rule>

  /** The rule without what has no effect. */
  const effect = (rule: Rule) => {
    const { approvals, by, keep, override, ...rest } = rule
    const demands = approvals > 0 || rule.resolved || rule.checks.length > 0
    return JSON.stringify([rest, approvals > 0 && [approvals, by, keep], demands && override])
  }

  it('differs for rules with different effects', () => {
    const seen = new Map<string, string>()
    fc.assert(
      fc.property(rules, (rule) => {
        const sentence = describeRule(rule, names)
        expect(seen.get(sentence) ?? effect(rule)).to.equal(effect(rule))
        seen.set(sentence, effect(rule))
        expect(sentence).to.not.match(/undefined|null| {2}|;;/)
      }),
      { numRuns: 5000 },
    )
    expect(seen.size).to.be.greaterThan(1000)
  })
})
