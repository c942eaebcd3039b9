/** The list of an organisation's nodes. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { ann, emptyOrg, grove, useScene } from './scene.ts'

describe('nodes', () => {
  useScene()

  describe('the list', () => {
    let atlas: PersonClient
    let made: TestNode[]
    const list = (query = '') => ann.get(`/orgs/${atlas.org}/nodes${query}`)
    const idsOf = ({ body }: Answer): string[] => body.nodes.map((node: { id: string }) => node.id)

    before(async () => {
      atlas = await emptyOrg()
      const oceans = await newNode(grove, atlas, { title: 'Oceans', tags: ['sea'] })
      const whales = await newNode(grove, atlas, { title: 'Whales', tags: ['sea', 'mammal'], parents: [oceans.id] })
      const bears = await newNode(grove, atlas, { title: 'Bears', tags: ['mammal'] })
      const empty = await newNode(grove, atlas, { title: 'Empty', initialize: false })
      made = [oceans, whales, bears, empty]
    })

    it('has the oldest first, each in short', async () => {
      const answer = await list()
      expect(idsOf(answer)).to.deep.equal(made.map((node) => node.id))
      const { body: whales } = await ann.get(made[1]?.at ?? '')
      const summary = ['id', 'org_id', 'title', 'slug', 'tags', 'properties', 'created_at', 'updated_at', 'head']
      expect(answer.body.nodes[1]).to.deep.equal(Object.fromEntries(summary.map((name) => [name, whales[name]])))
      expect(answer.body).to.include({ total: 4, limit: 50, offset: 0 })
      expect(answer.headers).to.not.have.property('link')
    })

    it('comes in pages with a link to the next, all parameters kept', async () => {
      const first = await list('?tag=sea&limit=1')
      expect([idsOf(first), first.body.total]).to.deep.equal([[made[0]?.id], 2])
      const after = encodeURIComponent(first.body.next)
      const next = `/orgs/${atlas.org}/nodes?tag=sea&limit=1&after=${after.replaceAll('~', '%7E')}`
      expect(first.headers.link).to.equal(`<${next}>; rel="next"`)
      for (const path of [next, `/orgs/${atlas.org}/nodes?tag=sea&limit=1&offset=1`]) {
        const second = await ann.get(path)
        expect([idsOf(second), second.body.total]).to.deep.equal([[made[1]?.id], 2])
        expect(second.headers).to.not.have.property('link')
        expect(second.body).to.not.have.property('next')
      }
    })

    it('has each node once by its cursors, in either order, though others are created or deleted', async () => {
      const place = await emptyOrg()
      const nodes = []
      for (let n = 0; n < 7; n++) nodes.push(await newNode(grove, place, { title: `Node ${n}` }))
      const page = async (order: string, after?: string) =>
        (await ann.get(`/orgs/${place.org}/nodes?limit=2&order=${order}${after ? `&after=${after}` : ''}`)).body
      for (const order of ['created', 'changed']) {
        const whole = idsOf(await ann.get(`/orgs/${place.org}/nodes?order=${order}`))
        const seen: string[] = []
        let next: string | undefined
        do {
          const { nodes: some, next: following } = await page(order, next)
          seen.push(...some.map(({ id }: { id: string }) => id))
          next = following
          if (seen.length === 2) await ann.delete(`/orgs/${place.org}/nodes/${seen[0]}`)
        } while (next !== undefined)
        expect(seen).to.deep.equal(whole)
      }
      expect((await page('created')).total).to.equal(5)
    })

    it('refuses a cursor with an offset or a filter by properties, and one that is none', async () => {
      const { next } = (await list('?limit=1')).body
      for (const query of [`?after=${next}&offset=1`, `?after=${next}&sort=title`, '?after=1'])
        expect((await list(query)).body.detail[0].loc, query).to.deep.equal(['query', 'after'])
    })

    it('is empty past its end, with the true total', async () => {
      expect(await list('?offset=4')).to.deep.equal({
        status: 200,
        body: { nodes: [], total: 4, limit: 50, offset: 4 },
      })
      expect((await list('?offset=9007199254740991')).body).to.include({ total: 4 })
    })

    it('refuses a limit and an offset out of bounds', async () => {
      const answers = await Promise.all(['?limit=0', '?limit=201', '?offset=-1', '?limit=ten'].map(list))
      expect(answers.map(({ status, body }) => [status, body.detail[0].loc, body.detail[0].type])).to.deep.equal([
        [422, ['query', 'limit'], 'greater_than_equal'],
        [422, ['query', 'limit'], 'less_than_equal'],
        [422, ['query', 'offset'], 'greater_than_equal'],
        [422, ['query', 'limit'], 'int_parsing'],
      ])
    })

    it('is narrowed by tag and by parent, together if both are given', async () => {
      const [oceans, whales, bears] = made.map((node) => node.id)
      expect(idsOf(await list('?tag=mammal'))).to.deep.equal([whales, bears])
      expect(idsOf(await list(`?parent_id=${oceans}`))).to.deep.equal([whales])
      expect(idsOf(await list(`?parent_id=${oceans}&tag=mammal`))).to.deep.equal([whales])
      expect(idsOf(await list(`?parent_id=${whales}&tag=mammal`))).to.deep.equal([])
    })

    it('is empty for a tag or a parent that is nowhere', async () => {
      for (const query of ['?tag=Sea', '?tag=%25', `?parent_id=${randomUUID()}`, '?parent_id=nonsense']) {
        expect((await list(query)).body, query).to.deep.equal({ nodes: [], total: 0, limit: 50, offset: 0 })
      }
    })

    describe('of a published organisation', () => {
      const publish = (published: boolean) => ann.patch(`/orgs/${atlas.org}`, { published }).then(expecting(200))
      const readers = async () => [client(grove), await signUp(grove, randomUUID())]
      afterEach(() => publish(false))

      it('is for anyone what it is for members, page by page and narrowed', async () => {
        await made[0]?.branch('draft')
        await made[0]?.commit('draft', { 'node.json': '{"title": "Draft", "tags": ["draft"]}' })
        await publish(true)
        for (const query of ['', '?tag=sea&limit=1', `?parent_id=${made[0]?.id}`, '?tag=draft', '?offset=4']) {
          const asMember = await list(query)
          for (const reader of await readers()) {
            const answer = await reader.get(`/orgs/${atlas.org}/nodes${query}`)
            expect([answer, answer.headers.link], query).to.deep.equal([asMember, asMember.headers.link])
          }
        }
        expect(idsOf(await list())).to.deep.equal(made.map((node) => node.id))
        expect(idsOf(await list('?tag=draft'))).to.deep.equal([])
      })

      it('is as its neighbours are to anyone else, once it is unpublished', async () => {
        await publish(true)
        const before = await client(grove).get(`/orgs/${atlas.org}/nodes`).then(expecting(200))
        await publish(false)
        const known = { 'if-none-match': before.headers.etag ?? '' }
        for (const [at, reader] of (await readers()).entries()) {
          const answer = await reader.get(`/orgs/${atlas.org}/nodes`, known)
          expect(answer.status).to.equal(at === 0 ? 401 : 404)
          for (const other of [
            `/orgs/${atlas.org}/tree`,
            `/orgs/${atlas.org}/suggest?q=a`,
            `/orgs/${randomUUID()}/nodes`,
          ])
            expect(await reader.get(other), other).to.deep.equal(answer)
        }
      })

      it('counts anonymous readers by their address', async () => {
        const limited = await startGrove({ rateLimit: true })
        try {
          const owner = await signUp(limited, 'Ann')
          await owner.patch(`/orgs/${owner.org}`, { published: true }).then(expecting(200))
          const left = async (who: Client) => {
            const { headers } = await who.get(`/orgs/${owner.org}/nodes`).then(expecting(200))
            return Number(/r=(\d+)/.exec(headers.ratelimit ?? '')?.[1])
          }
          const first = await left(client(limited))
          await left(owner)
          expect(await left(client(limited))).to.equal(first - 1)
        } finally {
          await limited.close()
        }
      })
    })

    it('shows no children of a parent that is deleted', async () => {
      const { org } = await emptyOrg()
      const parent = await newNode(grove, { ...ann, org })
      await newNode(grove, { ...ann, org }, { parents: [parent.id] })
      await ann.delete(parent.at).then(expecting(204))
      const { body } = await ann.get(`/orgs/${org}/nodes?parent_id=${parent.id}`)
      expect(body).to.deep.equal({ nodes: [], total: 0, limit: 50, offset: 0 })
    })
  })
})
