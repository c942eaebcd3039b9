/** A target that moves, by whatever way, merges the requests whose heads it contains. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { aNode, ann, aProposal, leavesCleanRepositories, now, pass, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('only a move of the target merges', () => {
    it('by git on the server: noticed at the next read', async () => {
      const { node, source, target } = await aProposal()
      pass(10)
      node.git.point('main', source)
      expect(await node.pull(1)).to.include({
        status: 'merged',
        merged_by: 'Ann',
        merged_at: now(),
        source_commit: source,
        target_commit: target,
        commits_ahead: 1,
      })
      expect(node.git.say('log', '-1', '--format=%s', 'refs/grove/ledger')).to.equal('merge 1')
      expect((await ann.get(`${node.at}/pull-requests?status=merged`)).body.total).to.equal(1)
    })

    it('by a merge commit above the head, whose committer is the merger', async () => {
      const { node, source, target } = await aProposal()
      const main = await node.commit('main', { 'main.txt': 'main' })
      expect((await node.pull(1)).merge_reason).to.equal('diverged')
      node.git.point('main', node.git.commit({ files: { 'draft.txt': 'draft\n' }, parents: [main, source] }))
      expect(await node.pull(1)).to.include({
        status: 'merged',
        merged_by: 'Operator',
        merged_by_email: 'operator@example.org',
        source_commit: source,
        target_commit: main,
        commits_ahead: 1,
        commits_behind: 1,
      })
      expect(main).not.to.equal(target)
    })

    it('of a request merged with another whose head contains its own', async () => {
      const { node } = await aProposal()
      await node.branch('more', 'draft')
      await node.commit('more', { 'more.txt': 'more' })
      await node.branch('shelf')
      await node.open('more')
      await node.open('draft', { target_branch: 'shelf' })
      await ann.post(`${node.at}/pull-requests/2/merge`).then(expecting(200))
      const { pull_requests } = (await ann.get(`${node.at}/pull-requests?status=all`)).body
      expect(pull_requests.map((pr: { number: number; status: string }) => [pr.number, pr.status])).to.deep.equal([
        [3, 'open'],
        [2, 'merged'],
        [1, 'merged'],
      ])
      expect(node.git.lines('log', '-2', '--format=%s', 'refs/grove/ledger')).to.deep.equal(['merge 2', 'merge 1'])
    })

    it('even if the source is deleted with it', async () => {
      const { node, source } = await aProposal()
      node.git.point('main', source)
      node.git.point('draft', null)
      expect(await node.pull(1)).to.include({ status: 'merged', source_commit: source })
    })

    it('not the source, reset to an old commit of main', async () => {
      const { node, target } = await aProposal()
      await node.commit('main', { 'main.txt': 'main' })
      node.git.point('draft', target)
      expect(await node.pull(1)).to.include({ status: 'open', merge_reason: 'no_commits_ahead', source_commit: target })
      await node.commit('main', { 'main.txt': 'again' })
      expect(await node.pull(1)).to.include({ status: 'open', commits_ahead: 0, commits_behind: 2 })
    })

    it('not of a request that had nothing to bring', async () => {
      const node = await aNode()
      await node.branch('same')
      await node.open('same')
      await node.commit('main', { 'main.txt': 'main' })
      expect(await node.pull(1)).to.include({ status: 'open', merge_reason: 'no_commits_ahead' })
    })

    it('never of a draft: it stays open', async () => {
      const { node, path, source } = await aProposal({ is_draft: true })
      node.git.point('main', source)
      const reached = { status: 'open', merge_reasons: ['no_commits_ahead', 'draft'] }
      expect(await node.pull(1)).to.deep.include(reached)
      await ann.patch(path, { is_draft: false }).then(expecting(200))
      await node.commit('main', { 'main.txt': 'main' })
      expect(await node.pull(1)).to.deep.include({ status: 'open', merge_reasons: ['no_commits_ahead'] })
    })

    it('a source that was rewritten stays open at its new head', async () => {
      const { node, pr, target } = await aProposal()
      const head = node.git.commit({ files: { 'draft.txt': 'rewritten' }, parents: [target] })
      node.git.point('draft', head)
      expect(await node.pull(1)).to.deep.equal({ ...pr, source_commit: head })
    })

    it.deep(
      'and a target that git rewrote and collected, while the service was down, is no obstacle to reading',
      async () => {
        const dataDir = await newDataDir()
        let other = await spawnGrove(dataDir)
        try {
          const person = await signUp(other, 'Ann')
          const { at, git, proposal, open } = await newNode({ dataDir }, person)
          const source = await proposal('draft')
          git.point('shelf', git.commit({ files: { 'shelf.txt': 'shelf' } }))
          await open('draft', { target_branch: 'shelf' })
          await other.stop()
          git.point('shelf', source)
          git.say('gc', '--quiet', '--prune=now')
          other = await spawnGrove(dataDir)
          const { pr } = (await client(other, person.session.accessToken).get(`${at}/pull-requests/1`)).body
          expect(pr).to.include({ status: 'open', merge_reason: 'no_commits_ahead' })
        } finally {
          await other.stop()
          await rm(dataDir, { recursive: true, force: true })
        }
      },
    )
  })

  describe('all of this', leavesCleanRepositories)
})
