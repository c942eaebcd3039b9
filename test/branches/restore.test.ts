/** Restoring an earlier version of a branch, with native git as the oracle. */

import { createHash, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { aNode, ann, grove, leavesCleanRepositories, useScene } from './scene.ts'

const restore = ({ at }: TestNode, commit: string, more: object = {}, branch = 'main') =>
  ann.post(`${at}/branches/${encodeURIComponent(branch)}/restore`, { commit, ...more })

const refusal = async (sent: ReturnType<typeof restore>) => {
  const { status, body } = await sent
  return [status, body.code ?? body.detail[0]]
}

/** A node with three versions of a text, and two files that came and went. */
const aHistory = async () => {
  const node = await aNode({ text_content: 'One.\n' })
  const first = node.git.head()
  const second = await node.commit('main', { 'content.md': 'Two.\n', 'notes/a.txt': 'a' }, 'Say two\n\nWith reasons.')
  const third = await node.commit('main', { 'content.md': 'Three.\n', 'notes/a.txt': null, 'b.bin': 'b' })
  return { node, first, second, third }
}

describe('restoring a version', () => {
  useScene()

  it('makes one commit on the head whose tree is that of the version', async () => {
    const { node, second, third } = await aHistory()
    const { git } = node
    const { status, body, headers } = await restore(node, second)
    expect(status).to.equal(201)
    expect(git.say('rev-parse', 'main^{tree}')).to.equal(git.say('rev-parse', `${second}^{tree}`))
    expect(git.lines('rev-list', '--parents', '-1', 'main')).to.deep.equal([`${body.id} ${third}`])
    expect(headers.location).to.equal(`${node.at}/tree/main/commits/${body.id}`)
    expect((await ann.get(headers.location ?? '')).body).to.deep.equal(body)
    const paths = (kind: string) => body.changes[kind].map((one: { entity_key: string }) => one.entity_key)
    expect([paths('added'), paths('removed'), paths('modified')]).to.deep.equal([
      ['notes/a.txt'],
      ['b.bin'],
      ['content.md'],
    ])
    expect((await ann.get(node.at)).body).to.include({ text_content: 'Two.\n', head: body.id })
  })

  it('says in its message which version it restores, or what the caller says', async () => {
    const { node, second, third } = await aHistory()
    const day = node.git.say('log', '-1', '--format=%cs', second)
    expect((await restore(node, second)).body.message).to.equal(
      `Restore ${second.slice(0, 8)} “Say two”\n\nThe content is again that of commit ${second} of ${day}.`,
    )
    const long = await node.commit('main', { 'c.txt': 'c' }, `${'🐋'.repeat(60)}\tand more`)
    await restore(node, third, { message: 'Back\r\nto three' }).then(expecting(201))
    expect(node.git.say('log', '-1', '--format=%B', 'main')).to.equal('Back\nto three')
    const { message } = (await restore(node, long)).body
    expect(message.split('\n')[0]).to.equal(`Restore ${long.slice(0, 8)} “${'🐋'.repeat(50)}…”`)
    const silent = node.git.commit({ files: { 'd.txt': 'd' }, parents: [node.git.head()], message: '' })
    const after = node.git.commit({ files: { 'd.txt': null }, parents: [silent] })
    node.git.point('main', after)
    expect((await restore(node, silent)).body.message.split('\n')[0]).to.equal(`Restore ${silent.slice(0, 8)}`)
  })

  it('takes an abbreviated id, and finds no commit that the branch does not have', async () => {
    const { node, first, second } = await aHistory()
    const other = await aNode()
    await node.branch('draft')
    const beside = await node.commit('draft', { 'draft.txt': 'draft' })
    const missing = [404, 'commit_not_found']
    const unreachable = node.git.commit({ files: { a: 'a' } })
    const blob = node.git.say('rev-parse', `${first}:node.json`)
    for (const id of [beside, beside.slice(0, 7), unreachable, blob, other.git.head(), 'f'.repeat(40), 'main~12'])
      expect(await refusal(restore(node, id)), id).to.deep.equal(missing)
    expect(await refusal(restore(node, first.toUpperCase()))).to.deep.equal(missing)
    for (const [id, type] of [
      [first.slice(0, 6), 'string_too_short'],
      [`${first}0`, 'string_too_long'],
    ] as const)
      expect((await restore(node, id)).body.detail[0])
        .to.include({ type })
        .and.deep.include({ loc: ['body', 'commit'] })
    expect((await restore(node, second.slice(0, 7))).status).to.equal(201)
    expect(await refusal(restore(node, second, {}, 'none'))).to.deep.equal([404, 'branch_not_found'])
    expect((await restore(node, first, {}, 'draft')).status).to.equal(201)
    expect(node.git.say('rev-parse', 'draft^{tree}')).to.equal(node.git.say('rev-parse', `${first}^{tree}`))
  })

  it('refuses an abbreviation that several commits begin with', async () => {
    const node = await aNode()
    const { git } = node
    const pair = twoAlike(git.say('rev-parse', 'main^{tree}'), git.head())
    const oids = pair.map((input) =>
      git.run(['hash-object', '-w', '-t', 'commit', '--stdin'], { input }).toString().trim(),
    )
    git.point('main', git.commit({ parents: oids }))
    const prefix = oids[0]?.slice(0, 7) ?? ''
    const [status, problem] = await refusal(restore(node, prefix))
    expect([status, problem.loc, problem.input]).to.deep.equal([422, ['body', 'commit'], prefix])
  })

  it('changes nothing if nothing differs, or if the head is another one', async () => {
    const { node, first, second, third } = await aHistory()
    expect(await refusal(restore(node, third))).to.deep.equal([409, 'no_changes'])
    expect(await refusal(restore(node, second, { expected_head: first }))).to.deep.equal([409, 'head_moved'])
    expect((await restore(node, second, { expected_head: first })).body.current_head).to.equal(third)
    expect(await refusal(restore(node, second, { expected_head: null }))).to.deep.equal([409, 'head_moved'])
    expect(node.git.head()).to.equal(third)
    await restore(node, second, { expected_head: third }).then(expecting(201))
    expect(await refusal(restore(node, second))).to.deep.equal([409, 'no_changes'])
    expect(await refusal(restore(node, second, { expected_head: third }))).to.deep.equal([409, 'head_moved'])
  })

  it('takes its turn with other writers, and loses nothing of them', async () => {
    const { node, first } = await aHistory()
    const writes = Array.from({ length: 6 }, (_, at) => node.commit('main', { [`w${at}.txt`]: 'w' }))
    const { status } = await restore(node, first)
    const written = await Promise.all(writes)
    expect(status).to.equal(201)
    expect(node.git.log()).to.include.members(written)
    const restores = await Promise.all(Array.from({ length: 5 }, () => restore(node, first)))
    const made = restores.filter((answer) => answer.status === 201)
    expect(made.length).to.be.at.most(1)
    for (const answer of restores.filter((one) => one.status !== 201)) expect(answer.body.code).to.equal('no_changes')
    expect(node.git.say('rev-parse', 'main^{tree}')).to.equal(node.git.say('rev-parse', `${first}^{tree}`))
  })

  it('finds nothing to restore in a node without a commit', async () => {
    const node = await aNode({ initialize: false })
    expect(await refusal(restore(node, 'f'.repeat(40)))).to.deep.equal([404, 'commit_not_found'])
  })

  describe('keeps the rules', () => {
    it('of edges: says which file names a node that is gone, and how to restore the rest', async () => {
      const node = await aNode()
      const [gone, alive] = [await newNode(grove, ann), await aNode()]
      const path = 'connections/eats.json'
      const old = await node.commit('main', {
        [path]: JSON.stringify({ target: gone.id }),
        'connections/sees.json': JSON.stringify({ target: alive.id }),
        'old.txt': 'old',
      })
      const head = await node.commit('main', { [path]: null, 'old.txt': null })
      await ann.delete(gone.at).then(expecting(204))
      const { status, body } = await restore(node, old)
      const reason = `There is no node ${gone.id} in this organisation`
      expect({ status, detail: body.detail }).to.deep.equal({
        status: 422,
        detail: [
          {
            loc: ['body', 'commit'],
            msg: `${path}: ${reason}. To restore the rest, restore this version on another branch, correct the file there, and merge`,
            type: 'value_error',
            ctx: { path, reason },
          },
        ],
      })
      expect(node.git.head()).to.equal(head)
      // The remedy works.
      await node.branch('back')
      await restore(node, old, {}, 'back').then(expecting(201))
      await node.commit('back', { [path]: null })
      const { number } = await node.open('back')
      await ann.post(`${node.at}/pull-requests/${number}/merge`).then(expecting(200))
      expect(node.git.lines('ls-tree', '-r', '--name-only', 'main'))
        .to.include('old.txt')
        .and.not.include(path)
    })

    it('of the graph: restores a parent, unless that would close a cycle', async () => {
      const [child, parent] = [await aNode(), await aNode()]
      await ann.put(`${child.at}/parents/${parent.id}`, {}).then(expecting(200))
      const old = child.git.head()
      await ann.delete(`${child.at}/parents/${parent.id}`).then(expecting(204))
      const without = child.git.head()
      await restore(child, old).then(expecting(201))
      const parents = async (node: TestNode) =>
        (await ann.get(node.at)).body.parents.map(({ id }: { id: string }) => id)
      expect(await parents(child)).to.deep.equal([parent.id])
      await restore(child, without).then(expecting(201))
      await ann.put(`${parent.at}/parents/${child.id}`, {}).then(expecting(200))
      const [status, { ctx }] = await refusal(restore(child, old))
      expect([status, ctx.path]).to.deep.equal([422, `parents/${parent.id}.json`])
      expect(ctx.reason).to.match(/cycle/)
    })

    it('of the graph: of two restores that close a cycle together, one is refused', async () => {
      const nodes = [await aNode(), await aNode()] as const
      const olds: string[] = []
      for (const [at, node] of nodes.entries()) {
        const other = nodes[1 - at]?.id
        await ann.put(`${node.at}/parents/${other}`, {}).then(expecting(200))
        olds.push(node.git.head())
        await ann.delete(`${node.at}/parents/${other}`).then(expecting(204))
      }
      const answers = await Promise.all(nodes.map((node, at) => restore(node, olds[at] ?? '')))
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 422])
    })

    it('of files: node.json stays on main, and must be readable on every branch', async () => {
      const node = await aNode()
      const { git } = node
      const bare = git.commit({ files: { 'node.json': null, 'a.txt': 'a' }, parents: [git.head()] })
      const torn = git.commit({ files: { 'node.json': '{' }, parents: [bare] })
      git.point('main', git.commit({ files: { 'node.json': '{"title": "Whales"}' }, parents: [torn] }))
      const [status, { msg, ctx }] = await refusal(restore(node, bare))
      expect([status, ctx.path]).to.deep.equal([422, 'node.json'])
      expect(msg).to.match(/cannot be deleted.*on another branch/)
      await node.branch('draft')
      await restore(node, bare, {}, 'draft').then(expecting(201))
      for (const branch of ['main', 'draft']) {
        const [refused, problem] = await refusal(restore(node, torn, {}, branch))
        expect([refused, problem.ctx.path]).to.deep.equal([422, 'node.json'])
        expect(problem.msg).to.not.match(/another branch/)
      }
    })

    it('of names: a version with two names that differ only in case is refused', async () => {
      const node = await aNode()
      const { git } = node
      const both = git.commit({ files: { 'A.txt': 'a', 'a.txt': 'a' }, parents: [git.head()] })
      git.point('main', git.commit({ files: { 'A.txt': null }, parents: [both] }))
      const [status, problem] = await refusal(restore(node, both))
      expect([status, problem.loc]).to.deep.equal([422, ['body', 'commit']])
      expect(problem.msg).to.match(/differs from .* only in case/)
    })

    it('of main that changes only by pull requests, and of other branches there', async () => {
      const { body: org } = await ann.post('/orgs', { name: randomUUID(), require_pull_requests: true })
      await ann.patch(`/orgs/${org.id}`, { require_pull_requests: true }).then(expecting(200))
      const { body } = await ann.post(`/orgs/${org.id}/nodes`, { title: 'Whales' }).then(expecting(201))
      const at = `/orgs/${org.id}/nodes/${body.id}`
      await ann.post(`${at}/branches`, { name: 'draft' }).then(expecting(201))
      const changes = [{ action: 'put', path: 'a.txt', content: 'a' }]
      await ann.post(`${at}/tree/draft/commits`, { message: 'A', changes }).then(expecting(201))
      const { body: pulls } = await ann
        .post(`${at}/pull-requests`, { source_branch: 'draft', title: 'A' })
        .then(expecting(201))
      await ann.post(`${at}/pull-requests/${pulls.pr.number}/merge`).then(expecting(200))
      const commit = body.head
      expect((await ann.post(`${at}/branches/main/restore`, { commit })).body.code).to.equal('pull_request_required')
      await ann.post(`${at}/branches/draft/restore`, { commit }).then(expecting(201))
    })

    it('of rights: readers and strangers restore nothing', async () => {
      const { node, first, third } = await aHistory()
      const reader = await signUp(grove, `reader-${randomUUID()}`)
      const path = `${node.at}/branches/main/restore`
      expect((await reader.post(path, { commit: first })).status).to.equal(404)
      await ann.put(`/orgs/${node.org}/members/${reader.user.email}`, { role: 'reader' }).then(expecting(200))
      expect((await reader.post(path, { commit: first })).status).to.equal(403)
      expect(node.git.head()).to.equal(third)
    })
  })

  it('shows as a move of the branch to open pull requests', async () => {
    const { node, first } = await aHistory()
    await node.proposal('draft')
    const pr = await node.open('draft')
    expect(pr.merge_reason).to.equal('mergeable')
    await restore(node, first).then(expecting(201))
    expect(await node.pull(pr.number)).to.include({ merge_reason: 'diverged', commits_behind: 1 })
  })

  describe('all of this', leavesCleanRepositories)
})

/** Two commit objects whose ids begin with the same 7 characters. Some 20,000 tries find a pair. */
function twoAlike(tree: string, parent: string): [string, string] {
  const found = new Map<string, string>()
  for (let at = 0; ; at++) {
    const person = `A <a@example.org> ${1_700_000_000 + at} +0000`
    const commit = `tree ${tree}\nparent ${parent}\nauthor ${person}\ncommitter ${person}\n\nA change\n`
    const id = createHash('sha1').update(`commit ${commit.length}\0${commit}`).digest('hex').slice(0, 7)
    const other = found.get(id)
    if (other !== undefined) return [other, commit]
    found.set(id, commit)
  }
}
