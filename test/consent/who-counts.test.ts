/** Whose approvals and merges count: users who left, changed or were deleted, tokens, and contributors. */

import { expect } from 'chai'
import { prefixOf } from '../support/cast.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, password } from '../support/people.ts'
import {
  ann,
  aProposal,
  become,
  bob,
  cy,
  doors,
  expectMerged,
  gitIn,
  grove,
  headOf,
  kim,
  max,
  member,
  type Proposal,
  type Refusal,
  refsOf,
  report,
  review,
  setRules,
  tokenOf,
  useDoors,
  withToken,
} from './doors.ts'

const one = { branches: ['main'], approvals: 1 }
const missing = (...lines: string[]): Refusal => ({
  code: 'approvals_missing',
  detail: `The pull request needs 1 more approval: ${lines.join('; ')}`,
  reason: 'pull request 1 needs 1 more approval',
  lines,
})

/** Expects a refusal by REST and by a push, and then a merge after Cy has approved. */
async function expectRefused(proposal: Proposal, refusal: Refusal): Promise<void> {
  const before = refsOf(proposal.node)
  await doors['POST merge']?.refuses(proposal, ann, refusal)
  await doors['git push']?.refuses(proposal, ann, refusal)
  expect(refsOf(proposal.node)).to.equal(before)
}

async function expectMergedAfterCy(proposal: Proposal): Promise<void> {
  await review(cy, proposal, 'approve')
  const head = await headOf(proposal)
  await doors['git push']?.allows(proposal, bob)
  await expectMerged(proposal, head, bob)
}

const remove = (person: PersonClient) =>
  ann.delete(`/orgs/${ann.org}/members/${person.user.email}`).then(expecting(204))

let made = 0

describe('an approval', () => {
  useDoors()

  const lost: Readonly<Record<string, (by: PersonClient) => Promise<unknown>>> = {
    'of a member who left': remove,
    'of a user whose account was deleted': (by) => by.delete('/auth/me', {}, { password }).then(expecting(200)),
    'of an editor who reads now': (by) => become(by, 'reader'),
    'of an editor who contributes now': (by) => become(by, 'contributor'),
  }
  for (const [name, lose] of Object.entries(lost))
    it.deep(`${name} counts no more`, async () => {
      const dee = await member(`Dee ${++made}`, 'editor')
      const proposal = await aProposal()
      await setRules(one)
      await review(dee, proposal, 'approve')
      expect(await proposal.node.pull(1)).to.include({ can_merge: true })
      await lose(dee)
      expect(await proposal.node.pull(1)).to.include({ can_merge: false, merge_reason: 'approvals_missing' })
      await expectRefused(proposal, missing('1 by editors'))
      await expectMergedAfterCy(proposal)
    })

  it.deep('of an author counts not, whatever e-mail address the commits have', async () => {
    const dee = await member(`Dee ${++made}`, 'editor')
    const proposal = await aProposal()
    const { source, node } = proposal
    const changes = [{ action: 'put', path: 'dee.txt', content: 'Dee.\n' }]
    await dee.post(`${node.at}/tree/${source}/commits`, { message: 'By Dee', changes }).then(expecting(201))
    await setRules(one)
    await dee
      .post('/auth/email', { new_email: `renamed-${made}@example.org`, password })
      .then(({ status }) => expect(status).to.be.within(200, 204))
    await review(dee, proposal, 'approve')
    await expectRefused(proposal, missing('1 by editors', `not counted: ${dee.user.name} (authors of its commits)`))
    await expectMergedAfterCy(proposal)
  })

  it.deep('of an author counts not, if a push names the address in capitals or the hidden one', async () => {
    for (const email of [bob.user.email.toUpperCase(), `${bob.user.id}@users.noreply.invalid`]) {
      const proposal = await aProposal()
      const { node } = proposal
      const commit = `GIT_AUTHOR_EMAIL='${email}' git commit-tree -p draft -m X draft^{tree}`
      const script = `git update-ref refs/heads/draft $(${commit}); git push -q $REMOTE draft`
      expect((await gitIn(node, bob.session.accessToken, script)).code).to.equal(0)
      await setRules(one)
      await review(bob, proposal, 'approve')
      await expectRefused(proposal, missing('1 by editors', 'not counted: Bob (authors of its commits)'))
    }
  })

  it.deep('of the author of a commit below a merge commit counts not', async () => {
    const proposal = await aProposal()
    const commit = (name: string) => `GIT_AUTHOR_EMAIL=${name}@example.org git commit-tree -m X draft^{tree}`
    const script = `side=$(${commit('bob')} -p main); git update-ref refs/heads/draft $(${commit('ann')} -p draft -p $side)`
    expect((await gitIn(proposal.node, ann.session.accessToken, `${script}; git push -q $REMOTE draft`)).code).to.equal(
      0,
    )
    await setRules(one)
    await review(bob, proposal, 'approve')
    await expectRefused(proposal, missing('1 by editors', 'not counted: Bob (authors of its commits)'))
  })

  it.deep('of a committer counts, because updating a branch must not cost the vote', async () => {
    const proposal = await aProposal()
    await proposal.node.commit('main', { 'news.txt': 'News.\n' })
    await review(bob, proposal, 'approve')
    await bob.post(`${proposal.path}/update-branch`).then(expecting(200))
    await setRules(one)
    expect(proposal.node.git.say('log', '-1', '--format=%an %cn', 'draft')).to.equal('Ann Bob')
    await doors['git push']?.allows(proposal, cy)
  })

  it.deep('is given by no token', async () => {
    const proposal = await aProposal()
    await setRules(one)
    const before = refsOf(proposal.node)
    const body = { verdict: 'approve', text: '', expected_source_commit: await headOf(proposal) }
    for (const access of ['write', 'read']) {
      const { status, body: said } = await (await withToken(bob, access)).post(`${proposal.path}/reviews`, body)
      expect([status, said.code]).to.deep.equal([403, 'token_scope'])
    }
    expect(refsOf(proposal.node)).to.equal(before)
    await expectRefused(proposal, missing('1 by editors'))
  })

  it('is neither withdrawn nor dismissed by a token', async () => {
    const proposal = await aProposal()
    const entry = await review(bob, proposal, 'request_changes')
    await setRules(one)
    const acts = [
      [bob, { state: 'withdrawn' }],
      [max, { state: 'dismissed', reason: 'No' }],
    ] as const
    for (const [who, act] of acts) {
      const { status, body } = await (await withToken(who)).patch(`${proposal.path}/reviews/${entry}`, act)
      expect([status, body.code]).to.deep.equal([403, 'token_scope'])
    }
    expect(await proposal.node.pull(1)).to.include({ merge_reason: 'changes_requested' })
  })

  it('of the opener is refused, also under a new e-mail address', async () => {
    const dee = await member(`Dee ${++made}`, 'editor')
    const { node } = await aProposal()
    await node.proposal('second')
    const body = { source_branch: 'second', title: 'Second' }
    const { pr } = (await dee.post(`${node.at}/pull-requests`, body).then(expecting(201))).body
    await dee
      .post('/auth/email', { new_email: `renamed-${made}@example.org`, password })
      .then(({ status }) => expect(status).to.be.within(200, 204))
    const review = { verdict: 'approve', text: '', expected_source_commit: pr.source_commit }
    const answer = await dee.post(`${node.at}/pull-requests/${pr.number}/reviews`, review)
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'own_pull_request'])
  })
})

describe('an override', () => {
  useDoors()
  const override = { reason: 'The site is down' }

  it('is done by no token, and by no push', async () => {
    const proposal = await aProposal()
    await setRules(one)
    const before = refsOf(proposal.node)
    const { status, body } = await (await withToken(ann)).post(`${proposal.path}/merge`, { override })
    expect({ status, body }).to.deep.equal({
      status: 403,
      body: {
        code: 'token_scope',
        detail: 'A personal access token cannot override rules; sign in with your password',
      },
    })
    const script = "git push -q -o override='The site is down' $REMOTE draft:main"
    const pushed = await gitIn(proposal.node, await tokenOf(ann), script)
    expect(pushed.code).to.not.equal(0)
    expect(refsOf(proposal.node)).to.equal(before)
    await ann.post(`${proposal.path}/merge`, { override }).then(expecting(200))
    const record = JSON.parse(proposal.node.git.say('show', 'refs/grove/ledger:pulls/0/0/1.json'))
    expect(record.overridden).to.deep.include({ ...override, reasons: ['approvals_missing'] })
  })

  it('passes no rule that lets nobody override, and neither a conflict nor a draft', async () => {
    const proposal = await aProposal()
    const before = refsOf(proposal.node)
    await setRules({ ...one, override: 'nobody' }, { branches: ['main'], resolved: true })
    const refused = await ann.post(`${proposal.path}/merge`, { override })
    expect(refused.body).to.deep.include({
      code: 'approvals_missing',
      detail: 'The pull request needs 1 more approval: 1 by editors. A rule lets nobody override it',
    })
    expect(refsOf(proposal.node)).to.equal(before)
    await setRules(one)
    await ann.patch(proposal.path, { is_draft: true }).then(expecting(200))
    expect((await ann.post(`${proposal.path}/merge`, { override })).body.code).to.equal('draft')
  })
})

describe('a contributor', () => {
  useDoors()

  it('proposes and is approved, and merges through no door', async () => {
    const { node } = await aProposal()
    const source = `${prefixOf(kim)}songs`
    await kim.post(`${node.at}/branches`, { name: source }).then(expecting(201))
    const changes = [{ action: 'put', path: 'song.txt', content: 'Song.\n' }]
    const tree = `${node.at}/tree/${encodeURIComponent(source)}`
    await kim.post(`${tree}/commits`, { message: 'A song', changes }).then(expecting(201))
    const body = { source_branch: source, title: 'Songs' }
    const { pr } = (await kim.post(`${node.at}/pull-requests`, body).then(expecting(201))).body
    const proposal: Proposal = {
      node,
      number: pr.number,
      path: `${node.at}/pull-requests/${pr.number}`,
      source,
      target: 'main',
    }
    await setRules(one)
    await review(bob, proposal, 'approve')
    const before = refsOf(node)
    const merged = await kim.post(`${proposal.path}/merge`)
    expect([merged.status, merged.body.code]).to.deep.equal([403, 'forbidden'])
    const pushed = await gitIn(node, kim.session.accessToken, `git push -q $REMOTE ${source}:main`)
    expect(pushed.text).to.include(`Contributors can change only branches below ${prefixOf(kim)}`)
    expect(refsOf(node)).to.equal(before)
    const head = await headOf(proposal)
    await bob.post(`${proposal.path}/merge`).then(expecting(200))
    await expectMerged(proposal, head, bob)
  })

  it.deep('approves, reports and resolves nothing that counts for editors', async () => {
    const proposal = await aProposal()
    await setRules(one)
    await review(kim, proposal, 'approve')
    const { at } = proposal.node
    const reported = await kim.put(`${at}/checks/${await headOf(proposal)}/links`, { state: 'success' })
    expect([reported.status, reported.body.code]).to.deep.equal([403, 'forbidden'])
    await expectRefused(proposal, missing('1 by editors'))
    await report(bob, proposal, 'links', { state: 'success' })
    expect(grove.logged()).to.equal('')
    await expectMergedAfterCy(proposal)
  })
})
