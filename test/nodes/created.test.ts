/** The answer to a creation is what the node reads as, whatever it is made of. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import type { PersonClient } from '../support/people.ts'
import { ann, emptyOrg, make, useScene } from './scene.ts'

describe('the answer to a creation', () => {
  useScene()

  const book = {
    title: 'Book',
    schema: { properties: { pages: { type: 'integer' } }, required: ['pages'] },
    template: { text_content: 'Once\n', tags: ['read'], properties: { kind: 'novel' } },
    connections: { written_by: { to: ['person'] } },
  }

  /** Creates a node, and expects the answer to be what the next read finds. */
  async function expectSame({ org, post, get }: PersonClient, fields: object, base = `/orgs/${org}/nodes`) {
    const { body } = await post(base, fields).then(expecting(201))
    expect((await get(`/orgs/${org}/nodes/${body.id}`).then(expecting(200))).body).to.deep.equal(body)
    return body
  }

  it('has parents in the order of their titles, and connections in that of their ids', async () => {
    const [top, second, tenth] = [
      await make({ title: 'Top' }),
      await make({ title: 'Page 2' }),
      await make({ title: 'page 10' }),
    ]
    const below = await make({ title: 'Ünder', parents: [top.id] })
    const body = await expectSame(ann, {
      title: 'Whales 🐋',
      text_content: '# Whales\r\n\tsing\n',
      tags: ['sea/deep', 'sea', 'Sea'],
      properties: { depth: null, list: [{ a: 1.5 }], text: '\u2028 🐋' },
      parents: [tenth.id, below.id, second.id],
      connections: [...Array(3).keys()].map((at) => ({ target: top.id, type: `to_${at}`, label: `${at} “é”` })),
    })
    expect(body.parents.map(({ title }: { title: string }) => title)).to.deep.equal(['Page 2', 'page 10', 'Ünder'])
    expect(body).to.include({ num_parents: 3, num_ancestors: 4, num_connections: 3 })
  })

  it('has a node that is both a parent and the end of a connection', async () => {
    const { id } = await make()
    const body = await expectSame(ann, { title: 'Calf', parents: [id], connections: [{ target: id }] })
    expect(body).to.include({ num_parents: 1, num_connections: 1 })
  })

  it.deep('has the first of many neighbours, and counts all', async () => {
    const nodes = [...Array(201).keys()].map((at) => ({ title: `Page ${at}` }))
    const { body: batch } = await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
    const parents = batch.nodes.map(({ id }: { id: string }) => id)
    const body = await expectSame(ann, { title: 'Below all', parents })
    expect([body.parents.length, body.num_parents]).to.deep.equal([200, 201])
  })

  it('has the children that an id had before it', async () => {
    const id = randomUUID()
    const child = await make()
    const edge = { action: 'put', path: `parents/${id}.json`, content: '{}\n' }
    await ann.post(`${child.at}/branches`, { name: 'b', from: 'main' }).then(expecting(201))
    await ann.post(`${child.at}/tree/b/commits`, { message: 'A parent', changes: [edge] }).then(expecting(201))
    child.git.say('update-ref', 'refs/heads/main', 'refs/heads/b')
    await ann.get(child.at).then(expecting(200))
    const body = await expectSame(ann, { id, title: 'Late parent' })
    expect(body.children.map((one: { id: string }) => one.id)).to.deep.equal([child.id])
  })

  it('has a type, what its template fills in, and what it breaks', async () => {
    await ann.put(`/orgs/${ann.org}/types/person`, { definition: { title: 'Person' } }).then(expecting(200))
    await ann.put(`/orgs/${ann.org}/types/book`, { definition: book }).then(expecting(200))
    const { id } = await make({ properties: { type: 'person' } })
    const connections = [{ target: id, type: 'written_by' }]
    const body = await expectSame(ann, { title: 'Moby', properties: { type: 'book' }, connections })
    expect([body.type, body.text_content, body.type_problems.length]).to.deep.equal(['book', 'Once\n', 1])
    expect(await expectSame(ann, { title: 'Bare', properties: { type: 'book' }, template: false })).to.include({
      text_content: '',
    })
  })

  it('is of a node without a commit, and of a copy', async () => {
    expect(await expectSame(ann, { title: 'Later', initialize: false })).not.to.have.property('head')
    const parent = await make()
    const node = await make({ text_content: 'Sing', parents: [parent.id], connections: [{ target: parent.id }] })
    await expectSame(ann, {}, `${node.at}/copy`)
  })

  it('says where main moves only by merges, also if the organisation is published', async () => {
    const own = await emptyOrg()
    await own.patch(`/orgs/${own.org}`, { published: true, require_pull_requests: true }).then(expecting(200))
    expect(await expectSame(own, { title: 'Public' })).to.include({ main_needs_pull_request: true })
  })
})
