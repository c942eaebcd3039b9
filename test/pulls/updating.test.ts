/** Rebasing the source of a pull request onto its target. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { ann, aProposal, bob, leavesCleanRepositories, now, pass, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('updating the branch', () => {
    it('puts the commits of the source on top of the target and keeps their authors', async () => {
      const { node, pr, path } = await aProposal()
      await bob
        .post(`${node.at}/tree/draft/commits`, {
          message: 'By Bob\n\nWith a body',
          changes: [{ action: 'put', path: 'bob.txt', content: 'Bob' }],
        })
        .then(expecting(201))
      const main = await node.commit('main', { 'main.txt': 'main' })
      pass(10)
      const { status, body } = await ann.post(`${path}/update-branch`)
      expect(status).to.equal(200)
      expect(body.pr).to.deep.equal({
        ...pr,
        source_commit: node.git.head('draft'),
        target_commit: main,
        commits_ahead: 2,
        updated_at: now(),
        last_activity_at: now(),
      })
      expect(node.git.lines('log', '--format=%an %cn %s', 'main..draft')).to.deep.equal([
        'Bob Ann By Bob',
        'Ann Ann Propose draft',
      ])
      expect(node.git.say('log', '-1', '--format=%b', 'draft')).to.equal('With a body')
      expect(node.git.lines('ls-tree', '--name-only', 'draft')).to.deep.equal([
        'bob.txt',
        'draft.txt',
        'main.txt',
        'node.json',
      ])
      await ann.post(`${path}/merge`).then(expecting(200))
      expect(node.git.head()).to.equal(body.pr.source_commit)
    })

    it('names the paths of a conflict and moves nothing', async () => {
      const { node, path } = await aProposal()
      const head = await node.commit('draft', { 'folder/both.txt': 'draft', 'node.json': '{"title": "Draft"}' })
      const refused = async () => {
        const before = node.git.say('for-each-ref')
        const answer = await ann.post(`${path}/update-branch`, {})
        expect(node.git.say('for-each-ref')).to.equal(before)
        return answer
      }
      await node.commit('main', { 'folder/both.txt': 'main', 'node.json': '{"title": "Main"}', 'draft.txt': 'main' })
      const conflict = {
        code: 'merge_conflict',
        detail: 'Both branches changed the same paths; nothing was changed',
      }
      expect(await refused()).to.deep.equal({ status: 409, body: { ...conflict, paths: ['draft.txt'] } })
      await node.commit('main', { 'draft.txt': 'draft\n' })
      const paths = ['folder/both.txt', 'node.json']
      expect(await refused()).to.deep.equal({ status: 409, body: { ...conflict, paths } })
      expect(node.git.head('draft')).to.equal(head)
    })

    it('ends conflicts with the contents of a resolution', async () => {
      const { node, path, pr } = await aProposal()
      await bob
        .post(`${node.at}/tree/draft/commits`, {
          message: 'By Bob',
          changes: [{ action: 'put', path: 'both.txt', content: 'Bob' }],
        })
        .then(expecting(201))
      const source = node.git.head('draft')
      const main = await node.commit('main', { 'both.txt': 'main' })
      const update = (content: string, more: object = {}) =>
        ann.post(`${path}/update-branch`, {
          resolution: {
            expected_source_commit: source,
            expected_target_commit: main,
            changes: [{ action: 'put', path: 'both.txt', content }],
            ...more,
          },
        })
      const moved = { expected_target_commit: pr.target_commit }
      expect((await update('both', moved)).body).to.include({ code: 'head_moved', current_head: main })
      const stale = { expected_source_commit: pr.source_commit }
      expect((await update('both', stale)).body).to.include({ code: 'head_moved', current_head: source })
      const files = ['both.txt', 'other.txt'].map((name) => ({ action: 'put', path: name, content: '' }))
      const elsewhere = await update('', { changes: files })
      expect(elsewhere).to.deep.include({ status: 422 })
      expect(elsewhere.body.detail[0]).to.deep.include({
        loc: ['body', 'resolution', 'changes', 1, 'path'],
        msg: 'The pull request does not change this path',
      })
      expect(node.git.head('draft')).to.equal(source)

      const resolved = (await update('both').then(expecting(200))).body.pr
      expect(resolved).to.include({
        merge_reason: 'mergeable',
        source_commit: node.git.head('draft'),
        commits_ahead: 2,
      })
      expect(node.git.say('show', 'draft:both.txt')).to.equal('both')
      expect(node.git.lines('log', '--format=%an %cn %s', 'main..draft')).to.deep.equal([
        'Bob Ann By Bob',
        'Ann Ann Propose draft',
      ])
      const again = {
        expected_source_commit: resolved.source_commit,
        expected_target_commit: main,
      }
      expect((await update('more', again)).body).to.include({ code: 'no_changes' })
      await ann.post(`${path}/merge`).then(expecting(200))
      expect(node.git.say('show', 'main:both.txt')).to.equal('both')
    })

    it('leaves nothing to merge if the target already has the same changes', async () => {
      const { node, path, source } = await aProposal()
      const main = await node.commit('main', { 'draft.txt': 'draft\n' }, 'The same')
      const { pr } = (await ann.post(`${path}/update-branch`).then(expecting(200))).body
      expect(pr).to.include({ status: 'open', merge_reason: 'no_commits_ahead', source_commit: main, commits_ahead: 0 })
      expect(source).not.to.equal(main)
    })

    it('does nothing if the source is up to date', async () => {
      const { node, pr, path } = await aProposal()
      const refs = node.git.say('for-each-ref')
      pass(10)
      expect(await ann.post(`${path}/update-branch`)).to.deep.equal({ status: 200, body: { pr } })
      expect(node.git.say('for-each-ref')).to.equal(refs)
    })

    it('is refused after the end', async () => {
      const { path } = await aProposal()
      const refused = async () => {
        const { status, body } = await ann.post(`${path}/update-branch`)
        return [status, body.code]
      }
      await ann.patch(path, { status: 'closed' }).then(expecting(200))
      expect(await refused()).to.deep.equal([409, 'closed'])
      await ann.patch(path, { status: 'open' }).then(expecting(200))
      await ann.post(`${path}/merge`).then(expecting(200))
      expect(await refused()).to.deep.equal([409, 'merged'])
    })

    it('never rewrites main', async () => {
      const { node } = await aProposal()
      await node.open('main', { target_branch: 'draft' })
      const main = await node.commit('main', { 'main.txt': 'main' })
      expect(await ann.post(`${node.at}/pull-requests/2/update-branch`)).to.deep.equal({
        status: 409,
        body: { code: 'branch_protected', detail: '`main` cannot be rewritten' },
      })
      expect(node.git.head()).to.equal(main)
    })

    it('refuses what would break a rule and moves nothing', async () => {
      const { node, path } = await aProposal()
      const torn = node.git.commit({ files: { 'node.json': '{' }, parents: [node.git.head('draft')] })
      node.git.point('draft', torn)
      await node.commit('main', { 'main.txt': 'main' })
      expect((await ann.post(`${path}/update-branch`)).status).to.equal(422)
      expect(node.git.head('draft')).to.equal(torn)
    })
  })

  describe('all of this', leavesCleanRepositories)
})
