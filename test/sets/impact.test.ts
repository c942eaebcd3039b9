/** The effects of a change set on the graph, and the order of its pages. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import { ann, aPage, cy, di, open, sets, useScene } from './scene.ts'

describe('the impact of a change set', () => {
  useScene()

  const impactOf = async (number: number) => (await cy.get(`${sets}/${number}/impact`).then(expecting(200))).body
  const titles = (nodes: Answer['body'][]) => nodes.map(({ title }) => title)
  const edges = (list: Answer['body'][]) =>
    list.map((edge) => [edge.source_title, edge.connection_type || 'parent of', edge.target_title]).sort()

  it('has the union of all pages: new ones, deleted ones, orphans and edges', async () => {
    const sea = await aPage('Sea')
    const shore = await aPage('Shore')
    const old = await aPage('Old whales', { parents: [sea] })
    const calves = await aPage('Calves', { parents: [old] })
    await aPage('Seals', { parents: [old, sea] })
    const crabs = await aPage('Crabs', { parents: [shore] })
    const link = { id: 'old', target: old, type: 'links_to' }
    await ann.post(`/orgs/${ann.org}/nodes/${shore}/connections`, link).then(expecting(201))
    const { change_set: set } = await open(di, {
      nodes: [
        { ref: 'krill', title: 'Krill', parents: ['food'] },
        { ref: 'food', title: 'Sea food', parents: [sea] },
        { id: crabs, parents: [], connections: [{ target: 'krill', type: 'feeds_on' }] },
      ],
      deletions: [{ node_id: old }],
    })
    expect(titles(set.items)).to.deep.equal(['Old whales', 'Sea food', 'Krill', 'Crabs'])
    const impact = await impactOf(set.number)
    expect(titles(impact.nodes_added).sort()).to.deep.equal(['Krill', 'Sea food'])
    expect(impact.nodes_removed).to.deep.equal([{ node_id: old, title: 'Old whales' }])
    expect(impact.orphans).to.deep.equal([
      { node_id: crabs, title: 'Crabs' },
      { node_id: calves, title: 'Calves' },
    ])
    expect(edges(impact.edges_added)).to.deep.equal([
      ['Crabs', 'feeds_on', 'Krill'],
      ['Sea food', 'parent of', 'Krill'],
      ['Sea', 'parent of', 'Sea food'],
    ])
    expect(edges(impact.edges_removed)).to.deep.equal([
      ['Sea', 'parent of', 'Old whales'],
      ['Shore', 'parent of', 'Crabs'],
    ])
    expect(edges(impact.dangling)).to.deep.equal([
      ['Old whales', 'parent of', 'Calves'],
      ['Old whales', 'parent of', 'Seals'],
      ['Shore', 'links_to', 'Old whales'],
    ])
    expect(impact.truncated).to.equal(false)
    await di.post(`${sets}/${set.number}/merge`).then(expecting(200))
    expect(edges((await impactOf(set.number)).edges_added)).to.deep.equal(edges(impact.edges_added))
  })

  it('compares from the merge base, not from a main that has moved', async () => {
    const [a, b] = [await aPage('A'), await aPage('B')]
    const { change_set: set } = await open(di, { nodes: [{ id: a, parents: [b] }] })
    const link = { id: 'b', target: b, type: 'links_to' }
    await ann.post(`/orgs/${ann.org}/nodes/${a}/connections`, link).then(expecting(201))
    const { edges_added, edges_removed } = await impactOf(set.number)
    expect([edges(edges_added), edges_removed]).to.deep.equal([[['B', 'parent of', 'A']], []])
  })
})
