/** Organisations: made, listed, changed, published, deleted. */

import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting, type TestNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { ann, bob, cleo, grove, newOrg, newUser, noOrg, now, pass, put, rolesOf, useScene } from './scene.ts'

const pullRequired = {
  status: 409,
  body: {
    detail: 'In this organisation `main` can only be changed by merging a pull request',
    code: 'pull_request_required',
  },
}

describe('organisations', () => {
  useScene()

  describe('creating one', () => {
    it('makes the caller its owner, unpublished, without more rules', async () => {
      const { status, body, headers } = await ann.post('/orgs', { name: 'Atlas of the sea' })
      const { id, created_at, updated_at, ...rest } = body
      expect(status).to.equal(201)
      expect(headers.location).to.equal(`/orgs/${id}`)
      expect(rest).to.deep.equal({
        name: 'Atlas of the sea',
        description: '',
        published: false,
        require_pull_requests: false,
        rules: [],
        rules_for_main: 'none',
        rules_for_new_nodes: 'none',
        unknown_types: 'allow',
        usage: { nodes: 0, bytes: 0 },
        role: 'owner',
      })
      expect(updated_at).to.equal(created_at)
      expect(await ann.get(`/orgs/${id}`)).to.deep.equal({ status: 200, body })
    })

    it('takes published and require_pull_requests', async () => {
      const { body } = await ann.post('/orgs', { name: 'Atlas', published: true, require_pull_requests: true })
      expect(body).to.include({ published: true, require_pull_requests: true })
    })

    it('takes null for what is optional, and no blank name', async () => {
      expect((await ann.post('/orgs', { name: 'Atlas', published: null })).body.published).to.equal(false)
      const answers = [await ann.post('/orgs', {}), await ann.post('/orgs', { name: ' ' }), await ann.post('/orgs')]
      expect(answers.map(({ status, body }) => [status, body.detail[0].loc, body.detail[0].type])).to.deep.equal([
        [422, ['body', 'name'], 'missing'],
        [422, ['body', 'name'], 'string_pattern_mismatch'],
        [422, ['body'], 'missing'],
      ])
    })
  })

  describe('the list', () => {
    it('has the organisations of which the caller is a member, the oldest first, with the role in each', async () => {
      const dora = await newUser('Dora')
      const older = await newOrg({ name: 'Older' })
      const own = await newOrg({ name: 'Own' }, dora)
      await newOrg({ name: "Somebody else's", published: true })
      await put(older, dora, 'reader')
      const { orgs, ...page } = await dora.api.listOrgs()
      const roles = [
        [dora.org, 'owner'],
        [older, 'reader'],
        [own, 'owner'],
      ]
      expect(orgs.map(({ id, role }) => [id, role])).to.deep.equal(roles)
      expect(page).to.include({ total: 3, limit: 50, offset: 0 })
    })

    it('comes in pages, with a link to the next', async () => {
      const edna = await newUser('Edna')
      const second = await newOrg({}, edna)
      const first = await edna.get('/orgs?limit=1')
      expect(first.body).to.include({ total: 2, limit: 1, offset: 0 })
      expect(first.headers.link).to.equal('</orgs?limit=1&offset=1>; rel="next"')
      const last = await edna.get('/orgs?limit=1&offset=1')
      expect(last.body.orgs.map((org: { id: string }) => org.id)).to.deep.equal([second])
      expect(last.headers).to.not.have.property('link')
      expect(await edna.get('/orgs?offset=2')).to.deep.equal({
        status: 200,
        body: { orgs: [], total: 2, limit: 50, offset: 2 },
      })
    })
  })

  describe('changing one', () => {
    it('changes what is given and nothing else', async () => {
      const org = await newOrg()
      const { body: before } = await ann.get(`/orgs/${org}`)
      pass(1)
      const after = { status: 200, body: { ...before, name: 'Oceans', updated_at: now().toISOString() } }
      expect(await ann.patch(`/orgs/${org}`, { name: 'Oceans' })).to.deep.equal(after)
      expect(await ann.get(`/orgs/${org}`)).to.deep.equal(after)
    })

    it('is no change where it says what holds already', async () => {
      const org = await newOrg()
      const { body } = await ann.get(`/orgs/${org}`)
      pass(1)
      expect(await ann.patch(`/orgs/${org}`, { name: 'Atlas', published: false })).to.deep.equal({ status: 200, body })
      expect(await ann.patch(`/orgs/${org}`, {})).to.deep.equal({ status: 200, body })
    })

    it('loses nothing when two change it together', async () => {
      const org = await newOrg()
      await Promise.all([
        ann.patch(`/orgs/${org}`, { name: 'Oceans' }),
        ann.patch(`/orgs/${org}`, { published: true }),
        ann.patch(`/orgs/${org}`, { require_pull_requests: true }),
        put(org, bob, 'editor'),
      ])
      const all = { name: 'Oceans', published: true, require_pull_requests: true }
      expect(await ann.api.getOrg({ path: { org_id: org } })).to.include(all)
      expect(await rolesOf(org)).to.deep.equal({ Ann: 'owner', Bob: 'editor' })
    })
  })

  describe('publication', () => {
    it('takes effect with the next request, and so does its end', async () => {
      const org = await newOrg()
      const { body: node } = await ann.post(`/orgs/${org}/nodes`, { title: 'Whales' })
      const paths = [`/orgs/${org}`, `/orgs/${org}/nodes/${node.id}`, `/public/orgs/${org}/graph`]
      const seen = () => Promise.all(paths.map(async (path) => (await client(grove).get(path)).status))
      const looks = [await seen()]
      for (const published of [true, false, true]) {
        await ann.patch(`/orgs/${org}`, { published }).then(expecting(200))
        looks.push(await seen())
      }
      expect(looks).to.deep.equal([
        [401, 401, 404],
        [200, 200, 200],
        [401, 401, 404],
        [200, 200, 200],
      ])
    })

    it('ends for who kept the ETag of the graph, too', async () => {
      const org = await newOrg({ published: true })
      const { headers } = await client(grove).get(`/public/orgs/${org}/graph`)
      await ann.patch(`/orgs/${org}`, { published: false }).then(expecting(200))
      const answer = await client(grove).get(`/public/orgs/${org}/graph`, { 'if-none-match': headers.etag ?? '' })
      expect(answer).to.deep.equal(noOrg)
    })
  })

  describe('where main moves by pull requests only', () => {
    let org: string
    let whales: TestNode
    let krill: TestNode

    beforeEach(async () => {
      org = await newOrg()
      whales = await ann.node({ text_content: 'Whales are mammals.' }, org)
      krill = await ann.node({ title: 'Krill', parents: [whales.id] }, org)
      const connected = { target: krill.id, id: 'food' }
      await ann.post(`${whales.at}/connections`, connected).then(expecting(201))
      await ann.patch(`/orgs/${org}`, { require_pull_requests: true }).then(expecting(200))
    })

    it('is every other write to main 409, an owner’s too', async () => {
      const change = { message: 'More', changes: [{ action: 'put', path: 'a.md', content: 'a' }] }
      expect([
        await ann.patch(whales.at, { title: 'Dolphins' }),
        await ann.post(`${whales.at}/tree/main/commits`, change),
        await ann.put(`${whales.at}/parents/${krill.id}`),
        await ann.delete(`${krill.at}/parents/${whales.id}`),
        await ann.post(`${whales.at}/connections`, { target: krill.id }),
        await ann.patch(`${whales.at}/connections/food`, { label: 'by the tonne' }),
        await ann.delete(`${whales.at}/connections/food`),
      ]).to.deep.equal(Array(7).fill(pullRequired))
      expect(whales.git.log()).to.have.length(2)
    })

    it('are nodes still created, and branches still written', async () => {
      const { status, body } = await ann.post(`/orgs/${org}/nodes`, { title: 'Seals', parents: [whales.id] })
      expect([status, typeof body.head]).to.deep.equal([201, 'string'])
      await whales.branch('draft')
      expect(await whales.commit('draft', { 'a.md': 'a' })).to.match(/^[0-9a-f]{40}$/)
    })

    it('merges a maintainer, and no editor', async () => {
      await put(org, bob, 'editor')
      await put(org, cleo, 'maintainer')
      const head = await whales.proposal('draft')
      await whales.open('draft')
      const merge = `${whales.at}/pull-requests/1/merge`
      expect(await bob.post(merge, {})).to.deep.equal({
        status: 403,
        body: { detail: 'You need the maintainer role; yours is editor', code: 'forbidden' },
      })
      expect((await cleo.post(merge, {})).body.pr).to.include({ status: 'merged', merged_by: 'Cleo' })
      expect(whales.git.head()).to.equal(head)
    })

    it('merges an editor what goes into another branch', async () => {
      await put(org, bob, 'editor')
      await whales.branch('next')
      await whales.proposal('draft')
      await whales.open('draft', { target_branch: 'next' })
      expect((await bob.post(`${whales.at}/pull-requests/1/merge`, {})).body.pr.status).to.equal('merged')
    })

    it('writes everybody to main again once the rule is lifted', async () => {
      await ann.patch(`/orgs/${org}`, { require_pull_requests: false }).then(expecting(200))
      expect((await ann.patch(whales.at, { title: 'Dolphins' })).status).to.equal(200)
    })
  })

  describe('deleting one', () => {
    it('leaves nothing under it, for members and for the public', async () => {
      const org = await newOrg({ published: true })
      await put(org, bob, 'editor')
      const whales = await ann.node({}, org)
      const answer = await ann.delete(`/orgs/${org}`)
      expect(answer).to.deep.equal({ status: 204, body: undefined })
      const paths = ['', '/members', '/nodes', `/nodes/${whales.id}`, `/nodes/${whales.id}/tree/main/commits`]
      for (const path of paths) {
        expect(await ann.get(`/orgs/${org}${path}`), path).to.deep.equal(noOrg)
        expect(await bob.get(`/orgs/${org}${path}`), path).to.deep.equal(noOrg)
      }
      expect(await ann.post(`/orgs/${org}/nodes`, { title: 'Seals' })).to.deep.equal(noOrg)
      expect(await ann.post(`/orgs/${org}/search/retrieve`, { query: 'whales' })).to.deep.equal(noOrg)
      expect(await ann.delete(`/orgs/${org}`)).to.deep.equal(noOrg)
      expect(await client(grove).get(`/public/orgs/${org}/graph`)).to.deep.equal(noOrg)
      expect((await client(grove).get(`/orgs/${org}`)).status).to.equal(401)
      const { orgs } = await ann.api.listOrgs({ query: { limit: 200 } })
      expect(orgs.map(({ id }) => id)).to.not.include(org)
    })

    it('puts its repositories into the trash', async () => {
      const org = await newOrg()
      const whales = await ann.node({}, org)
      await ann.delete(`/orgs/${org}`).then(expecting(204))
      const trashed = readdirSync(join(grove.dataDir, 'trash')).filter((name) => name.startsWith(org))
      expect(trashed).to.have.length(1)
      const repositories = readdirSync(join(grove.dataDir, 'trash', trashed[0] ?? ''))
      expect(repositories).to.have.members([`${whales.id}.git`, 'org.git'])
      expect(existsSync(join(grove.dataDir, org))).to.equal(false)
    })

    it('by two at once succeeds once', async () => {
      const org = await newOrg()
      const answers = await Promise.all([ann.delete(`/orgs/${org}`), ann.delete(`/orgs/${org}`)])
      expect(answers.map((answer) => answer.status).sort()).to.deep.equal([204, 404])
      expect(answers.find((answer) => answer.status === 404)).to.deep.equal(noOrg)
    })

    it('keeps the ids of its nodes, as long as it lies in the trash', async () => {
      const id = randomUUID()
      const org = await newOrg()
      await ann.post(`/orgs/${org}/nodes`, { title: 'Whales', id }).then(expecting(201))
      await ann.delete(`/orgs/${org}`).then(expecting(204))
      const { status, body } = await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales', id })
      expect([status, body.code]).to.deep.equal([409, 'node_exists'])
    })
  })
})
