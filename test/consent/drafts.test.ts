/** The content of a draft reaches `main` only once it is ready, or by a push that the rules of `main` let in. */

import { expect } from 'chai'
import { formsOf } from '../pages/forms.ts'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import type { Client, PersonClient } from '../support/people.ts'
import {
  ann,
  aProposal,
  bob,
  expectMerged,
  gitIn,
  grove,
  headOf,
  kim,
  max,
  type Proposal,
  report,
  review,
  setRules,
  tokenOf,
  useDoors,
  withToken,
} from './doors.ts'

const rule = { branches: ['main'], approvals: 1, checks: [{ name: 'links' }], merge: 'maintainer' }

/** A draft with all that the rule demands. */
async function aDraft(): Promise<Proposal> {
  const proposal = await aProposal({ is_draft: true })
  await review(bob, proposal, 'approve')
  await report(bob, proposal, 'links', { state: 'success' })
  return proposal
}

const merge = ({ path }: Proposal, by: Client, body: object = {}) =>
  by.post(`${path}/merge`, body).then((answer) => [answer.status, answer.body.code])

/** Presses the button of the page. */
async function press({ node, number, path }: Proposal, by: PersonClient) {
  const commit = (await by.get(path).then(expecting(200))).body.pr.source_commit
  const fields = { act: 'merge', commit, target: 'main' }
  return (await (await formsOf(grove, by))(`${pageAt(node.org, node.id)}/proposals/${number}`, fields)).status
}

const push = async ({ node }: Proposal, token: string, refs: string) =>
  (await gitIn(node, token, `git push -q $REMOTE ${refs}`)).text

describe('a draft', () => {
  useDoors()

  it.deep('with all that a rule demands goes to main through no door, until it is ready', async () => {
    const proposal = await aDraft()
    const { node, path } = proposal
    await setRules(rule)
    const before = node.git.head()
    for (const by of [ann, max, await withToken(max)]) expect(await merge(proposal, by)).to.deep.equal([409, 'draft'])
    expect(await merge(proposal, ann, { override: { reason: 'Now' } })).to.deep.equal([409, 'draft'])
    expect(await press(proposal, max)).to.equal(409)
    for (const refs of ['draft:main', '--atomic draft:main draft:extra', '+draft:main'])
      for (const token of [max.session.accessToken, await tokenOf(ann)])
        expect(await push(proposal, token, refs)).to.include(
          'main of this organisation moves only to the head of an open',
        )
    for (const act of ['update-branch', 'undo']) await ann.post(`${path}/${act}`)
    expect(node.git.head()).to.equal(before)
    await ann.patch(path, { is_draft: false }).then(expecting(200))
    const head = await headOf(proposal)
    await max.post(`${path}/merge`).then(expecting(200))
    await expectMerged(proposal, head, max)
  })

  it('stays open if its commits are pushed to a main without rules', async () => {
    const proposal = await aProposal({ is_draft: true })
    const { node, path } = proposal
    const [before, head] = [node.git.head(), await headOf(proposal)]
    expect(await merge(proposal, ann)).to.deep.equal([409, 'draft'])
    const closed = [kim.session.accessToken, await tokenOf(bob, 'propose')]
    for (const token of closed) expect(await push(proposal, token, 'draft:main')).to.include('remote rejected')
    expect(node.git.head()).to.equal(before)
    expect(await push(proposal, bob.session.accessToken, 'draft:main')).to.equal('')
    expect(node.git.head()).to.equal(head)
    const { pr } = (await ann.get(path).then(expecting(200))).body
    expect(pr).to.include({ status: 'open', is_draft: true, merge_reason: 'no_commits_ahead' })
  })
})
