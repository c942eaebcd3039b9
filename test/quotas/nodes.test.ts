/** `QUOTA_NODES` refuses new nodes of a full organisation, and of no other. */
import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

describe('the quota of nodes', () => {
  let grove: Grove
  let ann: PersonClient
  before(async () => {
    grove = await startGrove({ quotaNodes: 3 })
    ann = await signUp(grove, 'Ann')
  })
  after(() => grove.close())

  const newOrg = async (): Promise<string> => (await ann.post('/orgs', { name: 'Sea' }).then(expecting(201))).body.id
  const add = (org: string) => ann.post(`/orgs/${org}/nodes`, { title: 'Whale' })
  const many = (count: number) => ({ nodes: Array.from({ length: count }, (_, at) => ({ title: `Krill ${at}` })) })

  async function full(): Promise<{ org: string; nodes: string[] }> {
    const org = await newOrg()
    const { nodes } = (await ann.post(`/orgs/${org}/nodes/batch`, many(3)).then(expecting(201))).body
    return { org, nodes: nodes.map(({ id }: { id: string }) => id) }
  }

  it('refuses a node, a copy and a batch, and says why', async () => {
    const { org, nodes } = await full()
    const copy = () => ann.post(`/orgs/${org}/nodes/${nodes[0]}/copy`, {})
    for (const refused of [add(org), copy(), ann.post(`/orgs/${org}/nodes/batch`, many(1))])
      expect((await refused.then(expecting(403))).body).to.deep.include({
        code: 'quota_exceeded',
        used: 3,
        limit: 3,
        what: 'nodes',
      })
    expect((await ann.get(`/orgs/${org}/nodes`).then(expecting(200))).body.total).to.equal(3)
  })

  it('refuses a batch as a whole', async () => {
    const org = await newOrg()
    await ann.post(`/orgs/${org}/nodes/batch`, many(4)).then(expecting(403))
    expect((await ann.get(`/orgs/${org}/nodes`).then(expecting(200))).body.total).to.equal(0)
  })

  it('lets a neighbour write, and changes of nodes that exist', async () => {
    const { org, nodes } = await full()
    await add(await newOrg()).then(expecting(201))
    await ann.patch(`/orgs/${org}/nodes/${nodes[0]}`, { title: 'Renamed' }).then(expecting(200))
  })

  it('has room again after a deletion, and then refuses to restore the node', async () => {
    const { org, nodes } = await full()
    await ann.delete(`/orgs/${org}/nodes/${nodes[0]}`).then(expecting(204))
    await add(org).then(expecting(201))
    const restored = await ann.post(`/orgs/${org}/trash/${nodes[0]}/restore`, {}).then(expecting(403))
    expect(restored.body.code).to.equal('quota_exceeded')
  })

  it('holds for requests that run at once', async () => {
    const org = await newOrg()
    const answers = await Promise.all(Array.from({ length: 20 }, () => add(org)))
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    expect([count(201), count(403)]).to.deep.equal([3, 17])
    const { nodes } = (await ann.get(`/orgs/${org}/nodes`).then(expecting(200))).body
    expect(nodes).to.have.length(3)
    await ann.delete(`/orgs/${org}/nodes/${nodes[0].id}`).then(expecting(204))
    expect((await add(org)).status).to.equal(201)
  })
})
