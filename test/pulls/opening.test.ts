/** Opening a pull request. */

import { expect } from 'chai'
import { aNode, ann, aProposal, leavesCleanRepositories, now, pass, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('opening', () => {
    it('answers every field of the request and its address', async () => {
      const node = await aNode()
      const target = node.git.head()
      const source = await node.proposal('feature/dolphins')
      pass(10)
      const answer = await ann.post(`${node.at}/pull-requests`, {
        source_branch: 'feature/dolphins',
        title: 'Dolphins are whales',
        description: 'They have *teeth*, too.\n',
        is_draft: true,
      })
      expect(answer.headers.location).to.equal(`${node.at}/pull-requests/1`)
      const { id, ...pr } = answer.body.pr
      expect(id).to.match(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      expect({ status: answer.status, pr }).to.deep.equal({
        status: 201,
        pr: {
          node_id: node.id,
          number: 1,
          title: 'Dolphins are whales',
          description: 'They have *teeth*, too.\n',
          source_branch: 'feature/dolphins',
          target_branch: 'main',
          source_commit: source,
          target_commit: target,
          status: 'open',
          is_draft: true,
          author: 'Ann',
          author_email: 'ann@example.org',
          created_at: now(),
          updated_at: now(),
          last_activity_at: now(),
          author_id: ann.user.id,
          reviewers: [],
          consent: {
            ...{ rules: [], approvals: 0, required: 0, changes_requested: 0, missing: [], verdicts: [], checks: [] },
            ...{ open_threads: 0, threads_must_be_resolved: false, merge_role: 'editor', may_override: false },
          },
          comments: 0,
          open_threads: 0,
          can_merge: false,
          merge_reason: 'draft',
          merge_reasons: ['draft'],
          merge_problems: [],
          type_problems: [],
          commits_ahead: 1,
          commits_behind: 0,
        },
      })
      expect(await ann.get(`${node.at}/pull-requests/1`)).to.deep.equal({ status: 200, body: answer.body })
    })

    it('fills in what is left out, and takes null for left out', async () => {
      const node = await aNode()
      await node.proposal('one')
      await node.proposal('two')
      const defaults = { target_branch: 'main', description: '', is_draft: false }
      expect(await node.open('one')).to.deep.include(defaults)
      const nulls = { target_branch: null, description: null, is_draft: null }
      expect(await node.open('two', nulls)).to.deep.include(defaults)
    })

    it('counts numbers up within each node', async () => {
      const [one, two] = [await aNode(), await aNode()]
      for (const node of [one, two]) for (const name of ['a', 'b']) node.git.point(name, node.git.head())
      const numbers = []
      for (const node of [one, two]) for (const name of ['a', 'b']) numbers.push((await node.open(name)).number)
      expect(numbers).to.deep.equal([1, 2, 1, 2])
    })

    it('numbers without gaps what is opened at once', async () => {
      const node = await aNode()
      const names = Array.from({ length: 12 }, (_, at) => `at-once-${at}`)
      for (const name of names) node.git.point(name, node.git.head())
      const prs = await Promise.all(names.map((name) => node.open(name)))
      expect(prs.map((pr) => pr.number).sort((a, b) => a - b)).to.deep.equal(names.map((_, at) => at + 1))
    })

    it('refuses a second request for the same pair of branches and names the first', async () => {
      const { node } = await aProposal()
      const again = { source_branch: 'draft', title: 'Again' }
      expect(await ann.post(`${node.at}/pull-requests`, again)).to.deep.equal({
        status: 409,
        body: { code: 'pull_request_exists', detail: 'Pull request 1 is already open for draft → main', number: 1 },
      })
      await node.branch('other')
      expect(await node.open('draft', { target_branch: 'other' })).to.include({ number: 2, target_branch: 'other' })
    })

    it('opens one of ten requests that ask for the same pair at once', async () => {
      const node = await aNode()
      await node.proposal('draft')
      const ask = () => ann.post(`${node.at}/pull-requests`, { source_branch: 'draft', title: 'Race' })
      const statuses = (await Promise.all(Array.from({ length: 10 }, ask))).map((answer) => answer.status)
      expect(statuses.sort()).to.deep.equal([201, ...Array(9).fill(409)])
    })

    it('opens a request that cannot merge yet', async () => {
      const node = await aNode()
      await node.branch('same')
      expect(await node.open('same')).to.include({ can_merge: false, merge_reason: 'no_commits_ahead' })
    })

    it('opens nothing that could not merge if the request demands it', async () => {
      const { node } = await aProposal()
      const asked = async (source_branch: string, more: object = {}) => {
        const body = { source_branch, title: 'Now', require_mergeable: true, ...more }
        const answer = await ann.post(`${node.at}/pull-requests`, body)
        return [answer.status, answer.body.code, answer.body.merge_problems]
      }
      await node.branch('same')
      expect(await asked('same')).to.deep.equal([409, 'no_commits_ahead', undefined])
      const path = `connections/a.json`
      await node.branch('lost')
      await node.commit('lost', { [path]: JSON.stringify({ target: ann.org }) })
      const reason = `There is no node ${ann.org} in this organisation`
      expect(await asked('lost')).to.deep.equal([409, 'invalid_content', [{ path, reason }]])
      expect(await asked('draft')).to.deep.equal([409, 'pull_request_exists', undefined])
      await node.proposal('good')
      expect(await asked('good', { is_draft: true })).to.deep.equal([409, 'draft', undefined])
      expect((await asked('nope'))[0]).to.equal(422)
      expect(await asked('good')).to.deep.equal([201, undefined, undefined])
      expect((await node.pull(2)).can_merge).to.equal(true)
      await node.commit('main', { 'main.txt': 'main' })
      expect(await asked('same', { target_branch: 'good' })).to.deep.equal([409, 'no_commits_ahead', undefined])
      await node.proposal('late')
      await node.commit('main', { 'main.txt': 'again' })
      expect(await asked('late')).to.deep.equal([409, 'diverged', undefined])
    })

    it('refuses branches that are missing or the same', async () => {
      const node = await aNode()
      await node.branch('draft')
      const refusal = async (body: object) => {
        const answer = await ann.post(`${node.at}/pull-requests`, { title: 'No', ...body })
        return [answer.status, answer.body.detail?.[0]?.loc, answer.body.detail?.[0]?.input]
      }
      expect(await refusal({ source_branch: 'nope' })).to.deep.equal([422, ['body', 'source_branch'], 'nope'])
      expect(await refusal({ source_branch: 'draft', target_branch: 'nope' })).to.deep.equal([
        422,
        ['body', 'target_branch'],
        'nope',
      ])
      expect(await refusal({ source_branch: 'main' })).to.deep.equal([422, ['body', 'target_branch'], 'main'])
      for (const name of ['../grove/ledger', 'refs/heads/draft', '-draft', 'HEAD', node.git.head()])
        expect(await refusal({ source_branch: name }), name).to.deep.equal([422, ['body', 'source_branch'], name])
      expect(node.git.say('log', '--format=%s', 'refs/grove/ledger')).to.equal('create')
    })

    it('refuses a request to a node without a commit', async () => {
      const node = await aNode({ initialize: false })
      const answer = await ann.post(`${node.at}/pull-requests`, { source_branch: 'draft', title: 'No' })
      expect([answer.status, answer.body.detail[0].loc]).to.deep.equal([422, ['body', 'source_branch']])
    })

    it('refuses a body of the wrong shape, field by field', async () => {
      const { node } = await aProposal()
      const refused = async (body: object) => {
        const { status, body: answer } = await ann.post(`${node.at}/pull-requests`, body)
        return [
          status,
          ...answer.detail.map((problem: { loc: string[]; type: string }) => [problem.loc[1], problem.type]),
        ]
      }
      const good = { source_branch: 'draft', title: 'Good' }
      expect(await refused({})).to.deep.equal([422, ['source_branch', 'missing'], ['title', 'missing']])
      const wrong = { title: 5, is_draft: 'no', description: [], unknown: 7 }
      expect((await refused({ ...good, ...wrong })).slice(1)).to.have.deep.members([
        ['title', 'string_type'],
        ['is_draft', 'bool_type'],
        ['description', 'string_type'],
      ])
      expect(await refused({ ...good, title: ' \n' })).to.deep.equal([422, ['title', 'string_pattern_mismatch']])
      expect(await refused({ ...good, title: 'x'.repeat(501) })).to.deep.equal([422, ['title', 'string_too_long']])
      const long = 'ä'.repeat(32_769)
      expect(await refused({ ...good, description: long })).to.deep.equal([422, ['description', 'string_too_long']])
    })

    it('answers 404 for a number that names nothing', async () => {
      const { node } = await aProposal()
      for (const number of ['2', '99999999999', '9007199254740993', '9'.repeat(20)])
        expect(await ann.get(`${node.at}/pull-requests/${number}`), number).to.deep.equal({
          status: 404,
          body: { code: 'pull_request_not_found', detail: 'Pull request not found' },
        })
    })

    it('returns 422 for an invalid number', async () => {
      const { node } = await aProposal()
      for (const [sent, type] of [
        ...['01', '1.0', '1e0', '0x1', '+1', 'one', '%00', '9'.repeat(30)].map((one) => [one, 'int_parsing']),
        ...['0', '-1'].map((one) => [one, 'greater_than_equal']),
      ]) {
        const { status, body } = await ann.get(`${node.at}/pull-requests/${sent}`)
        const found = body.detail?.map(({ loc, type }: { loc: unknown; type: string }) => ({ loc, type }))
        expect([status, found], sent).to.deep.equal([422, [{ loc: ['path', 'number'], type }]])
      }
    })
  })

  describe('all of this', leavesCleanRepositories)
})
