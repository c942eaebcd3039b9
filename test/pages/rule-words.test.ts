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
}

describe('the sentence of a rule', () => {
  const examples: readonly (readonly [Partial<Rule>, string])[] = [
    [{}, 'main: changes only by proposals; editors merge'],
    [{ merge: 'maintainer', override: 'nobody' }, 'main: changes only by proposals; maintainers merge'],
    [
      {
        ...{ approvals: 2, by: { role: 'maintainer' }, checks: [{ name: 'links' }], resolved: true },
        merge: 'maintainer',
      },
      'main: 2 maintainers approve; the check links passes; all threads are resolved; maintainers merge; owners may override',
    ],
    [
      { branches: ['main', 'next', 'release/**'], approvals: 1, override: 'nobody' },
      'main, next and release/**: 1 editor approves; editors merge; nobody may override',
    ],
    [
      { under: 'w', approvals: 1, by: { role: 'reader' }, keep: 'same_commit' },
      'main of “Whales” and the pages below it: 1 member approves; a new commit needs new approvals; editors merge; owners may override',
    ],
    [
      { under: 'gone', resolved: true },
      'main of a deleted page: all threads are resolved; editors merge; owners may override',
    ],
    [{ approvals: 1, by: { people: ['a'] } }, 'main: Ann approves; editors merge; owners may override'],
    [{ approvals: 1, by: { people: ['a', 'b'] } }, 'main: Ann or Bob approves; editors merge; owners may override'],
    [{ approvals: 2, by: { people: ['a', 'b'] } }, 'main: Ann and Bob approve; editors merge; owners may override'],
    [
      { approvals: 2, by: { people: ['a', 'b', 'gone'] } },
      'main: 2 of these approve: Ann, Bob, a former member; editors merge; owners may override',
    ],
    [
      { approvals: 2, by: { role: 'owner', people: ['a'] } },
      'main: 2 of these approve: owners, Ann; editors merge; owners may override',
    ],
    [
      { checks: [{ name: 'links', from: 'c' }, { name: 'spelling' }] },
      'main: the checks links (by Cleo) and spelling pass; editors merge; owners may override',
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
