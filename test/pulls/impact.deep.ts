/** The impact of a merge equals the difference of the graph before and after it. */
import { expect } from 'chai'
import fc from 'fast-check'
import { expecting, type TestNode } from '../support/node.ts'
import { type Answer, client } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { aNode, ann, bob, grove, useScene } from './scene.ts'

type Body = Answer['body']
type Edge = Body

describe('the impact of a pull request', () => {
  useScene()

  const impactOf = async (node: TestNode, number: number): Promise<Body> =>
    (await ann.get(`${node.at}/pull-requests/${number}/impact`).then(expecting(200))).body
  const graph = async (): Promise<Body> => (await ann.get(`/orgs/${ann.org}/graph`).then(expecting(200))).body
  const publish = (published: boolean) => ann.patch(`/orgs/${ann.org}`, { published }).then(expecting(200))
  const parent = (label = '') => JSON.stringify({ label })
  const connection = (target: string, label = '') => JSON.stringify({ target, type: 'feeds_on', label })
  const proposed = async (node: TestNode, files: Record<string, string | null>, branch = 'draft', target = 'main') => {
    await node.branch(branch)
    const source = await node.commit(branch, files)
    return { source, number: (await node.open(branch, { target_branch: target })).number as number }
  }

  it('names edges, ancestors and what the public sees, and stays after the merge', async () => {
    const [oceans, sea, whales, orca] = [await aNode({ title: 'Oceans' }), await aNode(), await aNode(), await aNode()]
    await ann.put(`${sea.at}/parents/${oceans.id}`, {}).then(expecting(200))
    await ann.put(`${orca.at}/parents/${whales.id}`, {}).then(expecting(200))
    await publish(true)
    const base = whales.git.head()
    const { source, number } = await proposed(whales, {
      [`parents/${sea.id}.json`]: parent('lives in'),
      'connections/krill.json': connection(oceans.id),
    })
    const impact = await impactOf(whales, number)
    const edge = { source: sea.id, target: whales.id, source_title: 'Whales', target_title: 'Whales' }
    const added = [
      {
        id: `${whales.id}/connections/krill`,
        source: whales.id,
        target: oceans.id,
        source_title: 'Whales',
        target_title: 'Oceans',
        edge_type: 'connection',
        connection_type: 'feeds_on',
        label: '',
      },
      {
        id: `${whales.id}/parents/${sea.id}`,
        ...edge,
        edge_type: 'parent_child',
        connection_type: '',
        label: 'lives in',
      },
    ]
    const gained = [
      { node_id: oceans.id, title: 'Oceans' },
      { node_id: sea.id, title: 'Whales' },
    ]
    expect(impact).to.deep.equal({
      node_id: whales.id,
      source_commit: source,
      base_commit: base,
      edges_added: added,
      edges_removed: [],
      ancestors: { gained, lost: [] },
      descendants_affected: 1,
      dangling: [],
      public: { appears: added.map(({ id }) => id), disappears: [] },
      truncated: false,
    })
    await ann.post(`${whales.at}/pull-requests/${number}/merge`, {}).then(expecting(200))
    expect(await impactOf(whales, number)).to.deep.equal(impact)
    await publish(false)
    expect(await impactOf(whales, number)).to.deep.equal({ ...impact, public: { appears: [], disappears: [] } })
    expect((await client(grove).get(`${whales.at}/pull-requests/${number}/impact`)).status).to.equal(401)
    expect((await bob.get(`${whales.at}/pull-requests/9/impact`)).body.code).to.equal('pull_request_not_found')
  })

  it('into another branch has only edges', async () => {
    const [sea, whales] = [await aNode(), await aNode()]
    await whales.branch('next')
    const { number } = await proposed(whales, { [`parents/${sea.id}.json`]: parent() }, 'draft', 'next')
    const { edges_added, ancestors, descendants_affected } = await impactOf(whales, number)
    expect(edges_added).to.have.length(1)
    expect({ ancestors, descendants_affected }).to.deep.equal({
      ancestors: { gained: [], lost: [] },
      descendants_affected: 0,
    })
  })

  it('names edges that lead nowhere, whatever they name', async () => {
    const [gone, whales] = [await aNode(), await aNode()]
    await ann.post(`${whales.at}/connections`, { target: gone.id, id: 'krill' }).then(expecting(201))
    await ann.delete(gone.at).then(expecting(204))
    const odd = 'krill '.repeat(100)
    const { number } = await proposed(whales, { 'connections/odd.json': connection(odd), 'song.md': 'La' })
    const { dangling, edges_added, public: shown } = await impactOf(whales, number)
    expect(dangling.map(({ target, target_title }: Edge) => [target, target_title])).to.deep.equal([
      [gone.id, ''],
      [odd.slice(0, 200), ''],
    ])
    expect(edges_added.map(({ id }: Edge) => id)).to.deep.equal([`${whales.id}/connections/odd`])
    expect(shown).to.deep.equal({ appears: [], disappears: [] })
  })

  it('lists a thousand edges, and says that there are more', async () => {
    const [sea, whales] = [await aNode(), await aNode()]
    await whales.branch('draft')
    for (const half of ['a', 'b']) {
      const many = Array.from({ length: 501 }, (_, n) => [`connections/${half}${n}.json`, connection(sea.id)])
      await whales.commit('draft', Object.fromEntries(many))
    }
    const { edges_added, truncated } = await impactOf(whales, (await whales.open('draft')).number)
    expect([edges_added.length, truncated]).to.deep.equal([1_000, true])
  })

  it('is the difference of the graphs before and after the merge', async () => {
    await publish(true)
    const nodes: TestNode[] = []
    for (let n = 0; n < 6; n++) nodes.push(await aNode({ title: `Node ${n}` }))
    const gone = await aNode()
    for (const node of nodes) await ann.post(`${node.at}/connections`, { target: gone.id, id: 'gone' })
    await ann.delete(gone.at).then(expecting(204))
    const place = fc.nat({ max: nodes.length - 1 })
    const label = fc.constantFrom('', 'a', 'b')
    const edit = fc.record({ kind: fc.constantFrom('parent', 'connection'), other: place, label, id: fc.nat(2) })
    let [merged, round] = [0, 0]
    await fc.assert(
      fc.asyncProperty(place, fc.array(edit, { minLength: 1, maxLength: 4 }), async (at, edits) => {
        const node = nodes[at] as TestNode // place is below their number
        const { entities } = (await ann.get(`${node.at}/tree/main?limit=200`)).body
        const there = new Set(entities.map(({ entity_key }: Body) => entity_key))
        const files: Record<string, string | null> = {}
        for (const { kind, other, label, id } of edits) {
          const path = kind === 'parent' ? `parents/${nodes[other]?.id}.json` : `connections/c${id}.json`
          const text = kind === 'parent' ? parent(label) : connection(nodes[other]?.id ?? '', label)
          files[path] = there.has(path) && label === '' ? null : text
        }
        const branch = `round-${round++}`
        await node.branch(branch)
        const changes = Object.entries(files).map(([path, content]) =>
          content === null ? { action: 'delete', path } : { action: 'put', path, content },
        )
        const committed = await ann.post(`${node.at}/tree/${branch}/commits`, { message: 'Edit', changes })
        if (committed.body.code === 'no_changes') return
        const { number } = await node.open(branch)
        const before = await graph()
        const impact = await impactOf(node, number)
        const merge = await ann.post(`${node.at}/pull-requests/${number}/merge`, {})
        // A cycle, or an edge from a node to itself.
        if (merge.status !== 200) return
        merged++
        const after = await graph()
        expect(plain(impact.edges_added)).to.deep.equal(beyond(before.edges, after.edges))
        expect(plain(impact.edges_removed)).to.deep.equal(beyond(after.edges, before.edges))
        expect(impact.public).to.deep.equal({
          appears: beyond(before.edges, after.edges).map(({ id }) => id),
          disappears: beyond(after.edges, before.edges).map(({ id }) => id),
        })
        const [old, fresh] = [above(before.edges, node.id), above(after.edges, node.id)]
        const ids = (list: Body[]) => list.map(({ node_id }) => node_id)
        expect(ids(impact.ancestors.gained)).to.deep.equal([...fresh].filter((id) => !old.has(id)).sort())
        expect(ids(impact.ancestors.lost)).to.deep.equal([...old].filter((id) => !fresh.has(id)).sort())
        const isMoved = impact.ancestors.gained.length + impact.ancestors.lost.length > 0
        const { num_descendants } = after.nodes.find(({ id }: Body) => id === node.id)
        expect(impact.descendants_affected).to.equal(isMoved ? num_descendants : 0)
        expect(impact.dangling.map(({ id }: Edge) => id)).to.deep.equal([`${node.id}/connections/gone`])
      }),
      { seed: 13, numRuns: runs(40), endOnFailure: true },
    )
    expect(merged).to.be.greaterThan(15)
  })
})

/** As the graph has them. */
function plain(edges: readonly Edge[]): Edge[] {
  return edges.map(({ source_title: _, target_title: __, ...edge }) => ({ ...edge, parent_node_id: edge.source }))
}

/** Those of `there` that `here` lacks or has otherwise. */
function beyond(here: readonly Edge[], there: readonly Edge[]): Edge[] {
  const known = new Set(here.map((edge) => JSON.stringify(edge)))
  return there.filter((edge) => !known.has(JSON.stringify(edge)))
}

function above(edges: readonly Edge[], node: string): Set<string> {
  const found = new Set<string>()
  const walk = (child: string): void => {
    for (const { edge_type, source, target } of edges) {
      if (edge_type !== 'parent_child' || target !== child || found.has(source)) continue
      found.add(source)
      walk(source)
    }
  }
  walk(node)
  return found
}
