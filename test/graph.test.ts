import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import { type Answer, type Client, client, type Grove, type PersonClient, signUp, startGrove } from './support/grove.ts'
import { expecting, newNode, type TestNode } from './support/node.ts'

const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }

describe('the graph', () => {
  let grove: Grove
  let ann: PersonClient
  let anybody: Client
  let atlas: PersonClient
  let graph: string

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    anybody = client(grove)
  })
  after(() => grove.close())

  beforeEach(async () => {
    const { body } = await ann.post('/orgs', { name: 'Atlas of the sea', published: true }).then(expecting(201))
    atlas = { ...ann, org: body.id }
    graph = `/public/orgs/${body.id}/graph`
  })

  function make(fields: object = {}): Promise<TestNode> {
    return newNode(grove, atlas, fields)
  }

  async function read(): Promise<Answer['body']> {
    return (await anybody.get(graph).then(expecting(200))).body
  }

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
    const nodes = [
      {
        id: oceans.id,
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
        title: 'Whales',
        description: '# Whales Whales are mammals that live in the sea.',
        tags: [],
        ...(await times(whales)),
        ...alone,
        num_parents: 1,
        num_ancestors: 1,
      },
      { id: krill.id, title: 'Krill', description: 'Small and many.', tags: [], ...(await times(krill)), ...alone },
      { id: empty.id, title: 'Empty', description: '', tags: [], ...(await times(empty)), ...alone },
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

  it('reads main alone', async () => {
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
    it('is not found, exactly as that of an organisation that does not exist, whoever asks', async () => {
      await ann.patch(`/orgs/${atlas.org}`, { published: false }).then(expecting(200))
      for (const who of [anybody, ann]) {
        for (const org of [atlas.org, randomUUID(), 'nonsense', atlas.org.toUpperCase()]) {
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

  it('stays without cycles even where somebody has closed one by hand', async () => {
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

    it('is not found by whoever has it, once it is unpublished', async () => {
      await make()
      const { etag = '' } = (await anybody.get(graph)).headers
      await ann.patch(`/orgs/${atlas.org}`, { published: false }).then(expecting(200))
      expect(await anybody.get(graph, { 'if-none-match': etag })).to.deep.equal(noOrg)
    })

    it('has the counts that it had, after a change of text alone', async () => {
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

    it('by its headers alone', async () => {
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

  describe('counts', () => {
    it('each ancestor and descendant once, however many ways lead there', async () => {
      const top = await make({ title: 'top' })
      const [left, right] = [
        await make({ title: 'left', parents: [top.id] }),
        await make({ title: 'right', parents: [top.id] }),
      ]
      const bottom = await make({ title: 'bottom', parents: [left.id, right.id, top.id] })
      const below = await make({ title: 'below', parents: [bottom.id, left.id] })
      const { nodes } = await read()
      expect(
        Object.fromEntries(nodes.map((node: Counted & { title: string }) => [node.title, countsOf(node)])),
      ).to.deep.equal({
        top: { num_parents: 0, num_children: 3, num_ancestors: 0, num_descendants: 4 },
        left: { num_parents: 1, num_children: 2, num_ancestors: 1, num_descendants: 2 },
        right: { num_parents: 1, num_children: 1, num_ancestors: 1, num_descendants: 2 },
        bottom: { num_parents: 3, num_children: 1, num_ancestors: 3, num_descendants: 1 },
        below: { num_parents: 2, num_children: 0, num_ancestors: 4, num_descendants: 0 },
      })
      const alone = await Promise.all([top, left, right, bottom, below].map(async ({ at }) => (await ann.get(at)).body))
      expect(alone.map(countsOf)).to.deep.equal(nodes.map(countsOf))
    })

    it('do not count connections', async () => {
      const [whales, krill] = [await make(), await make()]
      await ann.post(`${whales.at}/connections`, { target: krill.id }).then(expecting(201))
      const none = { num_parents: 0, num_children: 0, num_ancestors: 0, num_descendants: 0 }
      expect((await read()).nodes.map(countsOf)).to.deep.equal([none, none])
    })

    it('are right after the index was made again beside the running service', async () => {
      const [one, two, three] = [await make(), await make(), await make()]
      await ann.put(`${two.at}/parents/${one.id}`).then(expecting(200))
      await read()
      await promisify(execFile)(process.execPath, ['dist/cli.js', 'reindex'], {
        env: { ...process.env, DATA_DIR: grove.dataDir, LOG_LEVEL: 'error' },
      })
      await ann.put(`${three.at}/parents/${two.id}`).then(expecting(200))
      expect((await read()).nodes.map((node: Counted) => node.num_ancestors)).to.deep.equal([0, 1, 2])
    })

    it('agree with a walk of whatever edges were put, refused and taken away', async () => {
      await fc.assert(
        fc.asyncProperty(changesArbitrary, async (changes) => {
          const { body } = await ann.post('/orgs', { name: 'Random', published: true }).then(expecting(201))
          const person = { ...ann, org: body.id }
          const nodes = await Promise.all(Array.from({ length: size }, () => newNode(grove, person)))
          const model = new Model()
          for (const change of changes) {
            const [child, parent] = [nodes[change.child], nodes[change.parent]]
            const path = `${child?.at}/parents/${parent?.id}`
            const { status } = await (change.kind === 'put'
              ? ann.put(path)
              : change.kind === 'remove'
                ? ann.delete(path)
                : ann.delete(child?.at ?? ''))
            expect(status, JSON.stringify(change)).to.equal(model.change(change))
          }
          const shown = (await anybody.get(`/public/orgs/${body.id}/graph`)).body
          const numberOf = new Map(nodes.map(({ id }, at) => [id, at]))
          const counts = shown.nodes.map((node: Counted) => [numberOf.get(node.id), countsOf(node)])
          const edges = shown.edges.map(
            (edge: { source: string; target: string }) => `${numberOf.get(edge.source)} ${numberOf.get(edge.target)}`,
          )
          expect(new Map(counts)).to.deep.equal(model.counts())
          expect(edges.sort()).to.deep.equal(model.visibleEdges().sort())
          for (const at of model.alive) {
            const alone = (await ann.get(nodes[at]?.at ?? '')).body
            expect(countsOf(alone), `node ${at}`).to.deep.equal(model.counts().get(at))
          }
        }),
        { numRuns: 8 },
      )
    })
  })
})

interface Counted {
  readonly id: string
  readonly num_parents: number
  readonly num_children: number
  readonly num_ancestors: number
  readonly num_descendants: number
}

function countsOf({ num_parents, num_children, num_ancestors, num_descendants }: Counted): Omit<Counted, 'id'> {
  return { num_parents, num_children, num_ancestors, num_descendants }
}

const size = 8

interface Change {
  readonly kind: 'put' | 'remove' | 'delete'
  readonly child: number
  readonly parent: number
}

const nodeArbitrary = fc.nat(size - 1)
const changesArbitrary: fc.Arbitrary<Change[]> = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 16, arbitrary: fc.constant('put' as const) },
      { weight: 4, arbitrary: fc.constant('remove' as const) },
      { weight: 1, arbitrary: fc.constant('delete' as const) },
    ),
    child: nodeArbitrary,
    parent: nodeArbitrary,
  }),
  { minLength: 10, maxLength: 40, size: 'max' },
)

/** What the rules say, by the simplest walk that there is. */
class Model {
  readonly alive = new Set(Array.from({ length: size }, (_, at) => at))
  /** `<parent> <child>`, of living children; the parent may be gone. */
  private readonly edges = new Set<string>()

  /** The status that the change answers. */
  change({ kind, child, parent }: Change): number {
    const edge = `${parent} ${child}`
    if (!this.alive.has(child)) return 404
    if (kind === 'delete') {
      this.alive.delete(child)
      for (const known of [...this.edges]) if (known.endsWith(` ${child}`)) this.edges.delete(known)
      return 204
    }
    if (kind === 'remove') return this.edges.delete(edge) ? 204 : 404
    if (!this.alive.has(parent)) return 404
    if (parent === child || this.reached(child, 'down').has(parent)) return 422
    this.edges.add(edge)
    return 200
  }

  visibleEdges(): string[] {
    return [...this.edges].filter((edge) => edge.split(' ').every((end) => this.alive.has(Number(end))))
  }

  counts(): Map<number, Omit<Counted, 'id'>> {
    const counts = [...this.alive].map((node): [number, Omit<Counted, 'id'>] => [
      node,
      {
        num_parents: this.next(node, 'up').length,
        num_children: this.next(node, 'down').length,
        num_ancestors: this.reached(node, 'up').size,
        num_descendants: this.reached(node, 'down').size,
      },
    ])
    return new Map(counts)
  }

  private next(node: number, direction: 'up' | 'down'): number[] {
    const ends = this.visibleEdges().map((edge) => edge.split(' ').map(Number))
    return ends.flatMap(([parent = -1, child = -1]) => {
      if (direction === 'up') return child === node ? [parent] : []
      return parent === node ? [child] : []
    })
  }

  private reached(node: number, direction: 'up' | 'down'): Set<number> {
    const reached = new Set(this.next(node, direction))
    for (const one of reached) for (const next of this.next(one, direction)) reached.add(next)
    return reached
  }
}
