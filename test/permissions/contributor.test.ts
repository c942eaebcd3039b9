/** A contributor may change over REST their own branches, and the proposals that they opened. */

import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { parseBranchName } from '../../gitstore/names.ts'
import { authorizeNode } from '../../server/domain/access.ts'
import type { Person } from '../../server/domain/actor.ts'
import { commitToBranch } from '../../server/domain/branches/branch-commits.ts'
import { applyRefUpdates } from '../../server/domain/branches/ref-updates.ts'
import { branchRef, ledgerRef } from '../../server/domain/layout.ts'
import { made, prefixOf, writing } from '../support/cast.ts'
import { transactionsIn } from '../support/data-folder.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

describe('a contributor', () => {
  const { grove, ann, cy, dan, eve } = useWorld({ ann: 'owner', cy: 'stranger', dan: 'stranger', eve: 'stranger' })
  let node: TestNode
  /** The beginning of the names of Cy's branches. */
  let own: string

  before(() => {
    own = prefixOf(cy)
  })
  beforeEach(async () => {
    for (const [person, role] of [
      [cy, 'contributor'],
      [dan, 'contributor'],
      [eve, 'editor'],
    ] as const)
      await become(person, role)
    node = await newNode(grove, ann, { text_content: 'Whales are mammals.\n' })
  })

  const become = (person: PersonClient, role: string) =>
    ann.put(`/orgs/${ann.org}/members/${person.user.email}`, { role }).then(expecting(200))
  const tree = (branch: string) => `${node.at}/tree/${encodeURIComponent(branch)}/commits`
  const at = (branch: string) => `${node.at}/branches/${encodeURIComponent(branch)}`
  const propose = (by: Client, source_branch: string, more: object = {}) =>
    by.post(`${node.at}/pull-requests`, { source_branch, title: 'Songs', ...more })

  const elsewhere = (prefix: string): Answer['body'] => ({
    status: 403,
    body: {
      detail: `Contributors can change only branches below ${prefix}; make the change there and open a pull request`,
      code: 'forbidden',
      branch_prefix: prefix,
    },
  })
  const needs = (role: string) => ({
    status: 403,
    body: { detail: `You need the ${role} role; yours is contributor`, code: 'forbidden' },
  })
  const others = {
    status: 403,
    body: { detail: 'Contributors can change only the pull requests that they opened', code: 'forbidden' },
  }

  it('is shown the beginning of the names of their branches, and no other caller is', async () => {
    const path = `/orgs/${ann.org}`
    expect(await made(cy.get(path))).to.include({ role: 'contributor', branch_prefix: own })
    expect(own).to.match(/^users\/[0-9a-f]{12}\/$/)
    expect(own).to.not.equal(prefixOf(dan))
    const { orgs } = await made(cy.get('/orgs'))
    expect(orgs.map(({ branch_prefix }: { branch_prefix?: string }) => branch_prefix)).to.deep.equal([own, undefined])
    await made(ann.patch(path, { published: true }))
    const reader = await signUp(grove, randomUUID())
    for (const who of [ann, eve, reader, client(grove)])
      expect(await made(who.get(path))).to.not.have.property('branch_prefix')
    await become(reader, 'reader')
    expect(await made(reader.get(path))).to.not.have.property('branch_prefix')
    await made(ann.patch(path, { published: false }))
  })

  it('creates, writes and deletes branches of their own, wherever these start', async () => {
    await node.proposal('feature')
    for (const from of ['main', 'feature', node.git.head()]) {
      const name = `${own}songs/of-whales`
      expect((await cy.post(`${node.at}/branches`, { name, from })).status, from).to.equal(201)
      expect((await cy.post(tree(name), writing('song.md'))).status, from).to.equal(201)
      expect((await cy.delete(at(name))).status, from).to.equal(204)
    }
  })

  it('changes no branch of others, also where these only look like their own', async () => {
    const id = own.slice('users/'.length, -1)
    const names = ['feature', `users/${id}x/a`, `users/${id}`, `Users/${id}/a`, `x/${own}a`, `${prefixOf(dan)}a`]
    for (const name of names) {
      expect(await cy.post(`${node.at}/branches`, { name }), name).to.deep.equal(elsewhere(own))
      await node.branch(name)
      expect(await cy.post(tree(name), writing('song.md')), name).to.deep.equal(elsewhere(own))
      expect(await cy.delete(at(name)), name).to.deep.equal(elsewhere(own))
      expect(await propose(cy, name), name).to.deep.equal(elsewhere(own))
      await made(ann.delete(at(name)))
    }
    expect(await cy.post(tree('main'), writing('song.md'))).to.deep.equal(elsewhere(own))
    for (const name of [`${own}../main`, own, `${own}a.lock`])
      expect((await cy.post(`${node.at}/branches`, { name })).status, name).to.equal(422)
  })

  it('has branches that editors may change, and other contributors may not', async () => {
    const name = `${own}songs`
    await made(cy.post(`${node.at}/branches`, { name }))
    expect(await dan.post(tree(name), writing('dan.md'))).to.deep.equal(elsewhere(prefixOf(dan)))
    expect((await eve.post(tree(name), writing('eve.md'))).status).to.equal(201)
    expect((await propose(eve, name)).status).to.equal(201)
    expect((await eve.delete(at(name))).status).to.equal(204)
  })

  describe('with a proposal', () => {
    let name: string
    let pull: string
    let number: number

    beforeEach(async () => {
      name = `${own}songs`
      await made(cy.post(`${node.at}/branches`, { name }))
      await made(cy.post(tree(name), writing('song.md')))
      number = (await made(propose(cy, name))).pr.number
      pull = `${node.at}/pull-requests/${number}`
    })

    it('edits, retargets, closes and reopens it', async () => {
      await node.branch('release')
      for (const patch of [
        { title: 'Song', description: 'They sing.' },
        { is_draft: true },
        { is_draft: false },
        { target_branch: 'release' },
        { status: 'closed' },
        { status: 'open' },
      ])
        expect((await cy.patch(pull, patch)).status, JSON.stringify(patch)).to.equal(200)
      expect(await node.pull(number)).to.include({ title: 'Song', status: 'open', target_branch: 'release' })
    })

    it('does not merge it, nor change one of others', async () => {
      expect(await cy.post(`${pull}/merge`, {})).to.deep.equal(needs('editor'))
      const into = `${own}release`
      await made(cy.post(`${node.at}/branches`, { name: into }))
      const second = (await made(propose(cy, name, { target_branch: into }))).pr.number
      expect(await cy.post(`${node.at}/pull-requests/${second}/merge`, {})).to.deep.equal(needs('editor'))
      await node.proposal('feature')
      const { number: third } = await node.open('feature')
      expect(await cy.patch(`${node.at}/pull-requests/${third}`, { status: 'closed' })).to.deep.equal(others)
      expect(await cy.post(`${node.at}/pull-requests/${third}/update-branch`)).to.deep.equal(elsewhere(own))
      // A proposal of their own branch that somebody else opened: its branch is theirs, its words are not.
      const { number: fourth } = await node.open(into, { target_branch: 'feature' })
      expect(await cy.patch(`${node.at}/pull-requests/${fourth}`, { title: 'Mine' })).to.deep.equal(others)
      expect(await dan.patch(pull, { status: 'closed' })).to.deep.equal(others)
      for (const n of [number, second, third, fourth]) expect(await node.pull(n)).to.include({ status: 'open' })
      expect((await cy.patch(`${node.at}/pull-requests/999`, { title: 'x' })).body.code).to.equal(
        'pull_request_not_found',
      )
    })

    it('updates its branch, whoever opened it', async () => {
      await node.commit('main', { 'news.md': 'News\n' })
      expect(await dan.post(`${pull}/update-branch`)).to.deep.equal(elsewhere(prefixOf(dan)))
      expect((await cy.post(`${pull}/update-branch`)).body.pr).to.include({ can_merge: true })
      await node.commit('main', { 'news.md': 'More news\n' })
      await node.branch('release')
      const { number: second } = await node.open(name, { target_branch: 'release' })
      await node.commit('release', { 'release.md': 'Now\n' })
      expect((await cy.post(`${node.at}/pull-requests/${second}/update-branch`)).status).to.equal(200)
    })

    it('is merged by an editor, or a maintainer if main requires it', async () => {
      await made(ann.patch(`/orgs/${ann.org}`, { require_pull_requests: true }))
      expect((await eve.post(`${pull}/merge`, {})).status).to.equal(403)
      await made(ann.patch(`/orgs/${ann.org}`, { require_pull_requests: false }))
      expect((await eve.post(`${pull}/merge`, {})).body.pr).to.include({ status: 'merged', author: 'Cy' })
    })

    it('still changes what they opened as an editor, and nothing else of then', async () => {
      await become(dan, 'editor')
      await node.proposal('dans')
      const { number: dans } = (await made(propose(dan, 'dans'))).pr
      await become(dan, 'contributor')
      expect((await dan.patch(`${node.at}/pull-requests/${dans}`, { status: 'closed' })).status).to.equal(200)
      expect(await dan.post(tree('dans'), writing('song.md'))).to.deep.equal(elsewhere(prefixOf(dan)))
    })
  })

  it('who hides their e-mail address changes their proposals, also those of the time before', async () => {
    const hidden = await signUp(grove, randomUUID())
    await become(hidden, 'contributor')
    const name = `${prefixOf(hidden)}songs`
    await made(hidden.patch('/auth/me', { hide_email: true }))
    await made(hidden.post(`${node.at}/branches`, { name }))
    await made(hidden.post(tree(name), writing('song.md')))
    const { number } = (await made(propose(hidden, name))).pr
    const path = `${node.at}/pull-requests/${number}`
    expect((await hidden.patch(path, { title: 'Song' })).status).to.equal(200)
    await made(hidden.patch('/auth/me', { hide_email: false }))
    expect((await hidden.patch(path, { title: 'Songs' })).status).to.equal(200)
  })

  it('needs a higher role for all other changes of nodes', async () => {
    const second = await newNode(grove, ann)
    const changes: [string, Promise<Answer>][] = [
      ['nodes', cy.post(`/orgs/${ann.org}/nodes/batch`, { nodes: [{ title: 'Krill' }] })],
      ['title', cy.patch(node.at, { title: 'Krill' })],
      ['parent', cy.put(`${node.at}/parents/${second.id}`, {})],
      ['connection', cy.post(`${node.at}/connections`, { target: second.id })],
    ]
    for (const [what, answer] of changes) expect(await answer, what).to.deep.equal(needs('editor'))
    expect(await cy.delete(node.at)).to.deep.equal(needs('maintainer'))
    const change_sets = `/orgs/${ann.org}/change-sets`
    const detail = `Contributors create pages by a proposal: send the page to POST ${change_sets}`
    const refused = { status: 403, body: { detail, code: 'forbidden', change_sets } }
    expect(await cy.post(`/orgs/${ann.org}/nodes`, { title: 'Krill' }), 'which names the way').to.deep.equal(refused)
  })

  it('has the same rights with a personal access token that may write', async () => {
    for (const bounds of [{}, { org_id: ann.org }, { org_id: ann.org, node_id: node.id }]) {
      const { token } = await made(cy.post('/auth/tokens', { name: 'Script', access: 'write', ...bounds }))
      const script = client(grove, token)
      const name = `${own}${randomUUID()}`
      expect(await script.post(`${node.at}/branches`, { name: 'feature' })).to.deep.equal(elsewhere(own))
      expect((await script.post(`${node.at}/branches`, { name })).status).to.equal(201)
      expect((await script.post(tree(name), writing('song.md'))).status).to.equal(201)
      const { pr } = await made(propose(script, name))
      expect((await script.patch(`${node.at}/pull-requests/${pr.number}`, { status: 'closed' })).status).to.equal(200)
      expect((await script.delete(at(name))).status).to.equal(204)
    }
    const { token } = await made(cy.post('/auth/tokens', { name: 'Reader', access: 'read' }))
    const { body } = await client(grove, token).post(`${node.at}/branches`, { name: `${own}a` })
    expect(body.code).to.equal('token_scope')
  })

  describe('who was an editor when a change began', () => {
    const actor = (): Person => ({
      kind: 'person',
      id: eve.user.id,
      email: eve.user.email,
      name: 'Eve',
      isAdmin: false,
    })
    const begun = () =>
      authorizeNode({ ...grove.deps, actor: actor() }, { org_id: node.org, node_id: node.id }, 'editor')

    it('changes only their own branches once it has the lock', async () => {
      const access = await begun()
      const head = node.git.head()
      await become(eve, 'contributor')
      const command = (name: string) => ({ ref: branchRef(name), from: null, to: head })
      const mine = `${prefixOf(eve)}a`
      const commands = [command(mine), command('feature'), { ref: 'refs/tags/v1', from: null, to: head }]
      const { refused } = await applyRefUpdates({ ...grove.deps, actor: actor() }, access, commands, 'each that may')
      const { detail, branch_prefix } = elsewhere(prefixOf(eve)).body
      expect([...refused].map(([ref, error]) => [ref, (error as Error).message])).to.deep.equal([
        ['refs/heads/feature', detail],
        ['refs/tags/v1', detail],
      ])
      expect(branch_prefix).to.equal(prefixOf(eve))
      expect(node.git.lines('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/tags').sort()).to.deep.equal([
        'refs/heads/main',
        branchRef(mine),
      ])
      const all = await applyRefUpdates(
        { ...grove.deps, actor: actor() },
        access,
        [command(`${mine}b`), command('x')],
        'all or none',
      )
      expect([...all.refused.keys()]).to.deep.equal(['refs/heads/x'])
      expect((await ann.get(at(`${mine}b`))).status).to.equal(404)
    })

    /** True if a transaction of the service wants the lock of this ref. */
    const isAwaited = async (ref: string) => {
      const folders = await transactionsIn(grove.dataDir)
      const tokens = folders.map((folder) => textOf(join(grove.dataDir, 'run', folder, 'token')))
      return tokens.some((token) => token.includes(`${node.id}.git/${ref}.lock`))
    }

    /** Makes a change as Eve, who becomes a contributor while it waits for the lock of a ref. */
    async function loweredAt(ref: string, change: () => Promise<Answer>): Promise<Answer> {
      for (;;) {
        await become(eve, 'editor')
        await until(async () => (await transactionsIn(grove.dataDir)).length === 0)
        const lock = join(node.git.dir, `${ref}.lock`)
        mkdirSync(dirname(lock), { recursive: true })
        writeFileSync(lock, '')
        let isAnswered = false
        const asked = change().finally(() => {
          isAnswered = true
        })
        await until(async () => isAnswered || (await isAwaited(ref)))
        await become(eve, 'contributor')
        unlinkSync(lock)
        const answer = await asked
        // If the machine is slow, the change does not wait long enough. Patience would make it begin with the lower role.
        if (answer.status !== 503) return answer
      }
    }

    it('is refused what waits for a lock', async () => {
      await node.proposal('feature')
      const { number } = await node.open('feature')
      await node.commit('main', { 'news.md': 'News\n' })
      await node.branch('release')
      const [pulls, feature] = [`${node.at}/pull-requests`, branchRef('feature')]
      const before = node.git.lines('for-each-ref')
      const body = { source_branch: 'feature', target_branch: 'release', title: 'Second' }
      const refusal = elsewhere(prefixOf(eve))
      const changes: [string, string, () => Promise<Answer>, unknown][] = [
        ['create', branchRef('new'), () => eve.hasty.post(`${node.at}/branches`, { name: 'new' }), refusal],
        ['commit', feature, () => eve.hasty.post(tree('feature'), writing('eve.md')), refusal],
        ['delete', ledgerRef, () => eve.hasty.delete(at('feature')), refusal],
        ['open', ledgerRef, () => eve.hasty.post(pulls, body), refusal],
        ['update', feature, () => eve.hasty.post(`${pulls}/${number}/update-branch`), refusal],
        ['change', ledgerRef, () => eve.hasty.patch(`${pulls}/${number}`, { title: 'Mine' }), others],
        ['merge', ledgerRef, () => eve.hasty.post(`${pulls}/${number}/merge`, {}), needs('editor')],
      ]
      for (const [what, ref, change, refused] of changes)
        expect(await loweredAt(ref, change), what).to.deep.equal(refused)
      expect(node.git.lines('for-each-ref')).to.deep.equal(before)
    })

    it('commits to no other branch', async () => {
      const access = await begun()
      await become(eve, 'contributor')
      const branch = parseBranchName('main')
      if (branch === undefined) throw new Error('main is a name')
      const request = { branch, message: 'Late', addsParents: false, locate: () => [] }
      const build = async () => {
        throw new Error('The tree was built')
      }
      const late = commitToBranch({ ...grove.deps, actor: actor() }, access, { ...request, build })
      expect(await late.catch((error: Error) => error.message)).to.equal(elsewhere(prefixOf(eve)).body.detail)
    })
  })
})

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // its transaction has ended
  }
}
