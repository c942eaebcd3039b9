/** Each rule, at each door through which a proposal merges: it refuses, and after consent it lets the merge in. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import type { PersonClient } from '../support/people.ts'
import {
  ann,
  aProposal,
  bob,
  cy,
  doors,
  expectMerged,
  headOf,
  max,
  type Proposal,
  proposalOn,
  type Refusal,
  rae,
  refsOf,
  report,
  review,
  setRules,
  useDoors,
} from './doors.ts'

/** A situation that a rule refuses, and what satisfies the rule. */
interface Case extends Refusal {
  /** Sets the rules. The proposal is made before. */
  readonly rules: (proposal: Proposal) => Promise<unknown>
  readonly hold?: (proposal: Proposal) => Promise<unknown>
  readonly satisfy: (proposal: Proposal) => Promise<unknown>
  /** The user who tries first. Default: Ann. */
  readonly first?: () => PersonClient
  /** The user who merges. Default: Ann. */
  readonly second?: () => PersonClient
}

const onMain = { branches: ['main'] }
const more = (proposal: Proposal) => proposal.node.commit(proposal.source, { 'more.txt': 'More.\n' })
const approvals = (lines: string[], needed = '1 more approval'): Refusal => ({
  code: 'approvals_missing',
  detail: `The pull request needs ${needed}: ${lines.join('; ')}`,
  reason: `pull request 1 needs ${needed}`,
  lines,
})
const check = (outcome: string, lines: string[] = []): Refusal => ({
  code: outcome === 'has failed' ? 'checks_failed' : 'checks_missing',
  detail: `The check links ${outcome}`,
  reason: `pull request 1: check links ${outcome}`,
  lines,
})
const role = (needed: string, own: string): Refusal => ({
  status: 403,
  code: 'forbidden',
  detail: `You need the ${needed} role; yours is ${own}`,
  reason: `You need the ${needed} role; yours is ${own}`,
  page: false,
})

const cases: Readonly<Record<string, Case>> = {
  'approvals by role': {
    rules: () => setRules({ ...onMain, approvals: 1, by: { role: 'maintainer' } }),
    hold: (proposal) => review(bob, proposal, 'approve'),
    ...approvals(['1 by maintainers']),
    satisfy: (proposal) => review(max, proposal, 'approve'),
  },
  'approvals by two, of which one is of an earlier change': {
    rules: () => setRules({ ...onMain, approvals: 2 }),
    hold: async (proposal) => {
      await review(cy, proposal, 'approve')
      await more(proposal)
      await review(bob, proposal, 'approve')
    },
    ...approvals(['2 by editors; approved: Bob', 'stale: Cy (the change is another one since)']),
    satisfy: (proposal) => review(cy, proposal, 'approve'),
  },
  'approvals by people': {
    rules: () => setRules({ ...onMain, approvals: 1, by: { people: [rae.user.id] } }),
    hold: (proposal) => review(max, proposal, 'approve'),
    ...approvals(['1 by 1 named person']),
    satisfy: (proposal) => review(rae, proposal, 'approve'),
  },
  'approvals by none of the authors': {
    rules: () => setRules({ ...onMain, approvals: 2, by: { role: 'editor', people: [rae.user.id] } }),
    hold: async (proposal) => {
      const commit = { message: 'Mine', changes: [{ action: 'put', path: 'bob.txt', content: 'Bob.\n' }] }
      await bob.post(`${proposal.node.at}/tree/draft/commits`, commit).then(expecting(201))
      await review(bob, proposal, 'approve')
    },
    ...approvals(
      ['2 by editors or 1 named person', 'not counted: Bob (wrote or pushed its commits)'],
      '2 more approvals',
    ),
    satisfy: async (proposal) => {
      await review(cy, proposal, 'approve')
      await review(rae, proposal, 'approve')
    },
  },
  'an approval that was withdrawn': {
    rules: () => setRules({ ...onMain, approvals: 1 }),
    hold: async (proposal) => {
      const entry = await review(bob, proposal, 'approve')
      await bob.patch(`${proposal.path}/reviews/${entry}`, { state: 'withdrawn' }).then(expecting(200))
    },
    ...approvals(['1 by editors']),
    satisfy: (proposal) => review(bob, proposal, 'approve'),
  },
  'an approval that was dismissed': {
    rules: () => setRules({ ...onMain, approvals: 1 }),
    hold: async (proposal) => {
      const entry = await review(bob, proposal, 'approve')
      const body = { state: 'dismissed', reason: 'Too fast' }
      await max.patch(`${proposal.path}/reviews/${entry}`, body).then(expecting(200))
    },
    ...approvals(['1 by editors']),
    satisfy: (proposal) => review(bob, proposal, 'approve'),
  },
  'an approval of the same commit': {
    rules: () => setRules({ ...onMain, approvals: 1, keep: 'same_commit' }),
    hold: async (proposal) => {
      await review(bob, proposal, 'approve')
      await setRules()
      await proposal.node.commit('main', { 'news.txt': 'News.\n' })
      await ann.post(`${proposal.path}/update-branch`).then(expecting(200))
      await setRules({ ...onMain, approvals: 1 })
      expect(await proposal.node.pull(1), 'as the same change it counts').to.include({ can_merge: true })
      await setRules({ ...onMain, approvals: 1, keep: 'same_commit' })
    },
    ...approvals(['1 by editors', 'stale: Bob (the commit is another one since)']),
    satisfy: (proposal) => review(bob, proposal, 'approve'),
  },
  'changes that are asked for': {
    rules: () => setRules({ ...onMain, approvals: 1 }),
    hold: async (proposal) => {
      await review(cy, proposal, 'approve')
      await review(bob, proposal, 'request_changes', 'Whales are no fish.\nSee the book.')
    },
    code: 'changes_requested',
    detail: 'Bob asks for changes. They can approve or withdraw their review, and a maintainer can dismiss it',
    reason: 'pull request 1: Bob asks for changes',
    lines: ['Whales are no fish.'],
    satisfy: (proposal) => review(bob, proposal, 'approve'),
  },
  ...Object.fromEntries(
    Object.entries({
      'of this commit': async () => undefined,
      'before the commit was amended': async ({ node: { git }, source }) => {
        git.point(source, git.say('commit-tree', `${source}^{tree}`, '-p', 'main', '-m', 'Amended'))
      },
      'before the commit was rebased': async ({ node: { git }, path }) => {
        const news = git.commit({ parents: [git.head()], files: { 'news.txt': 'News.\n' }, message: 'News' })
        git.point('main', news)
        await cy.post(`${path}/update-branch`).then(expecting(200))
      },
    } satisfies Record<string, (proposal: Proposal) => Promise<unknown>>).map(([when, change]): [string, Case] => [
      `changes that are asked for in another pull request ${when}`,
      {
        rules: () => setRules({ ...onMain, approvals: 1 }),
        hold: async (proposal) => {
          const { node, source } = proposal
          await ann.post(`${node.at}/branches`, { name: 'again', from: source }).then(expecting(201))
          const other = await proposalOn(node, 'again')
          await review(rae, other, 'request_changes')
          await review(bob, other, 'request_changes', 'Whales are no fish.')
          await ann.patch(other.path, { status: 'closed' }).then(expecting(200))
          await change(proposal)
          await review(cy, proposal, 'approve')
        },
        code: 'changes_requested',
        detail:
          'Bob asks for changes of the same change in pull request 2. They can approve or withdraw their review, and a maintainer can dismiss it',
        reason: 'pull request 1: Bob asks for changes of the same change in pull request 2',
        lines: ['Whales are no fish.'],
        satisfy: (proposal) => review(bob, proposal, 'approve'),
      },
    ]),
  ),
  'a check that was never reported': {
    rules: () => setRules({ ...onMain, checks: [{ name: 'links' }] }),
    hold: (proposal) => report(ann, proposal, 'links', { state: 'success' }), // the opener's own
    ...check('has not been reported'),
    satisfy: async (proposal) => {
      await more(proposal)
      await report(bob, proposal, 'links', { state: 'success' })
    },
  },
  'a check that is pending': {
    rules: () => setRules({ ...onMain, checks: [{ name: 'links' }] }),
    hold: (proposal) => report(bob, proposal, 'links', { state: 'pending', description: 'Queued' }),
    ...check('is pending', ['Queued']),
    satisfy: (proposal) => report(bob, proposal, 'links', { state: 'success' }),
  },
  'a check that has failed': {
    rules: () => setRules({ ...onMain, checks: [{ name: 'links' }] }),
    hold: (proposal) =>
      report(bob, proposal, 'links', { state: 'failure', description: '2 links', url: 'https://ci.example.org/7' }),
    ...check('has failed', ['2 links', 'https://ci.example.org/7']),
    satisfy: (proposal) => report(bob, proposal, 'links', { state: 'success' }),
  },
  'a check of the head before': {
    rules: () => setRules({ ...onMain, checks: [{ name: 'links' }] }),
    hold: async (proposal) => {
      await report(bob, proposal, 'links', { state: 'success' })
      await more(proposal)
    },
    ...check('has not been reported'),
    satisfy: (proposal) => report(bob, proposal, 'links', { state: 'success' }),
  },
  'a check from another user': {
    rules: () => setRules({ ...onMain, checks: [{ name: 'links', from: max.user.id }] }),
    hold: (proposal) => report(bob, proposal, 'links', { state: 'success' }),
    ...check('has not been reported'),
    satisfy: (proposal) => report(max, proposal, 'links', { state: 'success' }),
  },
  'threads that are open': {
    rules: () => setRules({ ...onMain, resolved: true }),
    hold: async ({ path }) => {
      for (const text of ['A source?', 'And here?']) await rae.post(`${path}/comments`, { text }).then(expecting(201))
    },
    code: 'threads_open',
    detail: 'The pull request has 2 open threads; resolve each of them first',
    reason: 'pull request 1 has 2 open threads',
    satisfy: async ({ path }) => {
      for (const thread of [1, 2]) await bob.patch(`${path}/threads/${thread}`, { resolved: true }).then(expecting(200))
    },
  },
  'the role that merges': {
    rules: () => setRules({ ...onMain, merge: 'maintainer' }),
    first: () => bob,
    ...role('maintainer', 'editor'),
    satisfy: async () => {},
    second: () => max,
  },
  'the role of the strictest rule': {
    rules: () => setRules({ ...onMain }, { branches: ['m*'], merge: 'owner' }),
    first: () => max,
    ...role('owner', 'maintainer'),
    satisfy: async () => {},
  },
  require_pull_requests: {
    rules: () => ann.patch(`/orgs/${ann.org}`, { require_pull_requests: true }).then(expecting(200)),
    first: () => bob,
    ...role('maintainer', 'editor'),
    satisfy: async () => {},
    second: () => max,
  },
  'a rule for a part of the graph': {
    rules: async ({ node }) => setRules({ ...onMain, under: node.id, approvals: 1 }),
    ...approvals(['1 by editors']),
    satisfy: (proposal) => review(bob, proposal, 'approve'),
  },
  'the second of two rules': {
    rules: () => setRules({ ...onMain, approvals: 1 }, { branches: ['**'], checks: [{ name: 'links' }] }),
    hold: (proposal) => review(bob, proposal, 'approve'),
    ...check('has not been reported'),
    satisfy: (proposal) => report(bob, proposal, 'links', { state: 'success' }),
  },
}

describe('a merge is refused, and later let in, through each door, by', () => {
  useDoors()

  for (const [name, { rules, hold, satisfy, first = () => ann, second = () => ann, ...refusal }] of Object.entries(
    cases,
  ))
    describe(name, () => {
      for (const [door, { refuses, allows }] of Object.entries(doors))
        it(door, async () => {
          const proposal = await aProposal()
          await rules(proposal)
          await hold?.(proposal)
          const before = refsOf(proposal.node)
          await refuses(proposal, first(), refusal)
          expect(refsOf(proposal.node)).to.equal(before)
          await satisfy(proposal)
          const head = await headOf(proposal)
          await allows(proposal, second())
          await expectMerged(proposal, head, second())
        })
    })
})
