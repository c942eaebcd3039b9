/** The deletion of a branch changes its pull requests. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { aNode, ann, aProposal, bob, leavesCleanRepositories, now, pass, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('deleting branches', () => {
    it('closes the requests from the branch, with the counts of the moment, and keeps their head', async () => {
      const { node, path } = await aProposal()
      await node.branch('shelf')
      await node.open('draft', { target_branch: 'shelf' })
      const source = await node.commit('draft', { 'draft.txt': 'more' })
      const target = await node.commit('main', { 'main.txt': 'main' })
      const changes = await ann.get(`${path}/changes`)
      pass(10)
      await bob.delete(`${node.at}/branches/draft`).then(expecting(204))
      const closed = { status: 'closed', closed_by: 'Bob', closed_at: now(), source_commit: source, commits_ahead: 2 }
      expect(await node.pull(1)).to.include({ ...closed, target_commit: target, commits_behind: 1 })
      expect(await node.pull(2)).to.include({ ...closed, target_branch: 'shelf', commits_behind: 0 })
      node.git.say('gc', '--quiet', '--prune=now')
      expect(await ann.get(`${path}/changes`)).to.deep.equal(changes)
      expect(node.git.lines('for-each-ref', '--format=%(refname) %(objectname)', 'refs/grove/pulls')).to.deep.equal([
        `refs/grove/pulls/1 ${source}`,
        `refs/grove/pulls/2 ${source}`,
      ])
    })

    it('does the same if git did it on the server; who, nobody knows', async () => {
      const { node } = await aProposal()
      const source = await node.commit('draft', { 'draft.txt': 'more' })
      pass(10)
      node.git.point('draft', null)
      const pr = await node.pull(1)
      expect(pr).to.include({ status: 'closed', closed_at: now(), source_commit: source, commits_ahead: 2 })
      expect(pr).not.to.have.any.keys('closed_by', 'closed_by_email')
      expect(node.git.say('rev-parse', 'refs/grove/pulls/1')).to.equal(source)
    })

    it('sends the requests into the branch to main', async () => {
      const { node, source } = await aProposal()
      await ann.patch(`${node.at}/pull-requests/1`, { status: 'closed' }).then(expecting(200))
      await node.branch('shelf')
      await node.open('draft', { target_branch: 'shelf' })
      await ann.delete(`${node.at}/branches/shelf`).then(expecting(204))
      expect(await node.pull(2)).to.include({
        status: 'open',
        target_branch: 'main',
        source_commit: source,
        target_commit: node.git.head(),
        merge_reason: 'mergeable',
      })
    })

    it('closes a request into the branch that would be the second for its pair, or from main to main', async () => {
      const { node, source, target } = await aProposal()
      await node.branch('shelf')
      await node.open('draft', { target_branch: 'shelf' })
      await node.open('main', { target_branch: 'shelf' })
      await ann.delete(`${node.at}/branches/shelf`).then(expecting(204))
      const closed = { status: 'closed', target_branch: 'shelf', target_commit: target }
      expect(await node.pull(1)).to.include({ status: 'open', target_branch: 'main' })
      expect(await node.pull(2)).to.include({ ...closed, source_commit: source, commits_ahead: 1 })
      expect(await node.pull(3)).to.include({ ...closed, source_commit: target, source_branch: 'main' })
    })

    it('leaves one request for the pair if git deleted two targets at once', async () => {
      const node = await aNode()
      await node.proposal('draft')
      for (const name of ['one', 'two']) {
        await node.branch(name)
        await node.open('draft', { target_branch: name })
      }
      node.git.point('one', null)
      node.git.point('two', null)
      expect(await node.pull(1)).to.include({ status: 'open', target_branch: 'main' })
      expect(await node.pull(2)).to.include({ status: 'closed', target_branch: 'two' })
    })
  })

  describe('all of this', leavesCleanRepositories)
})
