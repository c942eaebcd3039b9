/** Parts of a graph: a node with all its descendants, as a walk of the whole graph finds them. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { proposeNode } from '../support/proposed.ts'
import { runs } from '../support/seed.ts'
import { ann, anybody, atlas, grove, make, useScene } from './scene.ts'

const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }
const noNode = { status: 404, body: { detail: 'Node not found', code: 'node_not_found' } }

interface Edge {
  readonly edge_type: string
  readonly source: string
  readonly target: string
}

interface Graph {
  readonly nodes: readonly { readonly id: string }[]
  readonly edges: readonly Edge[]
}

describe('a part of the graph', () => {
  useScene()
  let path: string
  beforeEach(() => {
    path = `/orgs/${atlas.org}/graph`
  })

  const read = async (under: string) => (await ann.get(`${path}?under=${under}`).then(expecting(200))).body
  const idsOf = ({ nodes }: Graph) => nodes.map(({ id }) => id)

  it('has a node, all its descendants and the edges between them, as in the whole graph', async () => {
    const top = await make({ title: 'Top' })
    const sea = await make({ title: 'Sea', parents: [top.id] })
    const land = await make({ title: 'Land', parents: [top.id] })
    const both = await make({ title: 'Both', parents: [sea.id, land.id] })
    const below = await make({ title: 'Below', parents: [both.id] })
    for (const target of [land.id, below.id]) await ann.post(`${sea.at}/connections`, { target }).then(expecting(201))
    await ann.post(`${land.at}/connections`, { target: below.id }).then(expecting(201))
    const whole = (await ann.get(path).then(expecting(200))).body
    const part = await read(sea.id)
    expect(part).to.deep.equal(partOf(whole, sea.id))
    expect([part.total_nodes, part.total_edges]).to.deep.equal([3, 3])
    expect(part.nodes[1]).to.include({ id: both.id, num_parents: 2, num_ancestors: 3, num_descendants: 1 })
    expect(await read(sea.id.toUpperCase())).to.deep.equal(part)
    expect(await read(top.id)).to.deep.equal(whole)
  })

  it.deep('agrees with a walk of the whole graph, below each of its nodes', async () => {
    const seeds = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(9)), { minLength: 3, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(seeds, async (kinds) => {
        const { body } = await ann.post('/orgs', { name: 'Random', published: true }).then(expecting(201))
        const nodes = kinds.map(([one, other, kind], at) => ({
          ref: `n${at}`,
          title: `Node ${at}`,
          parents:
            at === 0 || kind === 0 ? [] : [...new Set([`n${one % at}`, ...(kind > 4 ? [`n${other % at}`] : [])])],
          connections: kind % 2 ? [{ target: `n${(at + 1 + (other % (kinds.length - 1))) % kinds.length}` }] : [],
        }))
        await ann.post(`/orgs/${body.id}/nodes/batch`, { nodes }).then(expecting(201))
        const whole = (await anybody.get(`/orgs/${body.id}/graph`)).body
        for (const { id } of whole.nodes)
          expect((await anybody.get(`/orgs/${body.id}/graph?under=${id}`)).body).to.deep.equal(partOf(whole, id))
      }),
      { numRuns: runs(8) },
    )
  })

  it('follows no edge that closes a cycle, nor one of a deleted node', async () => {
    const top = await make()
    const middle = await make({ parents: [top.id] })
    const bottom = await make({ parents: [middle.id] })
    const outside = await make({ parents: [bottom.id] })
    const leaf = await make({ parents: [outside.id, bottom.id] })
    const files = { [`parents/${bottom.id}.json`]: '{}' }
    top.git.point('main', top.git.commit({ parents: [top.git.head()], files }))
    await ann.get(top.at).then(expecting(200))
    await ann.delete(outside.at).then(expecting(204))
    const whole = (await ann.get(path).then(expecting(200))).body
    expect([whole.total_nodes, whole.total_edges]).to.deep.equal([4, 3])
    for (const { id } of [top, middle, bottom, leaf]) expect(await read(id)).to.deep.equal(partOf(whole, id))
  })

  it('is 304 while nothing has changed, and follows each change', async () => {
    const top = await make()
    const { etag = '' } = (await anybody.get(`${path}?under=${top.id}`)).headers
    expect((await anybody.get(path)).headers.etag).to.equal(etag)
    const ifChanged = { 'if-none-match': etag }
    expect((await anybody.get(`${path}?under=${top.id}`, ifChanged)).status).to.equal(304)
    const { id } = await make({ parents: [top.id] })
    const { status, body } = await anybody.get(`${path}?under=${top.id}`, ifChanged)
    expect([status, idsOf(body)]).to.deep.equal([200, [top.id, id]])
    await ann.delete(top.at).then(expecting(204))
    expect(await anybody.get(`${path}?under=${top.id}`, ifChanged)).to.deep.equal(noNode)
    expect(idsOf(await read(id))).to.deep.equal([id])
  })

  it('is 404 for the id of no node in the organisation', async () => {
    const other = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Elsewhere' }).then(expecting(201))).body.id
    for (const under of [randomUUID(), other, 'none'])
      for (const query of [`graph?under=${under}`, `map?under=${under}&layout=part`])
        expect(await ann.get(`/orgs/${atlas.org}/${query}`), query).to.deep.equal(noNode)
    expect((await ann.get(`${path}?under=`)).status).to.equal(422)
  })

  it('has no proposed nodes, and there is none below one', async () => {
    const top = await make()
    const files = { [`parents/${top.id}.json`]: '{}' }
    const proposed = proposeNode(grove, atlas.org, { by: ann.user, title: 'Secret', files })
    await ann.get(`/orgs/${atlas.org}/nodes/${proposed.id}?proposed=true`).then(expecting(200))
    expect(idsOf(await read(top.id))).to.deep.equal([top.id])
    for (const query of [`graph?under=${proposed.id}`, `map?under=${proposed.id}&layout=part`])
      for (const who of [ann, anybody]) expect(await who.get(`/orgs/${atlas.org}/${query}`)).to.deep.equal(noNode)
  })

  it('is read by those who may read the whole, also while it is cached', async () => {
    const ben: PersonClient = await signUp(grove, 'Ben')
    const { id } = await make({ title: 'Secret' })
    const paths = [`${path}?under=${id}`, `/orgs/${atlas.org}/map?under=${id}&layout=part`]
    for (const one of paths)
      for (const who of [ann, ben, anybody]) expect((await who.get(one)).status, one).to.equal(200)
    await ann.patch(`/orgs/${atlas.org}`, { published: false }).then(expecting(200))
    for (const one of [...paths, `${path}?under=${randomUUID()}`]) {
      expect(await ben.get(one), one).to.deep.equal(noOrg)
      expect((await anybody.get(one)).status, one).to.equal(401)
    }
    for (const one of paths) expect((await ann.get(one)).status, one).to.equal(200)
  })
})

/** The part by the rules: what a walk along the edges of the whole graph reaches. */
function partOf(whole: Graph, under: string): object {
  const reached = new Set([under])
  for (const id of reached)
    for (const { edge_type, source, target } of whole.edges)
      if (edge_type === 'parent_child' && source === id) reached.add(target)
  const nodes = whole.nodes.filter(({ id }) => reached.has(id))
  const edges = whole.edges.filter(({ source, target }) => reached.has(source) && reached.has(target))
  return { ...whole, nodes, edges, total_nodes: nodes.length, total_edges: edges.length }
}
