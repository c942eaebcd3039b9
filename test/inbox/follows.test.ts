/** Users follow nodes and organisations, with both engines of credentials. */
import { expect } from 'chai'
import { createFollowsSweep } from '../../server/features/inbox/follows.ts'
import { expecting, type TestNode } from '../support/node.ts'
import { password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { edit, follow, followOrg, inbox } from './scene.ts'

describe('follows', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'reader' }, { sweeps: false })
  let node: TestNode
  before(async () => {
    node = await ann.node()
  })

  const follows = (query = {}) => bob.api.listFollows({ query })
  const rows = () => grove.deps.credentials.read.selectFrom('follow').selectAll().execute()

  it('are listed, the newest first', async () => {
    await follow(bob, node, 'node')
    await followOrg(bob, ann.org)
    await followOrg(bob, ann.org)
    await follow(bob, node, 'tree')
    const { follows: all, total } = await follows()
    expect(total).to.equal(2)
    expect(all.map(({ created_at: _, ...one }) => one)).to.deep.equal([
      { org_id: ann.org },
      { org_id: ann.org, node_id: node.id, node_title: 'Whales', scope: 'tree' },
    ])
    expect((await follows({ node_id: node.id })).follows).to.have.length(1)
    expect((await follows({ org_id: bob.org })).follows).to.deep.equal([])
    expect((await follows({ limit: 1, offset: 1 })).follows[0]?.node_id).to.equal(node.id)
  })

  it('end when they are deleted, which can be repeated', async () => {
    for (const path of [`/orgs/${ann.org}/follow`, `${node.at}/follow`])
      for (let again = 0; again < 2; again++) await bob.delete(path).then(expecting(204))
    expect((await follows()).total).to.equal(0)
  })

  it('are refused for a node that does not exist, and for another scope', async () => {
    const at = (id: string) => `/orgs/${ann.org}/nodes/${id}/follow`
    const { status, body } = await bob.put(at(bob.org), { scope: 'node' })
    expect({ status, code: body.code }).to.deep.equal({ status: 404, code: 'node_not_found' })
    expect((await bob.put(at(node.id), { scope: 'all' })).status).to.equal(422)
  })

  it('are at most 1,000', async () => {
    const { credentials } = grove.deps
    const many = Array.from({ length: 1_000 }, (_, index) => ({
      ...{ account_id: bob.user.id, org_id: ann.org, node_id: `n${index}`, scope: 'node' as const },
      created_at: '2026-01-01T00:00:00.000Z',
    }))
    await credentials.write((trx) => trx.insertInto('follow').values(many).execute())
    const { status, body } = await bob.put(`/orgs/${ann.org}/follow`)
    expect({ status, code: body.code }).to.deep.equal({ status: 409, code: 'too_many_follows' })
    await credentials.write((trx) => trx.deleteFrom('follow').where('node_id', '=', 'n0').execute())
    await followOrg(bob, ann.org)
    await credentials.write((trx) => trx.deleteFrom('follow').execute())
  })

  it('are removed by a sweep after the membership has ended', async () => {
    const sweep = createFollowsSweep()
    await follow(bob, node)
    await edit(ann, node, 'Blue whales')
    await bob.put('/inbox-mark', { cursor: (await bob.get('/inbox')).body.now }).then(expecting(204))
    expect(await sweep(grove.deps)).to.equal(true)
    expect(await rows()).to.have.length(1)
    await ann.delete(`/orgs/${ann.org}/members/bob@example.org`).then(expecting(204))
    expect(await inbox(bob)).to.deep.equal([])
    await sweep(grove.deps)
    expect(await rows()).to.deep.equal([])
    const marks = await grove.deps.credentials.read.selectFrom('inbox_mark').select('org_id').execute()
    expect(marks).to.deep.equal([{ org_id: bob.org }])
  })

  it('go with the account', async () => {
    await followOrg(bob, bob.org)
    expect(await rows()).to.have.length(1)
    await bob.delete('/auth/me', {}, { password }).then(expecting(200))
    expect(await rows()).to.deep.equal([])
    expect(await grove.deps.credentials.read.selectFrom('inbox_mark').selectAll().execute()).to.deep.equal([])
  })
})
