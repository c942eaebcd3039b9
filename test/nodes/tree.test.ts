/** The tree of an organisation, level by level. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { titleKey } from '../../index/derived/title-order.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('the tree of an organisation', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  const ids = new Map<string, string>()
  const add = async (title: string, ...parents: string[]) => {
    const body = { title, parents: parents.map((name) => ids.get(name)) }
    ids.set(title, (await ann.post(`/orgs/${ann.org}/nodes`, body).then(expecting(201))).body.id)
  }
  const level = async (query = '') => {
    const { body } = await ann.get(`/orgs/${ann.org}/tree${query}`).then(expecting(200))
    return body
  }
  const told = async (query = '') =>
    (await level(query)).nodes.map((one: { title: string; num_children: number }) => [one.title, one.num_children])

  before(async () => {
    await add('Sea')
    await add('Air')
    await add('Whales', 'Sea')
    await add('Fish', 'Sea')
    await add('Flying fish', 'Air', 'Fish')
  })

  it('has roots and children in order, each with the number of its children', async () => {
    expect(await told()).to.deep.equal([
      ['Air', 1],
      ['Sea', 2],
    ])
    expect(await told(`?under=${ids.get('Sea')}`)).to.deep.equal([
      ['Fish', 1],
      ['Whales', 0],
    ])
    expect(await told(`?under=${ids.get('Fish')?.toUpperCase()}`)).to.deep.equal([['Flying fish', 0]])
    expect(await told(`?under=${ids.get('Air')}`)).to.deep.equal([['Flying fish', 0]])
    expect(await told(`?under=${ids.get('Whales')}`)).to.deep.equal([])
  })

  it('is read page by page, with the true total', async () => {
    expect(await level('?limit=1&offset=1')).to.deep.equal({
      nodes: [{ id: ids.get('Sea'), title: 'Sea', num_children: 2 }],
      ...{ total: 2, limit: 1, offset: 1 },
    })
    expect(await level('?offset=7')).to.deep.include({ nodes: [], total: 2 })
  })

  it('follows new titles, new parents and deleted nodes at once', async () => {
    const at = (title: string) => `/orgs/${ann.org}/nodes/${ids.get(title)}`
    await ann.patch(at('Air'), { title: 'Wind' }).then(expecting(200))
    expect(await told()).to.deep.equal([
      ['Sea', 2],
      ['Wind', 1],
    ])
    await ann.delete(`${at('Whales')}/parents/${ids.get('Sea')}`).then(expecting(204))
    expect(await told()).to.deep.equal([
      ['Sea', 1],
      ['Whales', 0],
      ['Wind', 1],
    ])
    await ann.delete(at('Sea')).then(expecting(204))
    expect(await told()).to.deep.equal([
      ['Fish', 1],
      ['Whales', 0],
      ['Wind', 1],
    ])
    expect((await ann.get(`/orgs/${ann.org}/tree?under=${ids.get('Sea')}`)).body.code).to.equal('node_not_found')
  })

  it('has nothing under a node of another organisation, or under none', async () => {
    const ben = await signUp(grove, 'Ben')
    for (const under of [ids.get('Fish'), randomUUID(), 'nonsense'])
      expect((await ben.get(`/orgs/${ben.org}/tree?under=${under}`)).body.code, under).to.equal('node_not_found')
    expect((await ben.get(`/orgs/${ben.org}/tree`)).body.total).to.equal(0)
  })

  it('is whole if a level has more nodes than one statement reads', async () => {
    const many = 2_003
    const parent = ids.get('Whales') ?? ''
    const titles = Array.from({ length: many }, (_, n) => `child ${String(n).padStart(5, '0')}`)
    await grove.deps.index.write(async (trx) => {
      const whales = await trx.selectFrom('node').selectAll().where('id', '=', parent).executeTakeFirstOrThrow()
      for (const title of titles) {
        const id = randomUUID()
        const ends = { holder: id, key: parent, source: parent, target: id }
        const edge = { org_id: ann.org, edge_type: 'parent_child' as const, connection_type: '', label: '' }
        await trx
          .insertInto('node')
          .values({ ...whales, id, title, title_key: titleKey(title), is_root: 0 })
          .execute()
        await trx
          .insertInto('edge')
          .values({ ...edge, ...ends, title_key: titleKey(title) })
          .execute()
      }
      await trx
        .updateTable('org')
        .set((eb) => ({ version: eb('version', '+', 1) }))
        .execute()
    })
    const page = await level(`?under=${parent}&limit=2&offset=2001`)
    expect([page.total, page.nodes.map(({ title }: { title: string }) => title)]).to.deep.equal([
      many,
      titles.slice(2_001),
    ])
    expect((await told()).find(([title]: [string]) => title === 'Whales')).to.deep.equal(['Whales', many])
  })
})
