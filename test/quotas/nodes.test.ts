/** `QUOTA_NODES` refuses new nodes of a full organisation, and of no other. */
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('the quota of nodes', () => {
  const { ann } = useWorld({ ann: 'owner' }, { quotaNodes: 3 })

  const newOrg = async () => (await ann.api.createOrg({ body: { name: 'Sea' } })).id
  const listed = (org: string) => ann.api.listNodes({ path: { org_id: org } })
  const add = (org: string) => ann.post(`/orgs/${org}/nodes`, { title: 'Whale' })
  const many = (count: number) => ({ nodes: Array.from({ length: count }, (_, at) => ({ title: `Krill ${at}` })) })

  async function full(): Promise<{ org: string; nodes: string[] }> {
    const org = await newOrg()
    await ann.post(`/orgs/${org}/nodes/batch`, many(3)).then(expecting(201))
    return { org, nodes: (await listed(org)).nodes.map(({ id }) => id) }
  }

  it('refuses a node, a copy and a batch, and says why', async () => {
    const { org, nodes } = await full()
    const exceeded = { code: 'quota_exceeded', used: 3, limit: 3, what: 'nodes' }
    const copy = () => ann.post(`/orgs/${org}/nodes/${nodes[0]}/copy`, {})
    for (const refused of [add(org), copy(), ann.post(`/orgs/${org}/nodes/batch`, many(1))])
      expect((await refused.then(expecting(403))).body).to.deep.include(exceeded)
    expect((await listed(org)).total).to.equal(3)
  })

  it('refuses a batch as a whole', async () => {
    const org = await newOrg()
    await ann.post(`/orgs/${org}/nodes/batch`, many(4)).then(expecting(403))
    expect((await listed(org)).total).to.equal(0)
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
    const { nodes } = await listed(org)
    expect(nodes).to.have.length(3)
    await ann.delete(`/orgs/${org}/nodes/${nodes[0]?.id}`).then(expecting(204))
    expect((await add(org)).status).to.equal(201)
  })
})
