/** The map of a graph: who reads it, where nodes lie, and that they stay there. */

import { randomUUID } from 'node:crypto'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { GraphEdgeRow } from '../../index/graph/graph-rows.ts'
import { drawMap, type GraphMap, type MapArea, type MapPart } from '../../server/features/graph/map-drawing.ts'
import { layOutMap } from '../../server/features/graph/map-layout.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { ann, anybody, atlas, grove, make, useScene } from './scene.ts'

const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }
const noNode = { status: 404, body: { detail: 'Node not found', code: 'node_not_found' } }

describe('the map', () => {
  useScene()
  let path: string
  beforeEach(() => {
    path = `/orgs/${atlas.org}/map`
  })

  const read = async (query = ''): Promise<GraphMap> => (await ann.get(path + query).then(expecting(200))).body
  const publish = (published: boolean) => ann.patch(`/orgs/${atlas.org}`, { published }).then(expecting(200))

  it('of an organisation without nodes is empty', async () => {
    const { version, ...columns } = await read()
    const none = { areas: [], ids: [], titles: [], x: [], y: [], area: [], weight: [] }
    expect(columns).to.deep.equal(none)
    expect((await ann.get(path)).headers.etag).to.equal(`W/"${version}"`)
  })

  it.deep('has every node once, in the disks of its first parents, and nothing meets', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(9)), { minLength: 5, maxLength: 60 }),
        async (seeds) => {
          const { body } = await ann.post('/orgs', { name: 'Model', published: true }).then(expecting(201))
          const nodes = seeds.map(([one, other, kind], at) => ({
            ref: `n${at}`,
            title: `Node ${at}`,
            parents:
              at === 0 || kind === 0 ? [] : [...new Set([`n${one % at}`, ...(kind > 7 ? [`n${other % at}`] : [])])],
            connections: kind > 5 ? [{ target: `n${(at + 1 + (other % (seeds.length - 1))) % seeds.length}` }] : [],
          }))
          await ann.post(`/orgs/${body.id}/nodes/batch`, { nodes }).then(expecting(201))
          const graph = (await anybody.get(`/orgs/${body.id}/graph`)).body
          const map: GraphMap = (await anybody.get(`/orgs/${body.id}/map`)).body
          expectPacked(map, graph)
          for (const { id } of graph.nodes.slice(0, 6)) {
            const part: GraphMap = (await anybody.get(`/orgs/${body.id}/map?under=${id}`).then(expecting(200))).body
            expectPart(part, map, id)
            const own = (await anybody.get(`/orgs/${body.id}/map?under=${id}&layout=part`).then(expecting(200))).body
            const below = (await anybody.get(`/orgs/${body.id}/graph?under=${id}`).then(expecting(200))).body
            expectPacked(own, below)
          }
        },
      ),
      { numRuns: runs(6) },
    )
  })

  it('leaves everything where it is when titles change, and lays out what comes', async () => {
    const sea = await make({ title: 'Sea' })
    await make({ title: 'Whales', parents: [sea.id] })
    const before = await read()
    await ann.patch(sea.at, { title: 'Oceans' }).then(expecting(200))
    const { version, titles, areas, ...places } = await read()
    expect(titles).to.deep.equal(['Oceans', 'Whales'])
    expect(areas.map(({ title }) => title)).to.deep.equal(['Oceans'])
    expect(places).to.deep.equal({
      ids: before.ids,
      x: before.x,
      y: before.y,
      area: before.area,
      weight: before.weight,
    })
    await make({ title: 'Krill' })
    expect((await read()).areas.map(({ title, nodes }) => [title, nodes])).to.deep.equal([
      ['Oceans', 2],
      ['', 1],
    ])
  })

  it.deep(
    'is the same from another process, from an index that is rebuilt, and over a cycle closed by hand',
    async () => {
      const top = await make({ title: 'Top' })
      const middle = await make({ title: 'Middle', parents: [top.id] })
      const bottom = await make({ title: 'Bottom', parents: [middle.id, top.id] })
      await ann.post(`${top.at}/connections`, { target: bottom.id }).then(expecting(201))
      top.git.point(
        'main',
        top.git.commit({ parents: [top.git.head()], files: { [`parents/${bottom.id}.json`]: '{}' } }),
      )
      await ann.get(top.at).then(expecting(200))
      const { version, ...map } = await read()
      expect(map.ids).to.have.members([top.id, middle.id, bottom.id])
      const copy = await newDataDir()
      // Not what this process holds of it: one that closes a copied file of locks drops its own.
      const run = join(grove.dataDir, 'run')
      await cp(grove.dataDir, copy, { recursive: true, filter: (path) => path !== run })
      for (const suffix of ['', '-wal', '-shm']) await rm(join(copy, `index.sqlite${suffix}`), { force: true })
      const other = await spawnGrove(copy)
      try {
        const { version: again, ...same } = (await client(other).get(path).then(expecting(200))).body
        expect(same).to.deep.equal(map)
        expect(again).not.to.equal(version)
      } finally {
        await other.stop()
        await rm(copy, { recursive: true, force: true })
      }
    },
  )

  it.deep('is shaped by links, with the same bytes after a restart', async () => {
    const dir = await newDataDir()
    let service = await spawnGrove(dir)
    try {
      const cat = await signUp(service, 'Cat')
      const at = (await cat.post('/orgs', { name: 'Groups', published: true }).then(expecting(201))).body.id
      // The places follow from the ids of nodes and connections. They are given, so that nothing is left to chance.
      const idOf = (n: number) => `01980a60-0000-7000-8000-${String(n).padStart(12, '0')}`
      // Six groups by number modulo 6, so that the order of the nodes says nothing about the links.
      const nodes = Array.from({ length: 60 }, (_, n) => ({
        id: idOf(n),
        title: `Node ${n}`,
        connections: [6, 12, 24].map((step) => ({ id: `step-${step}`, target: idOf((n + step) % 60) })),
      }))
      await cat.post(`/orgs/${at}/nodes/batch`, { nodes }).then(expecting(201))
      const map = (await client(service).get(`/orgs/${at}/map`).then(expecting(200))).body
      const groupOf = (node: number) => Number(map.titles[node].split(' ')[1]) % 6
      const all: number[] = [...map.ids.keys()]
      const nearest = (node: number) =>
        all
          .filter((one) => one !== node)
          .sort((a, b) => distance(dot(map, a), dot(map, node)) - distance(dot(map, b), dot(map, node)))[0] ?? -1
      const alike = all.filter((node) => groupOf(node) === groupOf(nearest(node))).length
      expect(alike, 'nodes whose nearest is in the same group').to.be.above(48)
      await service.stop()
      service = await spawnGrove(dir)
      expect((await client(service).get(`/orgs/${at}/map`).then(expecting(200))).body).to.deep.equal(map)
    } finally {
      await service.stop()
      await rm(dir, { recursive: true, force: true })
    }
  })

  it.deep('is shaped by links up to 2,500 nodes and 30,000 edges, and nothing meets', () => {
    const edge = (from: number, to: number): GraphEdgeRow => [
      `n${from}`,
      'connection',
      `${to}`,
      `n${from}`,
      `n${to}`,
      'x',
      '',
    ]
    const lay = (count: number, each: number) => {
      const nodes = Array.from({ length: count }, (_, n) => ({ id: `n${n}` }))
      const edges = nodes.flatMap((_, n) => Array.from({ length: each }, (__, to) => edge(n, (n * 7 + to + 1) % count)))
      return [layOutMap(nodes, edges), layOutMap(nodes, edges), packedOnly(nodes, edges)] as const
    }
    // The same degrees in loops, which no link shapes.
    const packedOnly = (nodes: readonly { readonly id: string }[], edges: readonly GraphEdgeRow[]) => {
      const ends = edges.flatMap(([, , , source, target]) => [Number(source.slice(1)), Number(target.slice(1))])
      const degrees = new Map<number, number>()
      for (const end of ends) degrees.set(end, (degrees.get(end) ?? 0) + 1)
      return layOutMap(
        nodes,
        [...degrees].flatMap(([n, degree]) => Array.from({ length: degree / 2 }, () => edge(n, n))),
      )
    }
    const [small, again, packedSmall] = lay(2_500, 2)
    expect(again).to.deep.equal(small)
    expect(small.x).not.to.deep.equal(packedSmall.x)
    const dots = [...small.x.keys()].map((at) => ({
      x: small.x[at] ?? 0,
      y: small.y[at] ?? 0,
      r: small.weight[at] ?? 0,
    }))
    for (const [at, one] of dots.entries())
      for (const other of dots.slice(at + 1))
        if (distance(one, other) < one.r + other.r) expect.fail(`${JSON.stringify([one, other])} meet`)
    const [large, , packedLarge] = lay(2_501, 2)
    expect(large.x).to.deep.equal(packedLarge.x)
    const [dense, , packedDense] = lay(2_310, 13)
    expect(dense.x).to.deep.equal(packedDense.x)
  })

  it('is 304 while nothing has changed, under the ETag of the graph', async () => {
    await make()
    const { etag = '' } = (await anybody.get(path)).headers
    expect((await anybody.get(`/orgs/${atlas.org}/graph`)).headers.etag).to.equal(etag)
    for (const query of ['', '?columns=false'])
      expect((await anybody.get(path + query, { 'if-none-match': etag })).status).to.equal(304)
    await make()
    expect((await anybody.get(path, { 'if-none-match': etag })).status).to.equal(200)
  })

  it('has only its areas if no columns are wanted', async () => {
    const sea = await make({ title: 'Sea' })
    await make({ parents: [sea.id] })
    const { areas, ids, x } = await read('?columns=false')
    expect([areas.map(({ node_id, nodes }) => [node_id, nodes]), ids, x]).to.deep.equal([[[sea.id, 2]], [], []])
  })

  it('is 404 for the id of no node in the organisation', async () => {
    const other = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Elsewhere' }).then(expecting(201))).body.id
    for (const under of [randomUUID(), other]) expect(await ann.get(`${path}?under=${under}`)).to.deep.equal(noNode)
    expect((await ann.get(`${path}?under=x`)).status).to.be.oneOf([404, 422])
  })

  it.deep('of more than 20,000 nodes has titles only in its parts, and the 1,000 largest areas', () => {
    const count = 20_001
    const nodes = Array.from({ length: count }, (_, n) => ({ ...emptyNode, id: `n${n}`, title: `Node ${n}` }))
    // 1,500 areas of 2 below the first node, one of 100, and the others.
    const parentOf = (n: number) => (n <= 1_500 ? 0 : n <= 3_000 ? n - 1_500 : n <= 3_099 ? 1 : 0)
    const edges = nodes.slice(1).map(({ id }, at): GraphEdgeRow => {
      const parent = `n${parentOf(at + 1)}`
      return [id, 'parent_child', parent, parent, id, '', '']
    })
    const org = { id: 'o', name: '', published: 1, epoch: 'e', version: 1, graph_version: 1 }
    const rows = { org, nodes, edges }
    const places = layOutMap(nodes, edges)
    const draw = (part: MapPart): GraphMap => JSON.parse([...(drawMap(rows, places, part) ?? [])].join(''))
    const whole = draw({ columns: true })
    expect([whole.ids.length, whole.titles.length, whole.areas.length]).to.deep.equal([count, 0, 1_000])
    expect(whole.areas.slice(0, 2).map(({ node_id, nodes: held }) => [node_id, held])).to.deep.equal([
      ['n0', count],
      ['n1', 101],
    ])
    const part = draw({ columns: true, under: 'n1' })
    expect([part.ids[0], part.titles[0], part.titles.length]).to.deep.equal(['n1', 'Node 1', 101])
    expect(draw({ columns: false }).areas.length).to.equal(100)
  })

  describe('is read by', () => {
    let ben: PersonClient
    before(async () => {
      ben = await signUp(grove, 'Ben')
    })

    it('anyone once it is published, members always, and nobody else', async () => {
      const { id } = await make({ title: 'Secret' })
      const queries = ['', '?columns=false', `?under=${id}`]
      for (const query of queries)
        for (const who of [ann, ben, anybody]) expect((await who.get(path + query)).status).to.equal(200)
      await publish(false)
      for (const query of queries) {
        expect((await ann.get(path + query)).status).to.equal(200)
        expect(await ben.get(path + query)).to.deep.equal(noOrg)
        expect((await anybody.get(path + query)).status).to.equal(401)
      }
      await ann.put(`/orgs/${atlas.org}/members/${ben.user.email}`, { role: 'reader' }).then(expecting(200))
      expect((await ben.get(path)).body.ids).to.deep.equal([id])
      await ann.delete(`/orgs/${atlas.org}/members/${ben.user.email}`).then(expecting(204))
      expect(await ben.get(path)).to.deep.equal(noOrg)
    })
  })
})

const emptyNode = { description: '', tags: '[]', created_at: '', updated_at: '' }

interface Graph {
  readonly nodes: readonly { readonly id: string; readonly title: string }[]
  readonly edges: readonly { readonly edge_type: string; readonly source: string; readonly target: string }[]
}

/** The result by the rules, from the graph: first parents by age, disks inside of disks. */
function expectPacked(map: GraphMap, { nodes, edges }: Graph): void {
  const { areas, ids, titles, x, y, area, weight } = map
  expect([...ids].sort()).to.deep.equal(nodes.map(({ id }) => id).sort())
  expect(new Map(ids.map((id, at) => [id, titles[at]]))).to.deep.equal(
    new Map(nodes.map(({ id, title }) => [id, title])),
  )
  const ages = new Map(nodes.map(({ id }, age) => [id, age]))
  const parentOf = (id: string) =>
    edges
      .filter(({ edge_type, target }) => edge_type === 'parent_child' && target === id)
      .map(({ source }) => source)
      .sort((a, b) => (ages.get(a) ?? 0) - (ages.get(b) ?? 0))[0]
  const places = new Map(areas.map((one, at) => [one.node_id ?? 'loose', at]))
  const hasChild = new Set(ids.map(parentOf))
  expect([...places.keys()].filter((id) => id !== 'loose').sort()).to.deep.equal([...hasChild].filter(Boolean).sort())
  for (const [at, id] of ids.entries()) {
    const mine = places.get(id)
    const parent = parentOf(id)
    const around = parent === undefined ? (mine === undefined ? places.get('loose') : -1) : places.get(parent)
    expect(area[at], `the area of ${id}`).to.equal(mine ?? around)
    if (mine !== undefined) expect(areas[mine]?.within).to.equal(around)
    expectInside({ x: x[at] ?? NaN, y: y[at] ?? NaN, r: weight[at] ?? NaN }, areas[area[at] ?? -1])
  }
  for (const one of areas) if (one.within >= 0) expectInside(one, areas[one.within])
  const dots = ids.map((_, at) => ({ within: area[at], x: x[at] ?? NaN, y: y[at] ?? NaN, r: weight[at] ?? NaN }))
  const all = [...dots, ...areas]
  for (const [at, one] of all.entries())
    for (const other of all.slice(at + 1))
      if (one.within === other.within) expect(distance(one, other)).to.be.at.least(one.r + other.r)
  for (const [at, one] of areas.entries())
    expect(one.nodes).to.equal(dots.filter(({ within }) => isIn(areas, within, at)).length)
  const numbers = [...x, ...y, ...weight, ...areas.flatMap((one) => [one.x, one.y, one.r])]
  expect(numbers.every(Number.isInteger)).to.equal(true)
}

/** The node's own disk as the whole map has it. */
function expectPart(part: GraphMap, map: GraphMap, id: string): void {
  const from = map.ids.indexOf(id)
  const to = from + part.ids.length
  for (const column of ['ids', 'titles', 'x', 'y', 'weight'] as const)
    expect(part[column]).to.deep.equal(map[column].slice(from, to))
  const root = map.areas.findIndex(({ node_id }) => node_id === id)
  const mine = map.areas.filter((_, at) => root >= 0 && isIn(map.areas, at, root))
  expect(part.areas.map(({ node_id }) => node_id)).to.deep.equal(mine.map(({ node_id }) => node_id))
  expect(part.ids.length).to.equal(mine[0]?.nodes ?? 1)
  const named = ({ areas, area }: GraphMap, at: number) => areas[area[at] ?? -1]?.node_id
  if (root >= 0) for (const at of part.ids.keys()) expect(named(part, at)).to.equal(named(map, from + at))
}

function isIn(areas: readonly MapArea[], inner: number | undefined, outer: number): boolean {
  for (let at = inner ?? -1; at >= 0; at = areas[at]?.within ?? -1) if (at === outer) return true
  return false
}

interface Circle {
  readonly x: number
  readonly y: number
  readonly r: number
}

function expectInside(inner: Circle, outer: Circle | undefined): void {
  if (outer === undefined) throw new Error('It lies in no area')
  expect(distance(inner, outer) + inner.r).to.be.at.most(outer.r)
}

function dot({ x, y, weight }: GraphMap, at: number): Circle {
  return { x: x[at] ?? NaN, y: y[at] ?? NaN, r: weight[at] ?? NaN }
}

function distance(a: Circle, b: Circle): number {
  return Math.hypot(a.x - b.x, a.y - b.y)
}
