/** The events that each change records, through each door. */

import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { eventTypes } from '../../server/base/event-types.ts'
import { cli } from '../operator/desk.ts'
import { made, unheard } from '../support/cast.ts'
import { converse } from '../support/conversation.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { documentedFields, fieldFaults } from './documented-fields.ts'
import { eventsSince, type LoggedEvent, readLog } from './log-rows.ts'

describe('the log of events', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'editor' }, { sweeps: false })
  let node: TestNode
  let seq = 0

  before(async () => {
    node = await newNode(grove, ann, { title: 'Whales' })
  })
  beforeEach(() => {
    seq = readLog(grove, ann.org).at(-1)?.seq ?? 0
  })

  /** Not synchronous, because the service is in this process. */
  const push = (...args: readonly string[]) =>
    promisify(execFile)('git', ['push', '-q', ...args], {
      cwd: node.git.dir,
      env: { ...process.env, GIT_TERMINAL_PROMPT: '0' },
    })

  const since = () => eventsSince(grove, ann.org, seq)
  const said = (events: readonly LoggedEvent[] = since()) =>
    events.map(({ type, via, data }) => [type, via, data.actor?.name].filter(Boolean).join(' '))

  it('begins with the organisation, and has CloudEvents', () => {
    const events = readLog(grove, ann.org)
    expect(said(events).slice(0, 5)).to.deep.equal([
      'log.began',
      'org.created rest Ann',
      'member.added rest Ann',
      'member.added rest Ann',
      'node.created rest Ann',
    ])
    const created = events.find(({ type }) => type === 'node.created')
    expect(created).to.deep.include({
      specversion: '1.0',
      source: `/orgs/${ann.org}`,
      subject: `nodes/${node.id}`,
      datacontenttype: 'application/json',
      via: 'rest',
    })
    expect(created?.id).to.match(/^[0-9a-f]{32}$/)
    expect(created?.data).to.deep.equal({
      actor: { kind: 'user', id: ann.user.id, name: 'Ann' },
      title: 'Whales',
      head: node.git.head(),
      edges_added: [],
    })
    expect(events.some(({ type }) => type === 'branch.created')).to.equal(false)
  })

  it('has one event for the branch and one for the node of a commit', async () => {
    const before = node.git.head()
    await made(bob.patch(node.at, { title: 'Blue whales', text_content: 'Large.' }))
    const after = node.git.head()
    const [branch, updated] = since()
    expect(said()).to.deep.equal(['branch.updated rest Bob', 'node.updated rest Bob'])
    expect(branch?.data).to.deep.include({ name: 'main', before, after, forced: false, commits: 1 })
    expect(branch?.data.head).to.include({ id: after, message: 'Edit node', author: 'Bob' })
    expect(updated?.data).to.deep.include({ before, after, changed: ['title', 'text'] })
  })

  it('continues after a ledger in which submodules stand for checks, entries and proposals', async () => {
    const { git } = node
    const ref = 'refs/grove/ledger'
    const places = [`checks/ab/${'cd'.repeat(19)}.json`, 'reviews/0/0/9/0/1.json', 'pulls/0/0/9.json']
    for (const side of [{ mode: '160000', oid: git.head() }, null]) {
      const files = Object.fromEntries(places.map((path) => [path, side]))
      git.say('update-ref', ref, git.commit({ files, parents: [git.say('rev-parse', ref)], message: 'by hand' }))
    }
    await made(bob.patch(node.at, { title: 'Right whales' }))
    expect(said()).to.deep.equal(['branch.updated rest Bob', 'node.updated rest Bob'])
  })

  it('has the edges that a commit adds and removes', async () => {
    const parent = await made(ann.post(`/orgs/${ann.org}/nodes`, { title: 'Sea' }))
    await made(ann.put(`${node.at}/parents/${parent.id}`, {}))
    await ann.delete(`${node.at}/parents/${parent.id}`)
    const [added, removed] = since().filter(({ type }) => type === 'node.updated')
    const edge = { edge_type: 'parent_child', node_id: parent.id }
    expect(added?.data).to.deep.include({ changed: ['edges'], edges_added: [edge], edges_removed: [] })
    expect(removed?.data).to.deep.include({ changed: ['edges'], edges_added: [], edges_removed: [edge] })
  })

  it('has the way of a proposal', async () => {
    await node.proposal('draft')
    const { number } = (await made(bob.post(`${node.at}/pull-requests`, { source_branch: 'draft', title: 'More' }))).pr
    const at = `${node.at}/pull-requests/${number}`
    await made(bob.patch(at, { title: 'Much more' }))
    await made(bob.patch(at, { reviewers: [ann.user.id] }))
    await made(bob.patch(at, { status: 'closed' }))
    await made(bob.patch(at, { status: 'open' }))
    await made(ann.post(`${at}/merge`, {}))
    expect(said().filter((one) => one.startsWith('pull') || one.startsWith('review'))).to.deep.equal([
      'pull_request.opened rest Bob',
      'pull_request.edited rest Bob',
      'review.requested rest Bob',
      'pull_request.closed rest Bob',
      'pull_request.reopened rest Bob',
      'pull_request.merged rest Ann',
    ])
    const merged = since().at(-1)
    expect(merged?.data).to.deep.include({ number, title: 'Much more', source_branch: 'draft', target_branch: 'main' })
    expect(merged?.data.actor).to.deep.equal({ kind: 'user', id: ann.user.id, name: 'Ann' })
    expect(said().slice(-3)).to.deep.equal([
      'branch.updated rest Ann',
      'node.updated rest Ann',
      'pull_request.merged rest Ann',
    ])
  })

  it('has comments, threads and verdicts', async () => {
    await node.proposal('talk')
    const { number } = (await made(bob.post(`${node.at}/pull-requests`, { source_branch: 'talk', title: 'Talk' }))).pr
    seq = readLog(grove, ann.org).at(-1)?.seq ?? 0
    await converse(`${node.at}/pull-requests/${number}`, bob, ann)
    const kinds = since().map(({ type }) => type)
    for (const type of [
      'comment.created',
      'comment.edited',
      'comment.deleted',
      'thread.resolved',
      'review.submitted',
      'review.withdrawn',
      'pull_request.edited',
    ])
      expect(kinds, type).to.include(type)
    expect(JSON.stringify(since())).to.not.include('Which whales?')
    const [first] = since()
    expect(first?.data).to.deep.include({ number, entry: 1, thread: 1, path: 'node.json' })
  })

  it('has checks, and the same report once', async () => {
    const report = { state: 'success', url: 'https://ci.example.org/1' }
    const head = node.git.head()
    for (let twice = 0; twice < 2; twice++) await made(bob.put(`${node.at}/checks/${head}/links`, report))
    expect(said()).to.deep.equal(['check.reported rest Bob'])
    expect(since()[0]?.data).to.deep.include({ commit: head, name: 'links', ...report })
  })

  it.deep('has branches and tags, and who pushed them', async () => {
    const { token } = await made(bob.post('/auth/tokens', { name: 'push', access: 'write' }))
    const url = `${grove.url.replace('//', `//x:${token}@`)}/git/${ann.org}/${node.id}.git`
    const oid = node.git.commit({ files: { 'a.txt': 'a' }, parents: [node.git.head()] })
    await push(url, `${oid}:refs/heads/pushed`, `${oid}:refs/tags/v1`)
    expect(said()).to.have.members(['branch.created push Bob', 'tag.created push Bob'])
    await push(url, `${oid}:refs/heads/main`)
    expect(said().slice(2)).to.deep.equal(['branch.updated push Bob', 'node.updated push Bob'])
    expect(since().at(-1)?.data.changed).to.deep.equal(['files'])
    await push(url, ':refs/heads/pushed')
    expect(said().at(-1)).to.equal('branch.deleted push Bob')
  })

  it('has what was moved in the folder, without a name', async () => {
    const before = node.git.head()
    const oid = node.git.commit({ files: { 'b.txt': 'b' }, parents: [before] })
    node.git.point('main', oid)
    await made(ann.get(node.at))
    expect(said()).to.deep.equal(['branch.updated path', 'node.updated path'])
    const other = node.git.commit({ files: { 'c.txt': 'c' }, parents: [before] })
    node.git.point('main', other)
    await made(ann.get(node.at))
    expect(since()[2]?.data).to.deep.include({ forced: true, commits: 1 })
  })

  it('has each move of a node with many branches', async () => {
    const other = await newNode(grove, ann, { title: 'Many' })
    const head = other.git.head()
    const names = Array.from({ length: 600 }, (_, at) => `b${at}`)
    const input = names.map((name) => `create refs/heads/${name} ${head}\n`).join('')
    other.git.run(['update-ref', '--stdin'], { input })
    await made(ann.get(other.at))
    const created = since().slice(1)
    expect(created.map(({ type, data }) => `${type} ${data.name}`)).to.have.members(
      names.map((name) => `branch.created ${name}`),
    )
    await other.commit('b7', { 'a.txt': 'a' })
    other.git.point('b8', null)
    other.git.point('b9', other.git.head('b7'))
    await made(ann.get(`${other.at}/branches`))
    expect(
      since()
        .slice(601)
        .map(({ type, data }) => `${type} ${data.name}`),
    ).to.have.members(['branch.updated b7', 'branch.deleted b8', 'branch.updated b9'])
  })

  it.deep('has types, with their versions', async () => {
    const at = `/orgs/${ann.org}/types/recipe`
    const one = await made(ann.put(at, { definition: { title: 'Recipe' } }))
    const two = await made(ann.put(at, { definition: { title: 'Dish' } }))
    await made(ann.put(at, { definition: { title: 'Dish' } }))
    await ann.delete(at).then(expecting(204))
    expect(said()).to.deep.equal(['org.updated rest Ann', 'org.updated rest Ann', 'org.updated rest Ann'])
    const versions = [undefined, one.version, two.version, undefined].map((recipe) => (recipe ? { recipe } : {}))
    for (const [n, { data }] of since().entries())
      expect(data).to.deep.include({
        changed: ['types'],
        before: { types: versions[n] },
        after: { types: versions[n + 1] },
      })
  })

  it('has members and settings', async () => {
    await made(ann.patch(`/orgs/${ann.org}`, { name: 'Sea', published: true }))
    await made(ann.patch(`/orgs/${ann.org}`, { published: false }))
    const cy = await signUp(grove, 'Cy')
    await made(ann.put(`/orgs/${ann.org}/members/cy@example.org`, { role: 'reader' }))
    await made(ann.put(`/orgs/${ann.org}/members/cy@example.org`, { role: 'editor' }))
    await ann.delete(`/orgs/${ann.org}/members/cy@example.org`).then(expecting(204))
    expect(said()).to.deep.equal([
      'org.updated rest Ann',
      'org.updated rest Ann',
      'member.added rest Ann',
      'member.updated rest Ann',
      'member.removed rest Ann',
    ])
    expect(since()[0]?.data).to.deep.include({
      changed: ['name', 'published'],
      after: { name: 'Sea', published: true },
    })
    expect(since()[3]?.data).to.deep.include({
      user_id: cy.user.id,
      role: 'editor',
      before: { role: 'reader', name: 'Cy' },
    })
    expect(JSON.stringify(since())).to.not.include('@')
  })

  it('has the deletion of a node, and its return', async () => {
    const other = await newNode(grove, ann, { title: 'Short' })
    await ann.delete(other.at).then(expecting(204))
    expect(said()).to.deep.equal(['node.created rest Ann', 'node.deleted rest Ann'])
    expect(since()[1]?.data.title).to.equal('Short')
    await made(ann.post(`/orgs/${ann.org}/trash/${other.id}/restore`, {}))
    expect(said().slice(2)).to.deep.equal(['node.restored rest Ann'])
  })

  it('has a batch in an order in which no child comes before its parent', async () => {
    const ids = ['a', 'b', 'c'].map(() => crypto.randomUUID())
    const nodes = ids.map((id, at) => ({ id, title: `Node ${at}`, ...(ids[at + 1] ? { parents: [ids[at + 1]] } : {}) }))
    await made(ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }))
    const created = since().filter(({ type }) => type === 'node.created')
    expect(created.map(({ subject }) => subject)).to.deep.equal([...ids].reverse().map((id) => `nodes/${id}`))
    expect(said()).to.deep.equal(Array(3).fill('node.created rest Ann'))
  })

  it('has an erasure, and goes on after it', async () => {
    await node.proposal('secret')
    const { number } = (await made(bob.post(`${node.at}/pull-requests`, { source_branch: 'secret', title: 'S' }))).pr
    const at = `${node.at}/pull-requests/${number}`
    const { entry } = await made(bob.post(`${at}/comments`, { text: 'My password' }))
    seq = readLog(grove, ann.org).at(-1)?.seq ?? 0
    await made(ann.post(`${at}/entries/${entry}/erase`, {}))
    await made(bob.post(`${at}/comments`, { text: 'Thanks' }))
    expect(said()).to.deep.equal(['comment.erased Ann', 'comment.created rest Bob'])
    expect(since()[0]?.data).to.deep.include({ number, entry })
  })

  it('has a ledger that was replaced, as a reset', async () => {
    const other = await newNode(grove, ann, { title: 'Reset' })
    const [root] = other.git.lines('rev-list', '--max-parents=0', 'refs/grove/ledger')
    await other.proposal('draft')
    await made(bob.post(`${other.at}/pull-requests`, { source_branch: 'draft', title: 'Lost' }))
    execFileSync('git', ['update-ref', 'refs/grove/ledger', String(root)], { cwd: other.git.dir })
    seq = readLog(grove, ann.org).at(-1)?.seq ?? 0
    await made(ann.get(other.at))
    expect(said()).to.deep.equal(['node.reset'])
  })

  it('has suggestions, and moves of the source branch', async () => {
    await node.proposal('advice')
    const { number, source_commit: commit } = await node.open('advice')
    const at = `${node.at}/pull-requests/${number}`
    const anchor = { commit, path: 'advice.txt', first_line: 1 }
    const { entry } = await made(bob.post(`${at}/comments`, { text: '', suggestion: 'Better', anchor }))
    await made(bob.post(`${at}/reviews`, { verdict: 'approve', expected_source_commit: commit }))
    await made(ann.patch(`${at}/reviews/${entry + 1}`, { state: 'dismissed', reason: 'Too fast' }))
    await made(ann.patch(`${at}/threads/${entry}`, { resolved: true }))
    await made(ann.patch(`${at}/threads/${entry}`, { resolved: false }))
    seq = readLog(grove, ann.org).at(-1)?.seq ?? 0
    await made(ann.post(`${at}/suggestions`, { comments: [entry], expected_source_commit: commit }))
    expect(said()).to.have.members([
      'branch.updated rest Ann',
      'pull_request.updated rest Ann',
      'suggestion.applied rest Ann',
      'thread.resolved rest Ann',
    ])
    const { after } = since().find(({ type }) => type === 'pull_request.updated')?.data ?? {}
    const applied = since().find(({ type }) => type === 'suggestion.applied')?.data
    expect(applied).to.deep.include({ number, entry, thread: entry, path: 'advice.txt', commit: after })
  })

  it.deep('has tags that move, and webhooks that are paused', async () => {
    const [before, after] = [node.git.head(), node.git.commit({ files: { 't.txt': 't' }, parents: [node.git.head()] })]
    const { token } = await made(ann.post('/auth/tokens', { name: 'push', access: 'write' }))
    const url = `${grove.url.replace('//', `//x:${token}@`)}/git/${ann.org}/${node.id}.git`
    for (const oid of [before, after, '']) await push(url, `+${oid}:refs/tags/moved`)
    expect(said()).to.deep.equal(['tag.created push Ann', 'tag.updated push Ann', 'tag.deleted push Ann'])
    const { id } = await made(ann.post(`/orgs/${ann.org}/webhooks`, { url: unheard, types: ['org.reset'] }))
    await made(ann.patch(`/orgs/${ann.org}/webhooks/${id}`, { active: false }))
    await made(ann.patch(`/orgs/${ann.org}/webhooks/${id}`, { active: true }))
    expect(said().slice(3)).to.deep.equal(['webhook.disabled Ann', 'webhook.enabled Ann'])
  })

  it.deep('has change sets from their opening to their merge', async () => {
    const sets = `/orgs/${ann.org}/change-sets`
    const { id: old } = await made(ann.post(`/orgs/${ann.org}/nodes`, { title: 'Old' }))
    const nodes = [{ title: 'Krill' }, { id: node.id, tags: ['sung'] }]
    const { change_set: set } = await made(ann.post(sets, { title: 'Songs', nodes, deletions: [{ node_id: old }] }))
    const path = `${sets}/${set.number}`
    await made(ann.patch(path, { title: 'Whale songs' }))
    await made(ann.patch(path, { status: 'closed' }))
    await made(ann.patch(path, { status: 'open' }))
    const rules = [{ branches: ['main'], approvals: 1, override: 'owner' }]
    await made(ann.patch(`/orgs/${ann.org}`, { rules }))
    await made(ann.post(`${path}/merge`, { override: { reason: 'It is late' } }))
    await made(ann.patch(`/orgs/${ann.org}`, { rules: [] }))
    const types = since().map(({ type }) => type)
    const own = types.filter((type) => type.startsWith('change_set.'))
    expect(own).to.deep.equal(['opened', 'edited', 'closed', 'reopened', 'merged'].map((act) => `change_set.${act}`))
    expect(types).to.include.members(['node.created', 'node.updated', 'node.deleted'])
  })

  it.deep('has the erasure of a user, and of an organisation', async () => {
    const { code, stderr } = await cli(grove.dataDir, 'erase', '--org', ann.org, '--person', bob.user.id)
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    await made(ann.get(node.at))
    expect(since().map(({ type }) => type)).to.include('text.erased')
    const { id } = await made(ann.post('/orgs', { name: 'Short' }))
    await ann.delete(`/orgs/${id}`).then(expecting(204))
    expect(readLog(grove, id).at(-1)).to.deep.include({ type: 'org.deleted', via: 'rest' })
  })

  it.deep('has the fields that spec/events.md documents', async () => {
    const documented = await documentedFields()
    const events = readLog(grove, ann.org)
    expect(events.flatMap((event) => fieldFaults(event, documented))).to.deep.equal([])
    const types = new Set(events.map(({ type }) => type))
    const others = eventTypes.filter((type) => !types.has(type))
    // Each is in a log of its own.
    expect(others).to.deep.equal(['org.deleted', 'org.reset'])
    const seen = new Set(events.flatMap(({ type, data }) => Object.keys(data).map((name) => `${type} ${name}`)))
    const unseen = [...documented].flatMap(([type, { sometimes }]) =>
      sometimes.map((name) => `${type} ${name}`).filter((field) => !seen.has(field)),
    )
    expect(unseen).to.deep.equal([
      'comment.edited path',
      'comment.deleted path',
      'text.erased number',
      'text.erased head',
    ])
  })
})
