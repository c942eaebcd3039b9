/** Whether a pull request can merge, and why not. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { aNode, ann, aProposal, bob, grove, leavesCleanRepositories, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('whether it can merge', () => {
    const judge = async (node: TestNode, number = 1) => {
      const { can_merge, merge_reason, merge_reasons } = await node.pull(number)
      expect(merge_reason).to.equal(merge_reasons[0])
      expect(can_merge).to.equal(merge_reason === 'mergeable')
      return merge_reasons
    }

    it('is exact at each move of either branch', async () => {
      const { node } = await aProposal()
      expect(await judge(node)).to.deep.equal(['mergeable'])
      const main = await node.commit('main', { 'main.txt': 'main' })
      expect(await judge(node)).to.deep.equal(['diverged'])
      node.git.point('draft', main)
      expect(await judge(node)).to.deep.equal(['no_commits_ahead'])
      await node.commit('draft', { 'draft.txt': 'again' })
      expect(await judge(node)).to.deep.equal(['mergeable'])
    })

    it('counts the commits ahead and behind as git does', async () => {
      const { node } = await aProposal()
      await node.commit('main', { 'main.txt': '1' })
      await node.commit('main', { 'main.txt': '2' })
      await node.commit('draft', { 'draft.txt': '2' })
      await node.commit('draft', { 'draft.txt': '3' })
      const [behind, ahead] = node.git
        .say('rev-list', '--left-right', '--count', 'main...draft')
        .split('\t')
        .map(Number)
      expect(await node.pull(1)).to.include({
        commits_ahead: ahead,
        commits_behind: behind,
        source_commit: node.git.head('draft'),
        target_commit: node.git.head(),
      })
      expect([ahead, behind]).to.deep.equal([3, 2])
    })

    it('names all reasons that hold, the first in the order of the contract', async () => {
      const { node, path } = await aProposal({ is_draft: true })
      expect(await judge(node)).to.deep.equal(['draft'])
      node.git.point('draft', node.git.commit({ files: { 'node.json': 'none' }, parents: [node.git.head('draft')] }))
      expect(await judge(node)).to.deep.equal(['invalid_content', 'draft'])
      await node.commit('main', { 'main.txt': 'main' })
      expect(await judge(node)).to.deep.equal(['diverged', 'invalid_content', 'draft'])
      node.git.point('main', node.git.commit({ files: { 'node.json': 'none' }, parents: [node.git.head()] }))
      node.git.point('draft', node.git.head())
      expect(await judge(node)).to.deep.equal(['no_commits_ahead', 'invalid_content', 'draft'])
      await ann.patch(path, { status: 'closed' })
      expect(await judge(node)).to.deep.equal(['closed'])
    })

    it('says the same in lists', async () => {
      const { node, pr } = await aProposal()
      await node.commit('main', { 'main.txt': 'main' })
      const { pull_requests } = (await ann.get(`${node.at}/pull-requests`)).body
      expect(pull_requests).to.deep.equal([await node.pull(1)])
      expect(pull_requests[0]).to.deep.include({ id: pr.id, merge_reasons: ['diverged'] })
    })

    it('lists what of the head breaks the rules of main, file by file', async () => {
      const child = await aNode()
      const node = await aNode()
      await ann.put(`${child.at}/parents/${node.id}`, {}).then(expecting(200))
      const stranger = await newNode(grove, bob)
      const link = node.git.say('rev-parse', 'main:node.json')
      const problems = async (files: Parameters<typeof node.git.commit>[0]['files']) => {
        node.git.point('hand', node.git.commit({ files: files ?? {}, parents: [node.git.head()] }))
        return (await node.pull(1)).merge_problems
      }
      await node.branch('hand')
      await node.open('hand')
      expect(await problems({ 'free.txt': 'free' })).to.deep.equal([])
      const parent = (id: string) => `parents/${id}.json`
      const cycle = [
        {
          path: parent(child.id),
          reason: `Node ${child.id} is already below this node, so this parent would create a cycle`,
        },
      ]
      expect(await problems({ [parent(child.id)]: '{}' })).to.deep.equal(cycle)
      expect(await problems({ [parent(node.id)]: '{}' })).to.deep.equal([
        { path: parent(node.id), reason: 'A node cannot be its own parent' },
      ])
      expect(await problems({ [parent(stranger.id)]: '{}' })).to.deep.equal([
        { path: parent(stranger.id), reason: `There is no node ${stranger.id} in this organisation` },
      ])
      expect(await problems({ [parent(child.id)]: '[]' })).to.deep.equal([
        { path: parent(child.id), reason: 'This file must contain a JSON object' },
      ])
      expect(await problems({ 'node.json': '{"title": ""}', 'content.md': Buffer.of(0xff) })).to.deep.equal([
        {
          path: 'node.json',
          reason: '`title` must be a non-blank string of 1 to 500 characters, without control characters',
        },
        { path: 'content.md', reason: 'This file is not valid UTF-8' },
      ])
      expect(await problems({ 'content.md': { mode: '120000', oid: link } })).to.deep.equal([
        { path: 'content.md', reason: 'This must be a regular file' },
      ])
      expect(await problems({ 'connections/a.json': '{}' })).to.deep.equal([
        { path: 'connections/a.json', reason: '`target` must be the id of a node' },
      ])
      const self = JSON.stringify({ target: node.id })
      expect(await problems({ 'connections/a.json': self })).to.deep.equal([
        { path: 'connections/a.json', reason: 'A node cannot be connected to itself' },
      ])
      const [problem] = await problems({ 'node.json': '{"title": ' })
      expect(problem.path).to.equal('node.json')
      expect(problem.reason).to.match(/^This file is not valid JSON: /)
      expect(await ann.post(`${node.at}/pull-requests/1/merge`)).to.deep.equal({
        status: 409,
        body: {
          code: 'invalid_content',
          detail: 'Some files on the source branch are not valid; see `merge_problems`',
          merge_problems: [problem],
        },
      })
    })

    it('checks the rules of the graph if the target is main, and readable files for any target', async () => {
      const node = await aNode()
      await node.branch('shelf')
      const self = node.git.commit({ files: { [`parents/${node.id}.json`]: '{}' }, parents: [node.git.head()] })
      node.git.point('loop', self)
      node.git.point('torn', node.git.commit({ files: { 'node.json': '{' }, parents: [self] }))
      const reasonOf = async (source: string, target_branch: string) =>
        (await node.open(source, { target_branch })).merge_reason
      expect(await reasonOf('loop', 'main')).to.equal('invalid_content')
      expect(await reasonOf('loop', 'shelf')).to.equal('mergeable')
      expect(await reasonOf('torn', 'shelf')).to.equal('invalid_content')
    })

    it('judges edges that are new, not those to a neighbour deleted since', async () => {
      const parent = await newNode(grove, ann)
      const node = await aNode({ parents: [parent.id] })
      await node.proposal('draft')
      await node.open('draft')
      await ann.delete(parent.at).then(expecting(204))
      expect(await judge(node)).to.deep.equal(['mergeable'])
    })
  })

  describe('all of this', leavesCleanRepositories)
})
