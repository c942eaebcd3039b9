/** Editing, closing and reopening a pull request. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { ann, aProposal, bob, leavesCleanRepositories, now, pass, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('editing', () => {
    it('changes what is said and leaves the rest', async () => {
      const { node, pr, path } = await aProposal()
      pass(10)
      const edit = { title: 'Better', description: 'Longer', is_draft: true }
      const edited = { ...pr, ...edit, can_merge: false, merge_reason: 'draft', merge_reasons: ['draft'] }
      const answer = await bob.patch(path, edit)
      expect(answer).to.deep.equal({
        status: 200,
        body: { pr: { ...edited, updated_at: now(), last_activity_at: now() } },
      })
      expect(node.git.say('log', '-1', '--format=%an %s', 'refs/grove/ledger')).to.equal('Bob edit 1')
    })

    it('of nothing is no event', async () => {
      const { node, pr, path } = await aProposal()
      const ledger = node.git.say('rev-parse', 'refs/grove/ledger')
      pass(10)
      for (const patch of [{}, { title: pr.title, status: 'open' }, { target_branch: 'main', description: null }])
        expect(await ann.patch(path, patch)).to.deep.equal({ status: 200, body: { pr } })
      expect(node.git.say('rev-parse', 'refs/grove/ledger')).to.equal(ledger)
    })

    it('of a merged request is refused, whatever it says', async () => {
      const { path } = await aProposal()
      await ann.post(`${path}/merge`).then(expecting(200))
      for (const patch of [{}, { title: 'Later' }, { status: 'closed' }, { status: 'open' }, { target_branch: 'nope' }])
        expect(await ann.patch(path, patch)).to.deep.equal({
          status: 409,
          body: { code: 'merged', detail: 'A merged pull request cannot be changed' },
        })
    })

    it('refuses what a request cannot be', async () => {
      const { path } = await aProposal()
      const refused = async (patch: object) => {
        const { status, body } = await ann.patch(path, patch)
        return [status, body.detail[0].loc, body.detail[0].type]
      }
      expect(await refused({ status: 'merged' })).to.deep.equal([422, ['body', 'status'], 'enum'])
      expect(await refused({ source_branch: 'main' })).to.deep.equal([
        422,
        ['body', 'source_branch'],
        'extra_forbidden',
      ])
      expect(await refused({ title: '' })).to.deep.equal([422, ['body', 'title'], 'string_too_short'])
    })

    it('moves updated_at with the commits of the source', async () => {
      const { node, pr } = await aProposal()
      pass(10)
      await node.commit('main', { 'main.txt': 'main' })
      expect((await node.pull(1)).updated_at).to.equal(pr.updated_at)
      await node.commit('draft', { 'draft.txt': 'more' })
      expect((await node.pull(1)).updated_at).to.equal(now())
    })

    it('retargets to another branch', async () => {
      const { node, path, source } = await aProposal()
      await node.branch('shelf')
      const shelf = await node.commit('shelf', { 'shelf.txt': 'shelf' })
      const { status, body } = await ann.patch(path, { target_branch: 'shelf' })
      expect(status).to.equal(200)
      expect(body.pr).to.include({
        target_branch: 'shelf',
        source_commit: source,
        target_commit: shelf,
        commits_behind: 1,
        merge_reason: 'diverged',
      })
    })

    it('refuses a target that is missing, is the source or has a request', async () => {
      const { node, path } = await aProposal()
      await node.branch('shelf')
      await node.open('draft', { target_branch: 'shelf' })
      const refused = async (patch: object) => {
        const { status, body } = await ann.patch(path, patch)
        return [status, body.detail[0].loc ?? body]
      }
      const taken = {
        code: 'pull_request_exists',
        detail: 'Pull request 2 is already open for draft → shelf',
        number: 2,
      }
      const target = ['body', 'target_branch']
      expect(await refused({ target_branch: 'nope' })).to.deep.equal([422, target])
      expect(await refused({ target_branch: 'draft' })).to.deep.equal([422, target])
      expect(await refused({ target_branch: 'shelf' })).to.deep.equal([409, taken])
      expect(await refused({ target_branch: 'nope', status: 'closed' })).to.deep.equal([422, target])
      expect((await node.pull(1)).target_branch).to.equal('main')
      await ann.patch(path, { status: 'closed' }).then(expecting(200))
      expect(await refused({ target_branch: 'nope' }), 'of a closed one, too').to.deep.equal([422, target])
      expect((await node.pull(1)).target_branch).to.equal('main')
    })
  })

  describe('closing and reopening', () => {
    it('closes: who and when, and the head stays reachable', async () => {
      const { node, pr, path, source } = await aProposal()
      pass(10)
      const closed = {
        ...pr,
        status: 'closed',
        updated_at: now(),
        last_activity_at: now(),
        closed_by: 'Bob',
        closed_by_email: 'bob@example.org',
        closed_at: now(),
        can_merge: false,
        merge_reason: 'closed',
        merge_reasons: ['closed'],
      }
      expect(await bob.patch(path, { status: 'closed' })).to.deep.equal({ status: 200, body: { pr: closed } })
      expect(node.git.say('rev-parse', 'refs/grove/pulls/1')).to.equal(source)
      pass(10)
      await node.commit('draft', { 'draft.txt': 'more' })
      node.git.point('main', node.git.head('draft'))
      expect(await node.pull(1), 'frozen').to.deep.equal(closed)
    })

    it('does not take an edit of a closed request for its closing', async () => {
      const { path } = await aProposal()
      await bob.patch(path, { status: 'closed' }).then(expecting(200))
      const closed_at = now()
      pass(10)
      const { pr } = (await ann.patch(path, { title: 'Renamed' }).then(expecting(200))).body
      expect(pr).to.include({ title: 'Renamed', updated_at: now(), closed_by: 'Bob', closed_at })
    })

    it('reopens: as if it had never been closed', async () => {
      const { node, pr, path } = await aProposal()
      await ann.patch(path, { status: 'closed' }).then(expecting(200))
      const head = await node.commit('draft', { 'draft.txt': 'more' })
      pass(10)
      expect(await ann.patch(path, { status: 'open' })).to.deep.equal({
        status: 200,
        body: { pr: { ...pr, source_commit: head, commits_ahead: 2, updated_at: now(), last_activity_at: now() } },
      })
      expect(node.git.say('for-each-ref', 'refs/grove/pulls')).to.equal('')
      await ann.post(`${path}/merge`).then(expecting(200))
    })

    it('refuses to reopen if another pull request is open for the pair, and names it', async () => {
      const { node, path } = await aProposal()
      await ann.patch(path, { status: 'closed' }).then(expecting(200))
      await node.open('draft')
      expect(await ann.patch(path, { status: 'open' })).to.deep.equal({
        status: 409,
        body: { code: 'pull_request_exists', detail: 'Pull request 2 is already open for draft → main', number: 2 },
      })
    })

    it('refuses to reopen without its branches', async () => {
      const { node, path } = await aProposal()
      await node.branch('shelf')
      await ann.patch(path, { status: 'closed', target_branch: 'shelf' }).then(expecting(200))
      await ann.delete(`${node.at}/branches/shelf`).then(expecting(204))
      const reopened = async (more = {}) => {
        const { status, body } = await ann.patch(path, { status: 'open', ...more })
        return [status, body.code ?? body.detail?.[0].loc ?? body.pr.target_branch]
      }
      expect(await reopened()).to.deep.equal([409, 'target_branch_missing'])
      expect(await reopened({ target_branch: 'nope' })).to.deep.equal([422, ['body', 'target_branch']])
      expect(await reopened({ target_branch: 'main' })).to.deep.equal([200, 'main'])
      await ann.delete(`${node.at}/branches/draft`).then(expecting(204))
      expect(await reopened()).to.deep.equal([409, 'source_branch_missing'])
    })

    it('lets the deleted source be recreated from the head that is kept', async () => {
      const { node, path, source } = await aProposal()
      await ann.delete(`${node.at}/branches/draft`).then(expecting(204))
      node.git.say('gc', '--quiet', '--prune=now')
      expect(await node.branch('draft', source)).to.equal(source)
      const { pr } = (await ann.patch(path, { status: 'open' }).then(expecting(200))).body
      expect(pr).to.include({ status: 'open', source_commit: source, merge_reason: 'mergeable' })
    })
  })

  describe('all of this', leavesCleanRepositories)
})
