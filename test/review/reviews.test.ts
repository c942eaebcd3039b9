/** Reviews: verdicts, the change for which they hold, and their timeline. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import {
  ann,
  aProposal,
  bob,
  comment,
  cy,
  di,
  ledgerFile,
  nodes,
  now,
  type Proposal,
  pass,
  pull,
  review,
  useScene,
} from './scene.ts'

const consentOf = async (proposal: Proposal) => {
  const { consent } = await pull(proposal)
  const { approvals, changes_requested } = consent
  const verdicts = consent.verdicts.map(
    (one: Record<string, unknown>) => `${one.author} ${one.verdict} ${one.state} ${one.counts}`,
  )
  return { approvals, changes_requested, verdicts }
}

describe('reviews of a pull request', () => {
  useScene()

  it('are written with their comments in one commit of the ledger', async () => {
    const proposal = await aProposal()
    const { node, path, head, base } = proposal
    const tip = node.git.say('rev-parse', 'refs/grove/ledger')
    const comments = [{ text: 'A source?' }, { text: 'Really?' }]
    const body = await review(bob, proposal, 'approve', { comments })
    expect(body).to.deep.include({ entry: 3, verdict: 'approve', state: 'current', text: 'Read.', comments: [1, 2] })
    expect(body).to.deep.include({ head_commit: head, base_commit: base, target_branch: 'main', author: 'Bob' })
    expect(node.git.lines('log', '--first-parent', '--format=%s', `${tip}..refs/grove/ledger`)).to.deep.equal([
      'review 1 3',
    ])
    expect(ledgerFile(proposal, 'reviews/0/0/1/0/3.json')).to.deep.equal({
      ...{ kind: 'verdict', id: body.id, by: { id: bob.user.id, name: 'Bob', email: 'bob@example.org' } },
      ...{ at: now(), verdict: 'approve', text: 'Read.', head, base, target_branch: 'main', comments: [1, 2] },
    })
    expect((await cy.get(`${path}/reviews/3`)).body).to.deep.equal(body)
    expect((await cy.get(`${path}/reviews`)).body).to.deep.equal({ reviews: [body], total: 1, limit: 50, offset: 0 })
    expect((await cy.get(`${path}/reviews/1`)).body.code).to.equal('review_not_found')
  })

  it('need the current head, another author, an open proposal, and something to say', async () => {
    const proposal = await aProposal()
    const { path, head, base } = proposal
    const refusal = async (by: typeof bob, fields: object) => {
      const { status, body } = await by.post(`${path}/reviews`, { expected_source_commit: head, ...fields })
      return [status, body.code ?? body.detail[0].loc.join('.')]
    }
    expect(await refusal(bob, { verdict: 'approve', expected_source_commit: base })).to.deep.equal([409, 'head_moved'])
    expect(await refusal(ann, { verdict: 'approve' })).to.deep.equal([409, 'own_pull_request'])
    expect(await refusal(bob, { verdict: 'request_changes' })).to.deep.equal([422, 'body.text'])
    expect(await refusal(bob, { text: 'x', comments: [{ text: ' ' }] })).to.deep.equal([422, 'body.comments.0.text'])
    await review(ann, proposal, 'comment')
    await ann.patch(path, { status: 'closed' }).then(expecting(200))
    expect(await refusal(bob, { verdict: 'approve' })).to.deep.equal([409, 'closed'])
    await ann.patch(path, { status: 'open' }).then(expecting(200))
    await bob.post(`${path}/merge`).then(expecting(200))
    expect(await refusal(bob, { verdict: 'approve' })).to.deep.equal([409, 'merged'])
  })

  it('with the id of an earlier one are refused, with its location', async () => {
    const proposal = await aProposal()
    const id = randomUUID()
    const comments = [{ text: 'A source?' }]
    await review(bob, proposal, 'comment', { id, comments })
    const again = { id, text: 'Read.', comments, expected_source_commit: proposal.head }
    const { status, body, headers } = await bob.post(`${proposal.path}/reviews`, again)
    expect({ status, code: body.code, entry: body.entry }).to.deep.equal({
      status: 409,
      code: 'comment_exists',
      entry: 2,
    })
    expect(headers.location).to.equal(`${proposal.path}/reviews/2`)
    expect((await pull(proposal)).comments).to.equal(1)
  })

  it('are not given by a personal access token', async () => {
    const { path, head } = await aProposal()
    const { token } = (await bob.post('/auth/tokens', { name: 'bot', access: 'write' }).then(expecting(201))).body
    const authorization = `Bearer ${token}`
    const { status, body } = await bob.post(
      `${path}/reviews`,
      { verdict: 'approve', expected_source_commit: head },
      { authorization },
    )
    expect({ status, code: body.code }).to.deep.equal({ status: 403, code: 'token_scope' })
  })

  it('count the last verdict of each member who is not the author', async () => {
    const proposal = await aProposal()
    await review(bob, proposal, 'approve')
    await review(cy, proposal, 'request_changes')
    await review(di, proposal, 'approve')
    await review(di, proposal, 'comment')
    await review(bob, proposal, 'request_changes')
    expect(await consentOf(proposal)).to.deep.equal({
      approvals: 1,
      changes_requested: 2,
      verdicts: ['Cy request_changes current true', 'Di approve current true', 'Bob request_changes current true'],
    })
    const states = (await cy.get(`${proposal.path}/reviews`)).body.reviews.map((one: { state: string }) => one.state)
    expect(states).to.deep.equal(['superseded', 'current', 'current', 'current', 'current'])
    await ann.delete(`/orgs/${ann.org}/members/bob@example.org`).then(expecting(204))
    expect(await consentOf(proposal)).to.deep.include({ approvals: 1, changes_requested: 1 })
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' }).then(expecting(200))
  })

  it('hold for the same change after a rebase, and not for another one', async () => {
    const proposal = await aProposal()
    const { node, path } = proposal
    await review(bob, proposal, 'approve')
    await review(cy, proposal, 'request_changes')
    await node.commit('main', { 'other.md': 'Beside.\n' })
    expect(await consentOf(proposal)).to.deep.include({ approvals: 1 })
    await ann.post(`${path}/update-branch`).then(expecting(200))
    const rebased = await pull(proposal)
    expect(rebased.source_commit).to.not.equal(proposal.head)
    expect(await consentOf(proposal)).to.deep.include({ approvals: 1, changes_requested: 1 })
    await node.commit('draft', { 'content.md': 'Whales sing loudly.\n' })
    expect(await consentOf(proposal)).to.deep.equal({
      approvals: 0,
      changes_requested: 1,
      verdicts: ['Bob approve stale false', 'Cy request_changes current true'],
    })
  })

  it('do not hold for another target', async () => {
    const proposal = await aProposal()
    const { node, path } = proposal
    await node.branch('release')
    await review(bob, proposal, 'approve')
    await ann.patch(path, { target_branch: 'release' }).then(expecting(200))
    expect((await consentOf(proposal)).verdicts).to.deep.equal(['Bob approve stale false'])
    await ann.patch(path, { target_branch: 'main' }).then(expecting(200))
    expect((await consentOf(proposal)).verdicts).to.deep.equal(['Bob approve current true'])
  })

  it('are withdrawn by their authors, and dismissed by maintainers with a reason', async () => {
    const proposal = await aProposal()
    const { path } = proposal
    const mine = await review(bob, proposal, 'approve')
    const other = await review(cy, proposal, 'request_changes')
    expect((await cy.patch(`${path}/reviews/${mine.entry}`, { state: 'withdrawn' })).status).to.equal(403)
    expect((await bob.patch(`${path}/reviews/${other.entry}`, { state: 'dismissed', reason: 'x' })).status).to.equal(
      403,
    )
    expect((await di.patch(`${path}/reviews/${other.entry}`, { state: 'dismissed', reason: ' ' })).status).to.equal(422)
    pass(5)
    const { body } = await bob.patch(`${path}/reviews/${mine.entry}`, { state: 'withdrawn' }).then(expecting(200))
    expect(body).to.deep.equal({ ...mine, state: 'withdrawn', withdrawn_at: now() })
    const dismissal = { state: 'dismissed', reason: 'The source is there now.' }
    const dismissed = await di.patch(`${path}/reviews/${other.entry}`, dismissal).then(expecting(200))
    expect(dismissed.body).to.deep.include({ dismissed_by: 'Di', dismissed_reason: dismissal.reason })
    expect(await consentOf(proposal)).to.deep.equal({
      approvals: 0,
      changes_requested: 0,
      verdicts: ['Bob approve withdrawn false', 'Cy request_changes dismissed false'],
    })
  })

  it('are asked of members, and listed for them in the organisation', async () => {
    const proposal = await aProposal(undefined, { reviewers: [bob.user.id] })
    const { path, node } = proposal
    const named = { user_id: bob.user.id, name: 'Bob', requested_at: now() }
    expect((await pull(proposal)).reviewers).to.deep.equal([named])
    pass(60)
    const { pr } = (await ann.patch(path, { reviewers: [cy.user.id, bob.user.id] }).then(expecting(200))).body
    expect(pr.reviewers).to.deep.equal([named, { user_id: cy.user.id, name: 'Cy', requested_at: now() }])
    for (const reviewers of [[ann.user.id], [nodes[0]?.id]])
      expect((await ann.patch(path, { reviewers })).body.detail[0].loc).to.deep.equal(['body', 'reviewers', 0])
    const list = async (by: typeof bob, reviewer: string) => {
      const { pull_requests } = (
        await by.get(`/orgs/${ann.org}/pull-requests?reviewer=${reviewer}`).then(expecting(200))
      ).body
      return pull_requests.map((one: { node_id: string }) => one.node_id)
    }
    expect(await list(cy, 'me')).to.deep.equal([node.id])
    expect(await list(ann, 'CY@example.org')).to.deep.equal([node.id])
    expect(await list(ann, 'me')).to.deep.equal([])
    await ann.patch(path, { reviewers: [] }).then(expecting(200))
    expect(await list(cy, 'me')).to.deep.equal([])
    expect(ledgerFile(proposal, 'pulls/0/0/1.json')).to.not.have.property('reviewers')
  })

  it('are in the timeline, with comments and events, in the order of the ledger', async () => {
    const proposal = await aProposal()
    const { path } = proposal
    await comment(cy, proposal, 'A comment.')
    await ann.patch(path, { title: 'Better', description: 'More' }).then(expecting(200))
    await ann.patch(path, { reviewers: [bob.user.id] }).then(expecting(200))
    await review(bob, proposal, 'approve')
    await ann.patch(path, { status: 'closed' }).then(expecting(200))
    await ann.patch(path, { status: 'open' }).then(expecting(200))
    await bob.post(`${path}/merge`).then(expecting(200))
    const { entries, next } = (await cy.get(`${path}/timeline`).then(expecting(200))).body
    expect(next).to.equal(undefined)
    expect(
      entries.map((one: Record<string, Record<string, string>>) =>
        `${one.entry} ${one.kind} ${one.event?.event ?? ''}`.trim(),
      ),
    ).to.deep.equal([
      '1 comment',
      '2 event edit',
      '3 event request_review',
      '4 review',
      '5 event close',
      '6 event reopen',
      '7 event merge',
    ])
    expect(entries[1].event).to.deep.include({ author: 'Ann', author_id: ann.user.id })
    expect(entries[1].event.changes).to.deep.equal({ title: ['Merge draft', 'Better'], description: [] })
    expect(entries[2].event.changes).to.deep.equal({ reviewers: [[], [bob.user.id]] })
    const paged = []
    for (let after: number | undefined = 0; after !== undefined; ) {
      const answer: { body: { entries: unknown[]; next?: number } } = await cy.get(
        `${path}/timeline?limit=3&after=${after}`,
      )
      paged.push(...answer.body.entries)
      after = answer.body.next
    }
    expect(paged).to.deep.equal(entries)
  })

  it('leave repositories that git fsck finds clean', () => {
    expect(nodes).to.not.have.length(0)
    for (const { git } of nodes) git.fsck()
  })
})
