/** How an editor may try to get a commit that nobody approved into a branch with a rule. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import {
  ann,
  aProposal,
  bob,
  cy,
  expectMerged,
  gitIn,
  grove,
  headOf,
  max,
  type Proposal,
  proposalOn,
  refsOf,
  review,
  setRules,
  useDoors,
  whileWaiting,
} from './doors.ts'

const one = { branches: ['main'], approvals: 1 }

describe('a commit that nobody approved', () => {
  useDoors()

  const merge = async ({ path }: Proposal, body: object = {}) => {
    const answer = await bob.post(`${path}/merge`, body)
    return answer.status === 200 ? 'merged' : answer.body.code
  }
  const push = (node: TestNode, script: string) => gitIn(node, bob.session.accessToken, script)
  const notProposed = 'main of this organisation moves only to the head of an open pull request'
  const reasons = async ({ node, number }: Proposal) => (await node.pull(number)).merge_reasons

  /** Runs the attack, and expects that main and the ledger are as before. */
  async function expectOutside(node: TestNode, attack: () => Promise<unknown>): Promise<void> {
    const before = node.git.head()
    await attack()
    expect(node.git.head()).to.equal(before)
  }

  it.deep('comes not with an approved head that moved afterwards', async () => {
    const proposal = await aProposal()
    const { node } = proposal
    await setRules(one)
    await review(cy, proposal, 'approve')
    const approved = await headOf(proposal)
    await node.commit('draft', { 'evil.txt': 'Evil.\n' })
    await expectOutside(node, async () => {
      expect(await merge(proposal)).to.equal('approvals_missing')
      expect(await merge(proposal, { expected_source_commit: approved })).to.equal('head_moved')
      const { text } = await push(node, `git update-ref refs/heads/old ${approved}; git push -q $REMOTE old:main`)
      expect(text, 'it is no head of an open request any more').to.include(notProposed)
    })
  })

  it.deep('comes not together with its source, and not in the order of one push', async () => {
    const proposal = await aProposal()
    const { node } = proposal
    await setRules(one)
    await review(cy, proposal, 'approve')
    const commit = 'c=$(git commit-tree -p draft -m X main^{tree}); git update-ref refs/heads/evil $c'
    await expectOutside(node, async () => {
      const atomic = await push(node, `${commit}; git push -q --atomic $REMOTE evil:draft evil:main`)
      expect(atomic.text).to.include(`evil -> main (${notProposed})`)
      expect(node.git.head('draft')).to.equal(await headOf(proposal))
      const inTurn = await push(node, `${commit}; git push -q $REMOTE evil:main evil:draft`)
      expect(inTurn.text).to.include('evil -> main (pull request 1 needs 1 more approval)')
    })
    expect(node.git.log('draft'), 'the source may move').to.have.length(3)
  })

  it.deep('comes not with a stacked branch', async () => {
    const proposal = await aProposal()
    const { node } = proposal
    await node.branch('second', 'draft')
    await node.commit('second', { 'second.txt': 'Second.\n' })
    const stacked = await proposalOn(node, 'second', { target_branch: 'draft' })
    await setRules(one)
    await review(cy, stacked, 'approve')
    await expectOutside(node, async () => {
      expect((await push(node, 'git push -q $REMOTE second:main')).text).to.include(notProposed)
      await ann.patch(stacked.path, { target_branch: 'main' }).then(expecting(200))
      expect(await reasons(stacked), 'a larger change').to.deep.equal(['approvals_missing'])
      expect((await push(node, 'git push -q $REMOTE second:main')).text).to.include('needs 1 more approval')
      await ann.patch(stacked.path, { target_branch: 'draft' }).then(expecting(200))
      await bob.delete(`${node.at}/branches/draft`).then(expecting(204))
      expect(await node.pull(stacked.number)).to.include({ target_branch: 'main', can_merge: false })
      expect(await merge(stacked)).to.equal('approvals_missing')
    })
  })

  it('comes with the approval of what contains it, and is merged with it', async () => {
    const below = await aProposal()
    const { node } = below
    await node.branch('second', 'draft')
    await node.commit('second', { 'second.txt': 'Second.\n' })
    const above = await proposalOn(node, 'second')
    await setRules(one)
    await review(cy, above, 'approve')
    const head = await headOf(above)
    expect(await merge(below)).to.equal('approvals_missing')
    expect(await merge(above)).to.equal('merged')
    await expectMerged(above, head, bob)
    expect(await node.pull(below.number)).to.include({ status: 'merged' })
  })

  it.deep('comes with a second request of the same head only if one of both is approved', async () => {
    const first = await aProposal()
    const { node } = first
    await node.branch('twin', 'draft')
    const twin = await proposalOn(node, 'twin')
    await setRules(one)
    await expectOutside(node, async () =>
      expect((await push(node, 'git push -q $REMOTE draft:main')).text).to.include('pull request 1 needs 1 more'),
    )
    await review(cy, twin, 'approve')
    expect(await merge(first)).to.equal('approvals_missing')
    expect((await push(node, 'git push -q $REMOTE draft:main')).code).to.equal(0)
    for (const { number } of [first, twin]) expect(await node.pull(number)).to.include({ status: 'merged' })
  })

  it.deep('comes not by a retarget to a branch without a rule and back', async () => {
    const proposal = await aProposal()
    const { node, path } = proposal
    await node.branch('side')
    await setRules(one)
    await expectOutside(node, async () => {
      await ann.patch(path, { target_branch: 'side' }).then(expecting(200))
      await review(cy, proposal, 'approve')
      expect(await reasons(proposal)).to.deep.equal(['mergeable'])
      const stale = await bob.post(`${path}/merge`, { expected_target_branch: 'main' })
      expect(stale.body.code).to.equal('head_moved')
      await ann.patch(path, { target_branch: 'main' }).then(expecting(200))
      expect(await reasons(proposal)).to.deep.equal(['approvals_missing'])
      expect(await merge(proposal)).to.equal('approvals_missing')
    })
    await ann.patch(path, { target_branch: 'side' }).then(expecting(200))
    expect(await merge(proposal)).to.equal('merged')
    expect(node.git.head('side')).to.not.equal(node.git.head('main'))
    const { text } = await push(node, 'git push -q $REMOTE side:main')
    expect(text).to.include(notProposed)
  })

  it.deep('comes not from a draft, or from a request that is closed', async () => {
    const proposal = await aProposal({ is_draft: true })
    const { node, path } = proposal
    await setRules(one)
    await review(cy, proposal, 'approve')
    await expectOutside(node, async () => {
      expect(await merge(proposal)).to.equal('draft')
      expect((await push(node, 'git push -q $REMOTE draft:main')).text).to.include(notProposed)
      await ann.patch(path, { is_draft: false, status: 'closed' }).then(expecting(200))
      expect(await merge(proposal)).to.equal('closed')
      expect((await push(node, 'git push -q $REMOTE draft:main')).text).to.equal(
        ` ! [remote rejected] draft -> main (${notProposed})\n`,
      )
    })
    await ann.patch(path, { status: 'open' }).then(expecting(200))
    expect(await merge(proposal)).to.equal('merged')
  })

  it.deep('comes not under another spelling of the branch, or by a symbolic name', async () => {
    const { node } = await aProposal()
    await setRules(one, { branches: ['release/*'], merge: 'owner' })
    await node.branch('trunk', 'draft')
    await expectOutside(node, async () => {
      const spellings = [
        'refs/heads/Main',
        'refs/heads/MAIN',
        'refs/heads/HEAD',
        'refs/tags/main',
        'refs/heads/heads/main',
      ]
      for (const ref of spellings) await push(node, `git push -q $REMOTE draft:${ref}`)
      for (const ref of ['HEAD', 'refs/main', 'refs/heads/../heads/main', 'refs/heads//main', 'refs/grove/ledger'])
        expect((await push(node, `git push -q $REMOTE draft:${ref}`)).code, ref).to.not.equal(0)
      expect((await ann.get(node.at).then(expecting(200))).body.head).to.equal(node.git.head())
    })
    const { detail } = (await bob.post(`${node.at}/branches`, { name: 'release/1', from: 'draft' })).body
    expect(detail).to.equal('In this organisation only owners make branches named release/*')
  })

  it.deep('comes not by deleting a branch with a rule and making it again', async () => {
    const { node } = await aProposal()
    await node.branch('release/1')
    await setRules({ branches: ['release/*'], approvals: 1, merge: 'maintainer' })
    const before = refsOf(node)
    for (const to of [
      ':release/1',
      ':release/1 draft:release/1/x',
      '+draft:release/1',
      ':release/1 draft:refs/heads/release',
    ])
      expect((await push(node, `git push -q --atomic $REMOTE ${to}`)).code, to).to.not.equal(0)
    for (const by of [bob, max, ann])
      expect((await by.delete(`${node.at}/branches/release%2F1`)).body.code).to.equal('branch_protected')
    expect(refsOf(node)).to.equal(before)
  })

  it('comes not by a rule that is changed between reading and merging', async () => {
    const proposal = await aProposal()
    const { node } = proposal
    expect(await reasons(proposal)).to.deep.equal(['mergeable'])
    await setRules(one)
    await expectOutside(node, async () => expect(await merge(proposal)).to.equal('approvals_missing'))
    await setRules()
    expect(await merge(proposal)).to.equal('merged')
  })

  it.deep('comes not by rules that are set while a merge and a push run', async () => {
    for (let round = 0; round < 5; round++) {
      const proposal = await aProposal()
      const base = proposal.node.git.head()
      const [, merged, pushed] = await Promise.all([
        setRules(one),
        merge(proposal),
        push(proposal.node, 'git push -q $REMOTE draft:main'),
      ])
      const isIn = proposal.node.git.head() !== base
      expect(isIn).to.equal(merged === 'merged' || pushed.code === 0)
      if (!isIn) expect(merged).to.equal('approvals_missing')
      await setRules()
    }
  })

  it.deep('comes not by a rewind that waits for the lock while the rule is set', async () => {
    const { node } = await aProposal()
    await node.branch('release/1')
    const kept = await node.commit('release/1', { 'kept.txt': 'Kept.\n' })
    await proposalOn(node, 'draft', { target_branch: 'release/1' })
    const { text } = await whileWaiting(
      node,
      () => push(node, 'git push -q -f $REMOTE draft:release/1'),
      () => setRules({ branches: ['release/*'] }),
    )
    expect(text).to.equal(
      ' ! [remote rejected] draft -> release/1 (release/1 only moves forward: rebase onto it, or merge it)\n',
    )
    expect(node.git.head('release/1')).to.equal(kept)
  })

  it.deep('comes not by repeating a merge', async () => {
    const proposal = await aProposal()
    const { node } = proposal
    await setRules(one)
    await review(cy, proposal, 'approve')
    const head = await headOf(proposal)
    expect(await merge(proposal, { expected_source_commit: head })).to.equal('merged')
    const evil = await node.commit('draft', { 'evil.txt': 'Evil.\n' })
    await expectOutside(node, async () => {
      expect(await merge(proposal, { expected_source_commit: head }), 'it was merged').to.equal('merged')
      expect(await merge(proposal), 'it was merged').to.equal('merged')
      expect(await merge(proposal, { expected_source_commit: evil })).to.equal('already_merged')
      expect((await push(node, 'git push -q $REMOTE draft:main')).text).to.include(notProposed)
    })
  })

  it.deep('comes not by moving the node away, where main has the rule', async () => {
    const area = await newNode(grove, ann)
    const node = await newNode(grove, ann, { parents: [area.id] })
    await node.proposal('draft')
    const proposal = await proposalOn(node, 'draft')
    await setRules({ ...one, under: area.id })
    await expectOutside(node, async () => {
      const answer = await bob.delete(`${node.at}/parents/${area.id}`)
      expect(answer.body.code).to.equal('pull_request_required')
      const script =
        'git rm -q -r --cached parents; git update-ref refs/heads/draft $(git commit-tree -p draft -m X $(git write-tree))'
      const moved = await push(node, `git read-tree draft; ${script}; git push -q $REMOTE draft`)
      expect(moved.code, moved.text).to.equal(0)
      expect(await merge(proposal), 'main decides where it is').to.equal('approvals_missing')
    })
    await setRules({ ...one, under: area.id })
    await max.delete(area.at).then(({ status }) => expect(status).to.be.within(200, 204))
    await expectOutside(node, async () =>
      expect(await merge(proposal), 'below a deleted node').to.equal('approvals_missing'),
    )
  })

  it('comes not with a copy of the node, or by import into it', async () => {
    const { node } = await aProposal()
    await setRules(one)
    await expectOutside(node, async () => {
      await bob.post(`${node.at}/copy`, {}).then(expecting(201))
      const taken = await bob.post(`/orgs/${node.org}/nodes`, { id: node.id, title: 'Mine' })
      expect([taken.status, taken.body.code]).to.deep.equal([409, 'node_exists'])
    })
  })
})
