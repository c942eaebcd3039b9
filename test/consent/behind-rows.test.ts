/** Rows that are behind the ledger: a merge judges by the ledger, whose lock it holds. */

import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readFactsAt } from '../../server/domain/consent/facts.ts'
import { nodeRepo } from '../../server/domain/layout.ts'
import { expecting } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import {
  ann,
  aProposal,
  bob,
  cy,
  grove,
  headOf,
  max,
  type Proposal,
  proposalOn,
  report,
  review,
  setRules,
  useDoors,
  whileWaiting,
} from './doors.ts'

const ledger = 'refs/grove/ledger'

const tipOf = ({ node }: Proposal) => node.git.say('rev-parse', ledger)

/** Indexes the node at this ledger commit, and moves the ledger to another one that no row knows. */
async function rowsAt(proposal: Proposal, indexed: string, present: string): Promise<void> {
  proposal.node.git.say('update-ref', ledger, indexed)
  await ann.get(proposal.path).then(expecting(200))
  proposal.node.git.say('update-ref', ledger, present)
}

/** The facts that a merge reads at the ledger commit. */
async function factsAt({ node, number }: Proposal, head: string, at: string) {
  const repo = nodeRepo(grove.deps.store, node.org, node.id)
  const org = { id: node.org } as Parameters<typeof readFactsAt>[1]['org'] // only the id is read
  const row = { id: node.id } as Parameters<typeof readFactsAt>[1]['node'] // the same
  return readFactsAt(grove.deps, { org, node: row, repo }, { number, head }, at)
}

/** Sends a merge that waits for the ledger, and lets the ledger move before the merge has its lock. */
function mergeWhile(proposal: Proposal, present: string): Promise<Answer> {
  const merge = () => ann.post(`${proposal.path}/merge`)
  return whileWaiting(proposal.node, merge, (lock) => {
    writeFileSync(lock, `${present}\n`)
    renameSync(lock, join(proposal.node.git.dir, ledger))
  })
}

/** A proposal that may merge, by two approvals, a check and a thread that is resolved. */
async function aReadyProposal(): Promise<Proposal> {
  const proposal = await aProposal()
  await bob.post(`${proposal.path}/comments`, { text: 'A source?' }).then(expecting(201))
  await bob.patch(`${proposal.path}/threads/1`, { resolved: true }).then(expecting(200))
  for (const by of [bob, cy]) await review(by, proposal, 'approve')
  await report(bob, proposal, 'links', { state: 'success' })
  expect(await proposal.node.pull(1)).to.include({ can_merge: true })
  return proposal
}

interface Act {
  readonly act: (proposal: Proposal) => Promise<unknown>
  readonly code: string
  readonly isDeep?: boolean
}

/** Later acts, and the reason for which the merge is then refused. */
const acts: Readonly<Record<string, Act>> = {
  'an objection': { act: (proposal) => review(cy, proposal, 'request_changes'), code: 'changes_requested' },
  'an objection in another pull request of the same head': {
    act: async ({ node, number, source }) => {
      await ann.post(`${node.at}/branches`, { name: 'again', from: source }).then(expecting(201))
      await review(cy, await proposalOn(node, 'again'), 'request_changes')
      expect(await node.pull(number)).to.include({ merge_reason: 'changes_requested' })
    },
    code: 'changes_requested',
    isDeep: true,
  },
  'a review that is withdrawn': {
    act: ({ path }) => cy.patch(`${path}/reviews/3`, { state: 'withdrawn' }).then(expecting(200)),
    code: 'approvals_missing',
  },
  'a review that is dismissed': {
    act: ({ path }) => max.patch(`${path}/reviews/2`, { state: 'dismissed', reason: 'Too fast' }).then(expecting(200)),
    code: 'approvals_missing',
  },
  'a check that fails': {
    act: (proposal) => report(bob, proposal, 'links', { state: 'failure' }),
    code: 'checks_failed',
  },
  'a check that is pending again': {
    act: (proposal) => report(bob, proposal, 'links', { state: 'pending' }),
    code: 'checks_missing',
  },
  'a new thread': {
    act: ({ path }) => cy.post(`${path}/comments`, { text: 'And here?' }).then(expecting(201)),
    code: 'threads_open',
  },
  'a thread that is open again': {
    act: ({ path }) => cy.patch(`${path}/threads/1`, { resolved: false }).then(expecting(200)),
    code: 'threads_open',
  },
  'entries that are gone': {
    act: async ({ node }) => {
      const files = { 'reviews/0/0/1/0/2.json': null, 'reviews/0/0/1/0/3.json': null }
      const parents = [node.git.say('rev-parse', ledger)]
      node.git.say('update-ref', ledger, node.git.commit({ files, parents, message: 'by hand' }))
    },
    code: 'approvals_missing',
  },
}

describe('a merge whose rows are behind the ledger', () => {
  useDoors()

  for (const [name, { act, code, isDeep = false }] of Object.entries(acts))
    (isDeep ? it.deep : it)(`sees ${name}, and what was before it`, async () => {
      await setRules({ branches: ['main'], approvals: 2, checks: [{ name: 'links' }], resolved: true })
      const proposal = await aReadyProposal()
      const [head, ready] = [await headOf(proposal), tipOf(proposal)]
      await act(proposal)
      const held = tipOf(proposal)
      // The same facts, from whichever rows.
      const ways = [
        [ready, ready],
        [held, ready],
        [held, held],
        [ready, held],
      ] as const
      const facts = []
      for (const [indexed, present] of ways) {
        await rowsAt(proposal, indexed, present)
        facts.push(await factsAt(proposal, head, present))
      }
      expect(facts[1], 'rows are ahead').to.deep.equal(facts[0])
      expect(facts[3], 'rows are behind').to.deep.equal(facts[2])
      expect(facts[2]).to.not.deep.equal(facts[0])

      await rowsAt(proposal, ready, ready)
      const base = proposal.node.git.head()
      const refused = await mergeWhile(proposal, held)
      expect([refused.status, refused.body.code]).to.deep.equal([409, code])
      expect(proposal.node.git.head()).to.equal(base)
      await rowsAt(proposal, held, held)
      const merged = await mergeWhile(proposal, ready)
      expect(merged.status, JSON.stringify(merged.body)).to.equal(200)
      expect(proposal.node.git.head()).to.equal(head)
      proposal.node.git.fsck()
    })
})
