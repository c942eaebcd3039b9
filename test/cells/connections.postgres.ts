/** Connections in cells: each cell has them, and a tool asks another cell with its token for /mcp. */

import { expect } from 'chai'
import { connectProgram } from '../support/connector.ts'
import { client, signUp } from '../support/people.ts'
import { here, setUrls, there, useCells } from './scene.ts'

describe('connections in cells', () => {
  useCells()
  before(setUrls)

  it('are known to each cell, and end in all', async () => {
    const ann = await signUp(here, 'Ann')
    const one = await connectProgram(here, ann)
    expect((await client(there, one.token).get('/auth/me')).status).to.equal(200)
    expect((await ann.delete(`/auth/connections/${one.id}`)).status).to.equal(204)
    for (const cell of [here, there]) expect((await client(cell, one.token).get('/auth/me')).status).to.equal(401)
  })

  it('let a tool reach an organisation of another cell, and its token no operation of REST there', async () => {
    const bob = await signUp(here, 'Bob')
    const tool = await connectProgram(here, bob, { resource: 'mcp' })
    const params = { name: 'list_nodes', arguments: { org_id: bob.org } }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    for (const cell of [here, there]) {
      const asked = client(cell, tool.token)
      const { status, body } = await asked.post('/mcp', message, { accept: 'application/json, text/event-stream' })
      expect(status).to.equal(200)
      expect(JSON.stringify(body)).not.to.contain('isError')
      expect((await asked.get(`/orgs/${bob.org}/nodes`)).status).to.equal(401)
      const claimed = { 'grove-forwarded': 'door=mcp' }
      expect((await asked.get(`/orgs/${bob.org}/nodes`, claimed)).status).to.equal(403)
    }
  })
})
