/** The public graph of an organisation. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting, type TestNode } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import { type Counted, countsOf, Model } from './model.ts'
import { ann, anybody, atlas, graph, grove, make, read, useScene } from './scene.ts'

const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }

describe('the graph', () => {
  useScene()

  it('has every node and edge of a published organisation, for anybody', async () => {
    const oceans = await make({ title: 'Oceans', tags: ['sea'] })
    const text_content = '# Whales\n\nWhales are mammals\nthat live in the sea.\n'
    const whales = await make({ title: 'Whales', text_content })
    const krill = await make({ title: 'Krill', properties: { description: 'Small and many.' }, text_content: 'Else.' })
    const empty = await make({ title: 'Empty', initialize: false })
    await ann.put(`${whales.at}/parents/${oceans.id}`, { label: 'lives in' }).then(expecting(200))
    const feeds = { target: krill.id, type: 'feeds_on', label: 'by the tonne', id: 'food' }
    await ann.post(`${whales.at}/connections`, feeds).then(expecting(201))
    await ann.post(`${krill.at}/connections`, { target: whales.id, id: 'back' }).then(expecting(201))

    const times = async ({ at }: TestNode) => {
      const { created_at, updated_at } = (await ann.get(at)).body
      return { created_at, updated_at }
    }
    const alone = { num_parents: 0, num_children: 0, num_ancestors: 0, num_descendants: 0 }
    const ours = { org_id: atlas.org }
    const nodes = [
      {
        id: oceans.id,
        ...ours,
        title: 'Oceans',
        description: '',
        tags: ['sea'],
        ...(await times(oceans)),
        ...alone,
        num_children: 1,
        num_descendants: 1,
      },
      {
        id: whales.id,
        ...ours,
        title: 'Whales',
        description: '# Whales Whales are mammals that live in the sea.',
        tags: [],
        ...(await times(whales)),
        ...alone,
        num_parents: 1,
        num_ancestors: 1,
      },
      {
        id: krill.id,
        ...ours,
        title: 'Krill',
        description: 'Small and many.',
        tags: [],
        ...(await times(krill)),
        ...alone,
      },
      { id: empty.id, ...ours, title: 'Empty', description: '', tags: [], ...(await times(empty)), ...alone },
    ]
    const edges = [
      {
        id: `${whales.id}/connections/food`,
        source: whales.id,
        target: krill.id,
        edge_type: 'connection',
        connection_type: 'feeds_on',
        label: 'by the tonne',
        parent_node_id: whales.id,
      },
      {
        id: `${whales.id}/parents/${oceans.id}`,
        source: oceans.id,
        target: whales.id,
        edge_type: 'parent_child',
        connection_type: '',
        label: 'lives in',
        parent_node_id: oceans.id,
      },
      {
        id: `${krill.id}/connections/back`,
        source: krill.id,
        target: whales.id,
        edge_type: 'connection',
        connection_type: 'related_to',
        label: '',
        parent_node_id: krill.id,
      },
    ]
    expect(await anybody.get(graph)).to.deep.equal({
      status: 200,
      body: { org_id: atlas.org, org_name: 'Atlas of the sea', nodes, edges, total_nodes: 4, total_edges: 3 },
    })
  })

  it('of an organisation without nodes is empty', async () => {
    const [org_id, org_name] = [atlas.org, 'Atlas of the sea']
    const nothing = { org_id, org_name, nodes: [], edges: [], total_nodes: 0, total_edges: 0 }
    expect(await read()).to.deep.equal(nothing)
  })

  it('reads only main', async () => {
    const [oceans, whales] = [await make(), await make({ title: 'Whales' })]
    await whales.branch('draft')
    await whales.commit('draft', { 'node.json': '{"title": "Draft"}', [`parents/${oceans.id}.json`]: '{}' })
    const { nodes, edges } = await read()
    expect([nodes[1].title, edges]).to.deep.equal(['Whales', []])
  })

  it('hides deleted nodes, and the edges to and from them', async () => {
    const top = await make()
    const middle = await make({ parents: [top.id] })
    const bottom = await make({ parents: [middle.id] })
    await ann.post(`${bottom.at}/connections`, { target: middle.id }).then(expecting(201))
    await ann.post(`${middle.at}/connections`, { target: top.id }).then(expecting(201))
    expect((await read()).total_edges).to.equal(4)
    await ann.delete(middle.at).then(expecting(204))
    const { nodes, edges, ...totals } = await read()
    expect(totals).to.include({ total_nodes: 2, total_edges: 0 })
    expect(edges).to.deep.equal([])
    expect(
      nodes.map(({ id, num_ancestors, num_descendants }: Counted) => [id, num_ancestors, num_descendants]),
    ).to.deep.equal([
      [top.id, 0, 0],
      [bottom.id, 0, 0],
    ])
  })

  describe('which is not published', () => {
    it('is not found by any caller, exactly as that of an organisation that does not exist', async () => {
      await ann.patch(`/orgs/${atlas.org}`, { published: false }).then(expecting(200))
      for (const who of [anybody, ann]) {
        for (const org of [atlas.org, randomUUID(), atlas.org.toUpperCase()]) {
          expect(await who.get(`/public/orgs/${org}/graph`), org).to.deep.equal(noOrg)
        }
      }
    })

    it('cannot be told from an unknown one by headers', async () => {
      await ann.patch(`/orgs/${atlas.org}`, { published: false }).then(expecting(200))
      const names = async (path: string) => Object.keys((await anybody.get(path)).headers).sort()
      expect(await names(graph)).to.deep.equal(await names(`/public/orgs/${randomUUID()}/graph`))
    })
  })

  it('stays without cycles even if somebody has closed one by hand', async () => {
    const top = await make()
    const middle = await make({ parents: [top.id] })
    const bottom = await make({ parents: [middle.id] })
    const files = { [`parents/${middle.id}.json`]: '{}', [`parents/${top.id}.json`]: '{}' }
    top.git.point('main', top.git.commit({ parents: [top.git.head()], files }))
    await ann.get(top.at).then(expecting(200))
    const { nodes, edges, total_edges } = await read()
    const model = new Model()
    const numberOf = new Map([top, middle, bottom].map(({ id }, at) => [id, at]))
    const statuses = edges.map(({ source, target }: { source: string; target: string }) =>
      model.change({ kind: 'put', parent: numberOf.get(source) ?? -1, child: numberOf.get(target) ?? -1 }),
    )
    expect([statuses, total_edges]).to.deep.equal([[200, 200], 2])
    expect(nodes.map(countsOf)).to.deep.equal([0, 1, 2].map((node) => model.counts().get(node)))
  })

  it('ignores Authorization, good or bad', async () => {
    await make()
    const asAnybody = await anybody.get(graph)
    for (const authorization of [`Bearer ${ann.session.accessToken}`, 'Bearer garbage', 'Basic Zm9vOmJhcg==', 'x']) {
      expect(await anybody.get(graph, { authorization }), authorization).to.deep.equal(asAnybody)
    }
  })

  describe('asked again', () => {
    it('is 304 without a body while nothing has changed', async () => {
      await make()
      const { headers } = await anybody.get(graph)
      const { etag = '' } = headers
      expect(headers['cache-control']).to.equal('no-cache')
      expect(headers.vary).to.equal('Accept-Encoding')
      const again = await anybody.get(graph, { 'if-none-match': etag })
      expect(again).to.deep.equal({ status: 304, body: undefined })
      expect(again.headers.etag).to.equal(etag)
      expect((await anybody.get(graph, { 'if-none-match': '"another"' })).status).to.equal(200)
      expect((await anybody.get(graph, { 'if-none-match': etag, 'accept-encoding': 'identity' })).status).to.equal(304)
    })

    it('is not found by clients that have it cached, once it is unpublished', async () => {
      await make()
      const { etag = '' } = (await anybody.get(graph)).headers
      await ann.patch(`/orgs/${atlas.org}`, { published: false }).then(expecting(200))
      expect(await anybody.get(graph, { 'if-none-match': etag })).to.deep.equal(noOrg)
    })

    it('keeps its counts after a change of only text', async () => {
      const top = await make()
      const below = await make({ parents: [top.id] })
      const before = (await read()).nodes.map(countsOf)
      await ann.patch(below.at, { title: 'Other', text_content: 'Another text.' }).then(expecting(200))
      const { nodes } = await read()
      expect([nodes.map(countsOf), nodes[1].title, nodes[1].description]).to.deep.equal([
        before,
        'Other',
        'Another text.',
      ])
    })

    it('is 200 with another ETag after every change', async () => {
      const [oceans, whales] = [await make(), await make()]
      const changes: (() => Promise<Answer>)[] = [
        () => ann.patch(whales.at, { title: 'Dolphins' }),
        () => ann.put(`${whales.at}/parents/${oceans.id}`),
        () => ann.put(`${whales.at}/parents/${oceans.id}`, { label: 'lives in' }),
        () => ann.post(`${whales.at}/connections`, { target: oceans.id, id: 'in' }),
        () => ann.patch(`${whales.at}/connections/in`, { type: 'in' }),
        () => ann.patch(`/orgs/${atlas.org}`, { name: 'Atlas' }),
        () => ann.delete(oceans.at),
        () => ann.post(`/orgs/${atlas.org}/nodes`, { title: 'Seals', initialize: false }),
      ]
      const statuses: number[] = []
      for (const change of changes) {
        const { etag = '' } = (await anybody.get(graph)).headers
        expect((await change()).status).to.be.below(300)
        statuses.push((await anybody.get(graph, { 'if-none-match': etag })).status)
      }
      expect(statuses).to.deep.equal(changes.map(() => 200))
    })
  })

  describe('is the same', () => {
    const ask = (method: string, encoding: string) =>
      fetch(grove.url + graph, { method, headers: { 'accept-encoding': encoding } })

    it('to who takes it compressed and to who does not', async () => {
      await make({ title: 'Wale und Süßwasser 🐋', tags: ['sea'] })
      const body = await read()
      for (const [encoding, used] of [
        ['gzip', 'gzip'],
        ['br, gzip;q=0.1', 'gzip'],
        ['*', 'gzip'],
        ['identity', null],
        ['br', null],
        ['gzip;q=0', null],
      ] as const) {
        const answer = await ask('GET', encoding)
        expect(answer.headers.get('content-encoding'), encoding).to.equal(used)
        expect(await answer.json(), encoding).to.deep.equal(body)
      }
    })

    it('with the same headers and no body, to HEAD', async () => {
      await make()
      for (const encoding of ['gzip', 'identity']) {
        const [whole, alone] = [await ask('GET', encoding), await ask('HEAD', encoding)]
        const names = ['etag', 'content-length', 'content-type', 'content-encoding', 'vary', 'cache-control']
        const of = ({ headers }: Response) => names.map((name) => headers.get(name))
        expect(of(alone), encoding).to.deep.equal(of(whole))
        expect(await alone.text()).to.equal('')
      }
    })

    it('to all who ask for it first at once', async () => {
      const made = await make()
      const answers = await Promise.all(Array.from({ length: 12 }, () => anybody.get(graph)))
      expect(answers.map(({ status, body }) => [status, body.nodes[0].id])).to.deep.equal(
        answers.map(() => [200, made.id]),
      )
      expect(new Set(answers.map(({ headers }) => headers.etag)).size).to.equal(1)
    })
  })
})
