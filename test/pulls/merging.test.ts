/** Merging a pull request over REST. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { aNode, ann, aProposal, bob, grove, leavesCleanRepositories, now, pass, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('merging', () => {
    it('moves the target to the head of the source and says who did it and when', async () => {
      const { node, pr, path, source, target } = await aProposal()
      pass(10)
      const merged = {
        ...pr,
        status: 'merged',
        updated_at: now(),
        last_activity_at: now(),
        merged_by: 'Bob',
        merged_by_email: 'bob@example.org',
        merged_at: now(),
        can_merge: false,
        merge_reason: 'already_merged',
        merge_reasons: ['already_merged'],
      }
      const answer = await bob.post(`${path}/merge`, { expected_source_commit: source, expected_target_branch: 'main' })
      expect(answer).to.deep.equal({ status: 200, body: { pr: merged } })
      expect(await node.pull(1)).to.deep.equal(merged)
      expect(merged).to.include({ source_commit: source, target_commit: target, commits_ahead: 1, commits_behind: 0 })
      expect([node.git.head(), node.git.head('draft')]).to.deep.equal([source, source])
    })

    it('is done once, however often it is asked for', async () => {
      const { node, path, source } = await aProposal()
      const answers = await Promise.all(Array.from({ length: 10 }, () => ann.post(`${path}/merge`, {})))
      expect(answers.map((answer) => answer.status)).to.deep.equal(Array(10).fill(200))
      pass(10)
      await node.commit('main', { 'main.txt': 'later' })
      const again = await ann.post(`${path}/merge`, { expected_source_commit: source })
      expect(again).to.deep.equal({ status: 200, body: answers[0]?.body })
      expect(node.git.lines('log', '--format=%s', 'refs/grove/ledger')).to.deep.equal(['merge 1', 'open 1', 'create'])
    })

    it.deep('is refused again with another head', async () => {
      const { path, source, target } = await aProposal()
      await ann.post(`${path}/merge`).then(expecting(200))
      expect(await ann.post(`${path}/merge`, { expected_source_commit: target })).to.deep.equal({
        status: 409,
        body: {
          code: 'already_merged',
          detail: 'The pull request was merged at another head',
          current_head: source,
        },
      })
    })

    it('is refused if the branches are not those that were reviewed', async () => {
      const { node, path, source, target } = await aProposal()
      expect(await ann.post(`${path}/merge`, { expected_source_commit: target })).to.deep.equal({
        status: 409,
        body: {
          code: 'head_moved',
          detail: `The source branch has moved since you read it (now at ${source}); nothing was changed`,
          current_head: source,
        },
      })
      expect(await ann.post(`${path}/merge`, { expected_target_branch: 'other' })).to.deep.equal({
        status: 409,
        body: { code: 'head_moved', detail: 'The target of the pull request is now main; nothing was changed' },
      })
      expect(node.git.head()).to.equal(target)
    })

    it('answers with the merge_reason what cannot merge, and moves nothing', async () => {
      const { node, path } = await aProposal({ is_draft: true })
      const refused = async () => {
        const before = node.git.say('for-each-ref')
        const { status, body } = await ann.post(`${path}/merge`)
        expect(node.git.say('for-each-ref')).to.equal(before)
        return [status, body.code]
      }
      expect(await refused()).to.deep.equal([409, 'draft'])
      node.git.point('draft', node.git.commit({ files: { 'node.json': '[]' }, parents: [node.git.head('draft')] }))
      expect(await refused()).to.deep.equal([409, 'invalid_content'])
      await node.commit('main', { 'main.txt': 'main' })
      expect(await refused()).to.deep.equal([409, 'diverged'])
      node.git.point('draft', node.git.head())
      expect(await refused()).to.deep.equal([409, 'no_commits_ahead'])
      await ann.patch(path, { status: 'closed' }).then(expecting(200))
      expect(await refused()).to.deep.equal([409, 'closed'])
    })

    it('goes into any branch', async () => {
      const { node, source } = await aProposal()
      const main = node.git.head()
      await node.branch('shelf')
      await node.open('draft', { target_branch: 'shelf' })
      await ann.post(`${node.at}/pull-requests/2/merge`).then(expecting(200))
      expect([node.git.head('shelf'), node.git.head()]).to.deep.equal([source, main])
      expect((await node.pull(1)).status).to.equal('open')
    })

    it('takes the graph of the source into main', async () => {
      const parent = await newNode(grove, ann)
      const { node, path } = await aProposal()
      await node.commit('draft', { [`parents/${parent.id}.json`]: '{"label": "below"}' })
      const parents = async () => (await ann.get(node.at)).body.parents.map((one: { id: string }) => one.id)
      expect(await parents()).to.deep.equal([])
      await ann.post(`${path}/merge`).then(expecting(200))
      expect(await parents()).to.deep.equal([parent.id])
    })

    it('lets two requests that close a cycle together merge once', async () => {
      const [one, two] = [await aNode(), await aNode()]
      for (const [node, parent] of [
        [one, two],
        [two, one],
      ] as const) {
        await node.branch('draft')
        await node.commit('draft', { [`parents/${parent.id}.json`]: '{}' })
        expect((await node.open('draft')).merge_reason).to.equal('mergeable')
      }
      const merge = (node: TestNode) => ann.post(`${node.at}/pull-requests/1/merge`)
      const answers = await Promise.all([merge(one), merge(two)])
      expect(answers.map(({ status, body }) => body.code ?? status).sort()).to.deep.equal([200, 'invalid_content'])
    })

    it('freezes commits, counts and changes', async () => {
      const { node, path, source, target } = await aProposal()
      await node.commit('draft', { 'second.txt': '2', 'node.json': '{"title": "Dolphins"}' })
      const read = async () => [(await ann.get(`${path}/changes`)).body, (await ann.get(`${path}/commits`)).body]
      const before = await read()
      await ann.post(`${path}/merge`).then(expecting(200))
      const merged = await node.pull(1)
      pass(10)
      await node.commit('main', { 'main.txt': 'main' })
      await node.commit('draft', { 'draft.txt': 'more' })
      expect(await node.pull(1)).to.deep.equal(merged)
      await ann.delete(`${node.at}/branches/draft`).then(expecting(204))
      expect(await node.pull(1)).to.deep.equal(merged)
      expect(await read()).to.deep.equal(before)
      expect(merged).to.include({ target_commit: target, commits_ahead: 2, commits_behind: 0 })
      const [changes, commits] = before
      expect(changes).to.deep.include({ base_commit_id: target, target_commit_id: merged.source_commit, removed: [] })
      expect(changes.added.map((one: { entity_key: string }) => one.entity_key)).to.deep.equal([
        'draft.txt',
        'second.txt',
      ])
      expect(changes.modified.map((one: { entity_type: string }) => one.entity_type)).to.deep.equal(['node'])
      expect(commits.commits.map((one: { id: string }) => one.id)).to.deep.equal([merged.source_commit, source])
    })
  })

  describe('all of this', leavesCleanRepositories)
})
