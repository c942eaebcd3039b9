/** The graph of an organisation for its members, and who else may read it. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ann, anybody, atlas, graph, grove, make, useScene } from './scene.ts'

const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }

describe('the graph for members', () => {
  useScene()
  let ben: PersonClient
  let own: string
  before(async () => {
    ben = await signUp(grove, 'Ben')
  })
  beforeEach(() => {
    own = `/orgs/${atlas.org}/graph`
  })

  const publish = (published: boolean) => ann.patch(`/orgs/${atlas.org}`, { published }).then(expecting(200))
  const join = () => ann.put(`/orgs/${atlas.org}/members/${ben.user.email}`, { role: 'reader' }).then(expecting(200))
  const leave = () => ben.delete(`/orgs/${atlas.org}/members/${ben.user.email}`).then(expecting(204))

  it('is the public one, byte for byte and under the same ETag, for every reader', async () => {
    const sea = await make({ title: 'Sea' })
    await make({ title: 'Whales', parents: [sea.id] })
    const asPublic = await anybody.get(graph)
    expect(asPublic.body.total_edges).to.equal(1)
    for (const who of [ann, ben, anybody]) {
      const answer = await who.get(own)
      expect([answer, answer.headers.etag]).to.deep.equal([asPublic, asPublic.headers.etag])
      const again = await who.get(own, { 'if-none-match': asPublic.headers.etag ?? '' })
      expect(again.status).to.equal(304)
    }
  })

  it('is there while nothing is published, also for a reader, until that one leaves', async () => {
    const { id } = await make({ title: 'Secret' })
    await publish(false)
    await join()
    for (const who of [ann, ben]) {
      const { body } = await who.get(own).then(expecting(200))
      expect([body.org_name, body.nodes.map((node: { id: string }) => node.id)]).to.deep.equal([
        'Atlas of the sea',
        [id],
      ])
    }
    const { etag = '' } = (await ben.get(own)).headers
    await leave()
    for (const headers of [{}, { 'if-none-match': etag }]) expect(await ben.get(own, headers)).to.deep.equal(noOrg)
    expect(await ben.get(`/orgs/${randomUUID()}/graph`)).to.deep.equal(noOrg)
    expect((await anybody.get(own, { 'if-none-match': etag })).status).to.equal(401)
  })

  it('does not make what members have read known to the public', async () => {
    await make({ title: 'Secret' })
    await publish(false)
    await ann.get(own).then(expecting(200))
    expect(await anybody.get(graph)).to.deep.equal(noOrg)
    expect((await anybody.get(own)).status).to.equal(401)
    expect(await ben.get(own)).to.deep.equal(noOrg)
  })

  it('is given to all who first ask for it at once, but only to those who may see it', async () => {
    await make()
    await publish(false)
    const readers = [ann, anybody, ben, ann, anybody, ben]
    const answers = await Promise.all(readers.map((who) => who.get(own)))
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 401, 404, 200, 401, 404])
  })

  it('follows each change', async () => {
    await publish(false)
    const { etag = '' } = (await ann.get(own)).headers
    const { id } = await make()
    const { status, body } = await ann.get(own, { 'if-none-match': etag })
    expect([status, body.nodes[0].id]).to.deep.equal([200, id])
  })

  it('may be stored by no shared cache, unlike the public one', async () => {
    const cacheControl = async (path: string) => (await ann.get(path)).headers['cache-control']
    expect(await cacheControl(own)).to.equal('private, no-cache')
    expect(await cacheControl(graph)).to.equal('no-cache')
  })

  it('takes a personal access token that reads, not one of another organisation', async () => {
    await publish(false)
    const tokenFor = async (org_id: string) =>
      (await ann.post('/auth/tokens', { name: 'Script', access: 'read', org_id }).then(expecting(201))).body.token
    const statuses = []
    for (const org of [atlas.org, ann.org]) {
      const authorization = `Bearer ${await tokenFor(org)}`
      statuses.push((await anybody.get(own, { authorization })).status)
    }
    expect(statuses).to.deep.equal([200, 403])
  })
})
