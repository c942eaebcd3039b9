/** Nodes that are created while their organisation is deleted. */
import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

describe('nodes that are created while their organisation is deleted', () => {
  let grove: Grove
  let ann: PersonClient

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
  })
  after(() => grove.close())

  it('are there before it, or refused because it is gone', async () => {
    const said = new Set<string>()
    for (let round = 0; round < 8; round++) {
      const { id } = (await ann.post('/orgs', { name: `Brief ${round}` }).then(expecting(201))).body
      const root = (await ann.post(`/orgs/${id}/nodes`, { title: 'Root' }).then(expecting(201))).body
      const create = (body: object) => ann.post(`/orgs/${id}/nodes`, body)
      const creating = Array.from({ length: 12 }, (_, n) =>
        create({ title: `Node ${n}`, ...(n % 2 === 1 && { parents: [root.id] }) }),
      )
      // The first creations end. Others are on their way, or arrive later.
      await Promise.all(creating.slice(0, round))
      const deleting = ann.delete(`/orgs/${id}`).then(expecting(204))
      creating.push(...Array.from({ length: 12 }, () => create({ title: 'Late' })))
      for (const { status, body } of await Promise.all(creating))
        said.add(status === 201 ? 'created' : `${status} ${body.code}`)
      await deleting
    }
    expect([...said].sort()).to.deep.equal(['404 org_not_found', 'created'])
  })
})
