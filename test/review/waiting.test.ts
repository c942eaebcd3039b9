/** The list of what waits for a user: reviews, mentions, answers, and the user's own pull requests. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { type Client, client, password } from '../support/people.ts'
import { ann, aProposal, bob, comment, cy, eve, grove, type Proposal, pass, review, useScene } from './scene.ts'

/** The reasons why a proposal waits for a user; undefined if it does not. */
const reasonsFor = async (by: Client, { node, number }: Proposal): Promise<string[] | undefined> => {
  const everywhere = (await by.get('/waiting?limit=200').then(expecting(200))).body
  const here = (await by.get(`/orgs/${node.org}/waiting?limit=200`).then(expecting(200))).body
  const ofOrg = everywhere.waiting.filter((one: { org_id: string }) => one.org_id === node.org)
  expect(here.waiting).to.deep.equal(ofOrg)
  return ofOrg.find((one: { node_id: string; number: number }) => one.node_id === node.id && one.number === number)
    ?.reasons
}

describe('what waits for a user', () => {
  useScene()

  it('is a review that is asked, until there is a verdict on the current change', async () => {
    const proposal = await aProposal(undefined, { reviewers: [bob.user.id] })
    expect(await reasonsFor(bob, proposal)).to.deep.equal(['review_requested'])
    expect(await reasonsFor(cy, proposal)).to.equal(undefined)
    await review(bob, proposal, 'approve')
    expect(await reasonsFor(bob, proposal)).to.equal(undefined)
    await proposal.node.commit('draft', { 'content.md': 'Whales sing loudly.\n' })
    expect(await reasonsFor(bob, proposal)).to.deep.equal(['review_requested'])
    await ann.patch(proposal.path, { is_draft: true }).then(expecting(200))
    expect(await reasonsFor(bob, proposal)).to.equal(undefined)
  })

  it('is an approval that a rule asks for by name, while it is missing', async () => {
    const proposal = await aProposal()
    const other = await aProposal()
    const rules = async (...rules: object[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    try {
      const rule = {
        branches: ['m*'],
        approvals: 1,
        by: { people: [cy.user.id, ann.user.id] },
        under: proposal.node.id,
      }
      await rules(rule)
      expect(await reasonsFor(cy, proposal)).to.deep.equal(['review_requested'])
      expect(await reasonsFor(cy, other), 'the rule is for another part').to.equal(undefined)
      expect(await reasonsFor(bob, proposal), 'not named').to.equal(undefined)
      expect(await reasonsFor(ann, proposal), 'the author').to.equal(undefined)
      await review(cy, proposal, 'approve')
      expect(await reasonsFor(cy, proposal)).to.equal(undefined)
      expect(await reasonsFor(ann, proposal)).to.deep.equal(['ready_to_merge'])
      await proposal.node.commit('draft', { 'content.md': 'Whales sing loudly.\n' })
      expect(await reasonsFor(cy, proposal), 'another change').to.deep.equal(['review_requested'])
      await rules({ ...rule, branches: ['release/**'] })
      expect(await reasonsFor(cy, proposal), 'another branch').to.equal(undefined)
      await rules({ ...rule, approvals: 0, checks: [{ name: 'links', from: cy.user.id }] })
      expect(await reasonsFor(cy, proposal), 'no approvals').to.equal(undefined)
    } finally {
      await rules()
    }
  })

  it('is not ready while a rule holds it up', async () => {
    const proposal = await aProposal()
    await review(bob, proposal, 'approve')
    expect(await reasonsFor(ann, proposal)).to.deep.equal(['ready_to_merge'])
    await ann.patch(`/orgs/${ann.org}`, { rules: [{ branches: ['main'], approvals: 2 }] }).then(expecting(200))
    expect(await reasonsFor(ann, proposal)).to.equal(undefined)
    await ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200))
  })

  it('is a mention, until the user has read it or written', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'See this, @Bob.')
    expect(await reasonsFor(bob, proposal)).to.deep.equal(['mentioned'])
    await bob.put(`${proposal.path}/read-mark`, { entry: 1 }).then(expecting(204))
    expect(await reasonsFor(bob, proposal)).to.equal(undefined)
    await comment(cy, proposal, 'And this, @Bob.')
    expect(await reasonsFor(bob, proposal)).to.deep.equal(['mentioned'])
    await comment(bob, proposal, 'Seen.')
    expect(await reasonsFor(bob, proposal)).to.equal(undefined)
    await cy.patch(`${proposal.path}/comments/2`, { text: 'And this, @Di.' }).then(expecting(200))
    await comment(cy, proposal, '@Bob')
    await cy.delete(`${proposal.path}/comments/4`).then(expecting(204))
    expect(await reasonsFor(bob, proposal)).to.equal(undefined)
  })

  it('is an answer in a thread that the user takes part in, unless it is muted', async () => {
    const proposal = await aProposal()
    await comment(bob, proposal, 'A question.')
    await comment(cy, proposal, 'Another thread.')
    expect(await reasonsFor(bob, proposal)).to.equal(undefined)
    await comment(cy, proposal, 'An answer.', { thread: 1 })
    expect(await reasonsFor(bob, proposal)).to.deep.equal(['answered'])
    await bob.put(`${proposal.path}/read-mark`, { entry: 3, muted: true }).then(expecting(204))
    await comment(cy, proposal, 'One more.', { thread: 1 })
    expect(await reasonsFor(bob, proposal)).to.equal(undefined)
    await bob.put(`${proposal.path}/read-mark`, { entry: 4 }).then(expecting(204))
    await comment(cy, proposal, 'Still more.', { thread: 1 })
    expect(await reasonsFor(bob, proposal), 'muted as before').to.equal(undefined)
    await comment(cy, proposal, '@Bob', { thread: 1 })
    expect(await reasonsFor(bob, proposal)).to.deep.equal(['mentioned'])
  })

  it('is an own proposal with changes asked, open threads, or an approval that can be merged', async () => {
    const proposal = await aProposal()
    expect(await reasonsFor(ann, proposal)).to.equal(undefined)
    await comment(cy, proposal, 'A question.')
    expect(await reasonsFor(ann, proposal)).to.deep.equal(['open_threads'])
    await review(bob, proposal, 'request_changes')
    expect(await reasonsFor(ann, proposal)).to.deep.equal(['changes_requested', 'open_threads'])
    await review(bob, proposal, 'approve')
    expect(await reasonsFor(ann, proposal)).to.deep.equal(['open_threads'])
    await cy.patch(`${proposal.path}/threads/1`, { resolved: true }).then(expecting(200))
    expect(await reasonsFor(ann, proposal)).to.deep.equal(['ready_to_merge'])
    await ann.post(`${proposal.path}/merge`).then(expecting(200))
    expect(await reasonsFor(ann, proposal)).to.equal(undefined)
  })

  it('ends with the membership, and comes in pages, the last active first', async () => {
    const proposal = await aProposal(undefined, { reviewers: [cy.user.id] })
    pass(10)
    const later = await aProposal(undefined, { reviewers: [cy.user.id] })
    const { waiting, total, limit } = (await cy.get('/waiting?limit=1').then(expecting(200))).body
    expect({ total, limit, node: waiting[0].node_id }).to.deep.equal({ total, limit: 1, node: later.node.id })
    expect(total).to.be.greaterThan(1)
    await ann.delete(`/orgs/${ann.org}/members/cy@example.org`).then(expecting(204))
    expect((await cy.get('/waiting').then(expecting(200))).body.total).to.equal(0)
    expect((await cy.get(`/orgs/${ann.org}/waiting`)).status).to.equal(404)
    expect((await eve.put(`${proposal.path}/read-mark`, { entry: 1 })).status).to.equal(404)
  })

  it('keeps a mark from going back, or beyond what is there', async () => {
    const proposal = await aProposal()
    await comment(bob, proposal, 'One.')
    await bob.put(`${proposal.path}/read-mark`, { entry: 1_000 }).then(expecting(204))
    await comment(ann, proposal, '@Bob')
    expect(await reasonsFor(bob, proposal)).to.deep.equal(['mentioned'])
    await bob.put(`${proposal.path}/read-mark`, { entry: 2 }).then(expecting(204))
    await bob.put(`${proposal.path}/read-mark`, { entry: 1 }).then(expecting(204))
    expect(await reasonsFor(bob, proposal)).to.equal(undefined)
  })

  it('is no longer a mention after 90 days', async () => {
    const proposal = await aProposal()
    await comment(ann, proposal, '@Bob')
    expect(await reasonsFor(bob, proposal)).to.deep.equal(['mentioned'])
    pass(91 * 24 * 3600)
    const { accessToken } = (await bob.post('/auth/login', { email: bob.user.email, password }).then(expecting(200)))
      .body
    expect(await reasonsFor(client(grove, accessToken), proposal)).to.equal(undefined)
  })
})
