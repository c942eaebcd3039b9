/** Nodes with many neighbours and long properties, and requests with many problems: their answers are bounded. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Client, client, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('large nodes', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let anybody: Client

  before(async () => {
    anybody = client(grove)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
  })

  const read = async (node: TestNode) => (await ann.get(node.at).then(expecting(200))).body

  it.deep('tell 200 neighbours of each kind, count all, and lists have the rest', async () => {
    const hub = await newNode(grove, ann, { title: 'Hub' })
    const ids = Array.from({ length: 201 }, (_, n) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`)
    for (let at = 0; at < ids.length; at += 20)
      await Promise.all(
        ids.slice(at, at + 20).map((id) =>
          // By their titles the other way round.
          newNode(grove, ann, { id, title: `Child ${999 - ids.indexOf(id)}`, parents: [hub.id] }),
        ),
      )
    const holder = await newNode(grove, ann, { title: 'Holder', parents: ids })
    const connection = JSON.stringify({ target: hub.id })
    const files = Object.fromEntries(ids.map((id) => [`connections/${id}.json`, connection]))
    holder.git.point('main', holder.git.commit({ files, parents: [holder.git.head()] }))

    const below = await read(holder)
    expect(below).to.include({ num_parents: 201, num_ancestors: 202, num_connections: 201, num_children: 0 })
    expect(below.parents).to.have.length(200)
    const body = await read(hub)
    expect(body).to.include({ num_children: 201, num_descendants: 202, num_connections: 201, num_parents: 0 })
    expect(body.children.map(({ id }: { id: string }) => id)).to.deep.equal(ids.slice(1).reverse())
    expect(body.connections.map(({ id }: { id: string }) => id)).to.deep.equal(ids.slice(0, 200))
    expect((await ann.patch(hub.at, { title: 'The hub' })).body.children).to.have.length(200)

    const page = 'limit=200&offset=200'
    const nodes = (await ann.get(`/orgs/${hub.org}/nodes?parent_id=${hub.id}&${page}`).then(expecting(200))).body
    expect({ total: nodes.total, rest: nodes.nodes.length }).to.deep.equal({ total: 201, rest: 1 })
    const ends = { source: holder.id, target: hub.id, source_title: 'Holder', target_title: 'The hub' }
    const last = { id: ids[200], node_id: holder.id, ...ends, type: 'related_to', label: '' }
    for (const reader of [ann, anybody])
      for (const { at } of [hub, holder])
        expect((await reader.get(`${at}/connections?${page}`).then(expecting(200))).body).to.deep.equal({
          connections: [last],
          total: 201,
          limit: 200,
          offset: 200,
        })

    await ann.delete(holder.at).then(expecting(204))
    await ann.delete(`/orgs/${hub.org}/nodes/${ids[200]}`).then(expecting(204))
    expect(await read(hub)).to.include({ num_children: 200, num_descendants: 200, num_connections: 0 })
  })

  it('lists leave out properties of over 64 KiB, which the node itself tells', async () => {
    const bob = await signUp(grove, 'Bob')
    const node = await newNode(grove, bob)
    const sized = (bytes: number) => ({ note: '€'.repeat((bytes - '{"note":""}'.length) / 3) })
    for (const [properties, isListed] of [
      [sized(65_537), false],
      [sized(65_534), true],
    ] as const) {
      const json = JSON.stringify({ title: 'Whales', properties })
      node.git.point('main', node.git.commit({ files: { 'node.json': json }, parents: [node.git.head()] }))
      expect((await bob.get(node.at).then(expecting(200))).body.properties).to.deep.equal(properties)
      const [row] = (await bob.get(`/orgs/${node.org}/nodes`).then(expecting(200))).body.nodes
      expect(row.properties).to.deep.equal(isListed ? properties : {})
      expect(row.properties_omitted).to.equal(isListed ? undefined : true)
    }
  })

  it('a request tells the first 100 of what is wrong with its source', async () => {
    const node = await newNode(grove, ann)
    await node.branch('draft')
    const { number } = await node.commit('draft', { a: 'a' }).then(() => node.open('draft'))
    const files = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`connections/${n}.json`, 'no JSON']))
    node.git.point('draft', node.git.commit({ files, parents: [node.git.head('draft')] }))
    const pull = await node.pull(number)
    expect(pull).to.include({ can_merge: false, merge_reason: 'invalid_content' })
    expect(pull.merge_problems).to.have.length(100)
  })
})
