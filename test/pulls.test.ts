/** Pull requests, through HTTP and native git beside it. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { client, type Grove, newDataDir, type PersonClient, signUp, spawnGrove, startGrove } from './support/grove.ts'
import { expecting, newNode, type TestNode } from './support/node.ts'

describe('pull requests', () => {
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  let time = Date.parse('2026-01-01T00:00:00Z')
  const now = () => new Date(time).toISOString()
  const pass = (seconds: number) => {
    time += seconds * 1000
  }
  const nodes: TestNode[] = []
  const aNode = async (fields: object = {}) => {
    const node = await newNode(grove, ann, fields)
    nodes.push(node)
    return node
  }
  /** A node with a request from `draft` to main that could be merged. */
  const aProposal = async (more: object = {}) => {
    const node = await aNode()
    const target = node.git.head()
    const source = await node.proposal('draft')
    const pr = await node.open('draft', more)
    return { node, pr, source, target, path: `${node.at}/pull-requests/${pr.number}` }
  }

  before(async () => {
    grove = await startGrove({ now: () => new Date(time) })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' }).then(expecting(200))
  })
  after(() => grove.close())

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
          can_merge: false,
          merge_reason: 'draft',
          merge_reasons: ['draft'],
          merge_problems: [],
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
        body: { code: 'pull_request_exists', detail: 'Pull request 1 is open for draft → main', number: 1 },
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
      const wrong = { title: 5, is_draft: 'no', description: [], number: 7 }
      expect((await refused({ ...good, ...wrong })).slice(1)).to.have.deep.members([
        ['title', 'string_type'],
        ['is_draft', 'bool_type'],
        ['description', 'string_type'],
        ['number', 'extra_forbidden'],
      ])
      expect(await refused({ ...good, title: ' \n' })).to.deep.equal([422, ['title', 'string_pattern_mismatch']])
      expect(await refused({ ...good, title: 'x'.repeat(501) })).to.deep.equal([422, ['title', 'string_too_long']])
      const long = 'ä'.repeat(32_769)
      expect(await refused({ ...good, description: long })).to.deep.equal([422, ['description', 'string_too_long']])
    })

    it('answers 404 for a number that names nothing, whatever its form', async () => {
      const { node } = await aProposal()
      for (const number of ['2', '0', '-1', '01', '1.0', '1e0', 'one', '%00', '9'.repeat(30)])
        expect(await ann.get(`${node.at}/pull-requests/${number}`), number).to.deep.equal({
          status: 404,
          body: { code: 'pull_request_not_found', detail: 'Pull request not found' },
        })
    })
  })

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
      const cycle = [{ path: parent(child.id), reason: `node ${child.id} is a descendant of this node: a cycle` }]
      expect(await problems({ [parent(child.id)]: '{}' })).to.deep.equal(cycle)
      expect(await problems({ [parent(node.id)]: '{}' })).to.deep.equal([
        { path: parent(node.id), reason: 'a node cannot be its own parent' },
      ])
      expect(await problems({ [parent(stranger.id)]: '{}' })).to.deep.equal([
        { path: parent(stranger.id), reason: `there is no node ${stranger.id} in this organisation` },
      ])
      expect(await problems({ [parent(child.id)]: '[]' })).to.deep.equal([
        { path: parent(child.id), reason: 'must hold a JSON object' },
      ])
      expect(await problems({ 'node.json': '{"title": ""}', 'content.md': Buffer.of(0xff) })).to.deep.equal([
        { path: 'node.json', reason: 'title must be a text of 1 to 500 characters that is not blank' },
        { path: 'content.md', reason: 'is not UTF-8' },
      ])
      expect(await problems({ 'content.md': { mode: '120000', oid: link } })).to.deep.equal([
        { path: 'content.md', reason: 'must be a regular file' },
      ])
      expect(await problems({ 'connections/a.json': '{}' })).to.deep.equal([
        { path: 'connections/a.json', reason: 'target must be a node id' },
      ])
      const self = JSON.stringify({ target: node.id })
      expect(await problems({ 'connections/a.json': self })).to.deep.equal([
        { path: 'connections/a.json', reason: 'a node cannot be connected to itself' },
      ])
      const [problem] = await problems({ 'node.json': '{"title": ' })
      expect(problem.path).to.equal('node.json')
      expect(problem.reason).to.match(/^is not JSON: /)
      expect(await ann.post(`${node.at}/pull-requests/1/merge`)).to.deep.equal({
        status: 409,
        body: {
          code: 'invalid_content',
          detail: 'The content of the source breaks a rule of the target',
          merge_problems: [problem],
        },
      })
    })

    it('asks for the rules of the graph where the target is main, and for readable files anywhere', async () => {
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

  describe('merging', () => {
    it('moves the target to the head of the source and says who did it and when', async () => {
      const { node, pr, path, source, target } = await aProposal()
      pass(10)
      const merged = {
        ...pr,
        status: 'merged',
        updated_at: now(),
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

    it('is refused again with another head', async () => {
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

    it('is refused where the branches are not those that were reviewed', async () => {
      const { node, path, source, target } = await aProposal()
      expect(await ann.post(`${path}/merge`, { expected_source_commit: target })).to.deep.equal({
        status: 409,
        body: {
          code: 'head_moved',
          detail: 'The source branch is not at the expected head; nothing was changed',
          current_head: source,
        },
      })
      expect(await ann.post(`${path}/merge`, { expected_target_branch: 'other' })).to.deep.equal({
        status: 409,
        body: { code: 'head_moved', detail: 'The pull request now goes into main' },
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

    it('by a merge commit above the head, made by whoever committed it', async () => {
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
      expect(node.git.lines('log', '-2', '--format=%s', 'refs/grove/ledger')).to.deep.equal(['merge 1', 'merge 2'])
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

    it('and a target that git rewrote and collected, while the service was down, is no obstacle to reading', async () => {
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
    })
  })

  describe('editing', () => {
    it('changes what is said and leaves the rest', async () => {
      const { node, pr, path } = await aProposal()
      pass(10)
      const edit = { title: 'Better', description: 'Longer', is_draft: true }
      const edited = { ...pr, ...edit, can_merge: false, merge_reason: 'draft', merge_reasons: ['draft'] }
      const answer = await bob.patch(path, edit)
      expect(answer).to.deep.equal({ status: 200, body: { pr: { ...edited, updated_at: now() } } })
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
      const taken = { code: 'pull_request_exists', detail: 'Pull request 2 is open for draft → shelf', number: 2 }
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
        body: { pr: { ...pr, source_commit: head, commits_ahead: 2, updated_at: now() } },
      })
      expect(node.git.say('for-each-ref', 'refs/grove/pulls')).to.equal('')
      await ann.post(`${path}/merge`).then(expecting(200))
    })

    it('refuses to reopen beside another request for the pair and names it', async () => {
      const { node, path } = await aProposal()
      await ann.patch(path, { status: 'closed' }).then(expecting(200))
      await node.open('draft')
      expect(await ann.patch(path, { status: 'open' })).to.deep.equal({
        status: 409,
        body: { code: 'pull_request_exists', detail: 'Pull request 2 is open for draft → main', number: 2 },
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

    it('lets the deleted source be made again from the head that is kept', async () => {
      const { node, path, source } = await aProposal()
      await ann.delete(`${node.at}/branches/draft`).then(expecting(204))
      node.git.say('gc', '--quiet', '--prune=now')
      expect(await node.branch('draft', source)).to.equal(source)
      const { pr } = (await ann.patch(path, { status: 'open' }).then(expecting(200))).body
      expect(pr).to.include({ status: 'open', source_commit: source, merge_reason: 'mergeable' })
    })
  })

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

    it('does the same where git did it on the server; who, nobody knows', async () => {
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

    it('leaves one request for the pair where git deleted two targets at once', async () => {
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

    it('leaves nothing to merge where the target has the same changes already', async () => {
      const { node, path, source } = await aProposal()
      const main = await node.commit('main', { 'draft.txt': 'draft\n' }, 'The same')
      const { pr } = (await ann.post(`${path}/update-branch`).then(expecting(200))).body
      expect(pr).to.include({ status: 'open', merge_reason: 'no_commits_ahead', source_commit: main, commits_ahead: 0 })
      expect(source).not.to.equal(main)
    })

    it('does nothing where the source is up to date', async () => {
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
        body: { code: 'branch_protected', detail: 'main cannot be rewritten' },
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

  describe('lists', () => {
    it('filter by status, newest first, page by page', async () => {
      const node = await aNode()
      const { git } = node
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        git.point(name, git.commit({ files: { [name]: name }, parents: [git.head()] }))
        await node.open(name)
      }
      await ann.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
      await ann.patch(`${node.at}/pull-requests/2`, { status: 'closed' }).then(expecting(200))
      const list = async (query = '') => {
        const { status, body, headers } = await ann.get(`${node.at}/pull-requests${query}`)
        const { pull_requests, ...page } = body
        return {
          status,
          numbers: pull_requests?.map((pr: { number: number }) => pr.number),
          ...page,
          link: headers.link,
        }
      }
      const page = { status: 200, limit: 50, offset: 0, link: undefined }
      expect(await list()).to.deep.equal({ ...page, numbers: [5, 4, 3], total: 3 })
      expect(await list('?status=open')).to.deep.equal({ ...page, numbers: [5, 4, 3], total: 3 })
      expect(await list('?status=merged')).to.deep.equal({ ...page, numbers: [1], total: 1 })
      expect(await list('?status=closed')).to.deep.equal({ ...page, numbers: [2], total: 1 })
      expect(await list('?status=all&limit=2&offset=1')).to.deep.equal({
        ...{ status: 200, limit: 2, offset: 1, numbers: [4, 3], total: 5 },
        link: `<${node.at}/pull-requests?status=all&limit=2&offset=3>; rel="next"`,
      })
      expect(await list('?status=all&limit=2&offset=3')).to.deep.equal({
        ...page,
        limit: 2,
        offset: 3,
        numbers: [2, 1],
        total: 5,
      })
      expect(await list('?offset=99')).to.deep.equal({ ...page, offset: 99, numbers: [], total: 3 })
      for (const query of ['?status=draft', '?limit=0', '?limit=201', '?offset=-1', '?sort=asc'])
        expect((await list(query)).status, query).to.equal(422)
    })

    it('the commits of a request as git log lists them', async () => {
      const { node, path } = await aProposal()
      for (const text of ['2', '3']) {
        pass(1)
        await node.commit('draft', { 'draft.txt': text })
      }
      const side = node.git.commit({ files: { 'side.txt': 'side' }, parents: [node.git.head()] })
      const merge = node.git.commit({ files: { 'side.txt': 'side' }, parents: [node.git.head('draft'), side] })
      node.git.point('draft', merge)
      await node.commit('main', { 'main.txt': 'main' })
      const ids = node.git.lines('log', '--format=%H', 'main..draft')
      const { body, headers } = await ann.get(`${path}/commits?limit=2`)
      expect(body).to.deep.include({ total: 5, limit: 2, offset: 0 })
      expect(headers.link).to.equal(`<${path}/commits?limit=2&offset=2>; rel="next"`)
      const rest = (await ann.get(`${path}/commits?offset=2`)).body.commits
      expect([...body.commits, ...rest].map((commit: { id: string }) => commit.id)).to.deep.equal(ids)
      expect(body.commits[0]).to.deep.equal({
        id: merge,
        node_id: node.id,
        message: 'By hand',
        author: 'Operator',
        author_email: 'operator@example.org',
        created_at: '2023-11-14T22:13:20.000Z',
        parent_commits: node.git.say('log', '-1', '--format=%P', merge).split(' '),
      })
    })

    it('the changes since the branches parted, not those of the target', async () => {
      const { node, path, source, target } = await aProposal()
      await node.commit('main', { 'main.txt': 'main' })
      const blob = node.git.say('rev-parse', 'draft:draft.txt')
      expect(await ann.get(`${path}/changes`)).to.deep.equal({
        status: 200,
        body: {
          node_id: node.id,
          base_commit_id: target,
          target_commit_id: source,
          added: [
            {
              entity_type: 'file',
              entity_id: 'draft.txt',
              entity_key: 'draft.txt',
              object_id: blob,
              old_object_id: null,
              new_object_id: null,
            },
          ],
          removed: [],
          modified: [],
        },
      })
    })

    it('everything as added where source and target have nothing in common', async () => {
      const { node } = await aProposal()
      node.git.point('alien', node.git.commit({ files: { 'alien.txt': 'alien' } }))
      expect(await node.open('alien')).to.include({ merge_reason: 'diverged', commits_ahead: 1, commits_behind: 1 })
      const { body } = await ann.get(`${node.at}/pull-requests/2/changes`)
      expect(body.base_commit_id).to.equal(null)
      expect(body.added.map((one: { entity_key: string }) => one.entity_key)).to.deep.equal(['alien.txt'])
    })
  })

  describe('with require_pull_requests', () => {
    let strict: PersonClient
    before(async () => {
      strict = await signUp(grove, 'Strict')
      await strict.patch(`/orgs/${strict.org}`, { require_pull_requests: true }).then(expecting(200))
      await strict.put(`/orgs/${strict.org}/members/bob@example.org`, { role: 'editor' }).then(expecting(200))
    })
    const required = {
      status: 409,
      body: {
        code: 'pull_request_required',
        detail: 'main of this organisation moves only by merging a pull request',
      },
    }

    it('main takes no commit but by the merge of a maintainer', async () => {
      const node = await newNode(grove, strict)
      const commit = { message: 'Direct', changes: [{ action: 'put', path: 'a', content: 'a' }] }
      expect(await strict.post(`${node.at}/tree/main/commits`, commit)).to.deep.equal(required)
      expect(await strict.patch(node.at, { title: 'Direct' })).to.deep.equal(required)
      const source = await node.proposal('draft')
      expect(await node.open('draft'), 'whatever the rights').to.include({ can_merge: true })
      const merge = `${node.at}/pull-requests/1/merge`
      const byEditor = await bob.post(merge)
      expect([byEditor.status, byEditor.body.code]).to.deep.equal([403, 'forbidden'])
      expect(node.git.head()).not.to.equal(source)
      await strict.post(merge).then(expecting(200))
      expect(node.git.head()).to.equal(source)
    })

    it('other branches take commits and merges of editors', async () => {
      const node = await newNode(grove, strict)
      await node.branch('shelf')
      await node.proposal('draft')
      await node.open('draft', { target_branch: 'shelf' })
      await bob.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
    })

    it('main is not moved by updating it as a source', async () => {
      const node = await newNode(grove, strict)
      await node.proposal('draft')
      await node.open('main', { target_branch: 'draft' })
      expect(await strict.post(`${node.at}/pull-requests/1/update-branch`)).to.deep.equal(required)
    })
  })

  describe('the ledger', () => {
    it('tells each event as a commit that git reads', async () => {
      const { node, pr, path, source, target } = await aProposal()
      await bob.patch(path, { title: 'Better' }).then(expecting(200))
      await ann.patch(path, { status: 'closed' }).then(expecting(200))
      await ann.patch(path, { status: 'open' }).then(expecting(200))
      pass(10)
      await bob.post(`${path}/merge`).then(expecting(200))
      expect(node.git.lines('log', '--format=%an <%ae> %s', 'refs/grove/ledger')).to.deep.equal([
        'Bob <bob@example.org> merge 1',
        'Ann <ann@example.org> reopen 1',
        'Ann <ann@example.org> close 1',
        'Bob <bob@example.org> edit 1',
        'Ann <ann@example.org> open 1',
        'Ann <ann@example.org> create',
      ])
      const show = (path: string) => JSON.parse(node.git.say('show', `refs/grove/ledger:${path}`))
      expect(show('node.json')).to.deep.include({ id: node.id, org_id: node.org, title: 'Whales' })
      expect(show('last')).to.equal(1)
      const merged = { by: { name: 'Bob', email: 'bob@example.org' }, at: now() }
      expect(show('pulls/0/0/1.json')).to.deep.equal({
        id: pr.id,
        number: 1,
        title: 'Better',
        description: '',
        source_branch: 'draft',
        target_branch: 'main',
        status: 'merged',
        is_draft: false,
        author: { name: 'Ann', email: 'ann@example.org' },
        created_at: pr.created_at,
        ...merged,
        ended: merged,
        source_commit: source,
        target_before: target,
        commits_ahead: 1,
        commits_behind: 0,
      })
    })

    it('is not for those who may only read what is published', async () => {
      const { node } = await aProposal()
      expect((await client(grove).get(`${node.at}/pull-requests/1`)).status).to.equal(401)
    })

    it('and all else that these tests have done is clean in the eyes of git fsck', () => {
      expect(nodes.length).to.be.greaterThan(40)
      for (const node of nodes) node.git.fsck()
    })
  })
})
