/** Programs for models, which connect to /mcp by its URL alone. */

import { expect } from 'chai'
import { type Visit, visitOf } from '../pages/forms.ts'
import { connectProgram } from '../support/connector.ts'
import { connectMcp } from '../support/mcp-program.ts'
import { client } from '../support/people.ts'
import { ann, grove, useScene } from './scene.ts'

const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
const accept = { accept: 'application/json, text/event-stream' }

describe('programs at /mcp', () => {
  useScene()
  let user: Visit
  before(async () => {
    user = await visitOf(grove, ann)
  })

  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    it(`connect by the URL alone, with revision ${revision}`, async () => {
      const { client: model, visited } = await connectMcp(`${grove.url}/mcp`, user, { revision })
      expect(visited[0]?.searchParams.get('resource')).to.equal(`${grove.url}/mcp`)
      expect(visited[0]?.searchParams.get('scope')).to.equal('read propose')
      const { tools } = await model.listTools()
      expect(tools.map(({ name }) => name)).to.include('list_organisations')
      const { content } = await model.callTool({ name: 'list_organisations', arguments: {} })
      expect(JSON.stringify(content)).to.contain(ann.org)
    })

    it(`ask the user for more access when a tool needs it, with revision ${revision}`, async () => {
      const program = await connectMcp(`${grove.url}/mcp`, user, { revision })
      const before = program.visited.length
      const asked = { name: 'create_node', arguments: { org_id: ann.org, title: 'Whales', text: 'They sing.' } }
      await program.client.callTool(asked).then(
        () => expect.fail('the tool has run'),
        (error: unknown) => expect(error).to.be.instanceOf(Error),
      )
      expect(program.visited.length, 'the browser is opened again').to.equal(before + 1)
      expect(program.visited.at(-1)?.searchParams.get('scope')?.split(' ')).to.include('write')
      await program.consent(user, { access: 'write' })
      const { isError } = await program.client.callTool(asked)
      expect(isError ?? false).to.equal(false)
    })
  }

  it('get challenges that name the metadata and the scope', async () => {
    const metadata = `resource_metadata="${grove.url}/.well-known/oauth-protected-resource/mcp"`
    const challengeOf = async (token: string | undefined, sent: object) => {
      const { status, headers } = await client(grove, token).post('/mcp', sent, accept)
      return [status, headers['www-authenticate']]
    }
    const list = message('tools/list')
    expect(await challengeOf(undefined, list)).to.deep.equal([401, `Bearer ${metadata}, scope="read propose"`])
    expect(await challengeOf('grv_oauth_x', list)).to.deep.equal([
      401,
      `Bearer ${metadata}, error="invalid_token", scope="read propose"`,
    ])
    const reader = await connectProgram(grove, ann, { resource: 'mcp', access: 'read' })
    const call = message('tools/call', { name: 'create_node', arguments: {} })
    expect(await challengeOf(reader.token, call)).to.deep.equal([
      403,
      `Bearer ${metadata}, error="insufficient_scope", scope="write"`,
    ])
  })

  it('have tokens that are refused at the API and by Git, as those of the API are here', async () => {
    const tool = await connectProgram(grove, ann, { resource: 'mcp' })
    const api = await connectProgram(grove, ann, { resource: 'api' })
    expect((await tool.get('/auth/me')).status).to.equal(401)
    expect((await api.get('/auth/me')).status).to.equal(200)
    expect((await api.post('/mcp', message('tools/list'), accept)).status).to.equal(401)
    expect((await tool.post('/mcp', message('tools/list'), accept)).status).to.equal(200)
    const { id } = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales' })).body
    const refs = `/git/${ann.org}/${id}.git/info/refs?service=git-upload-pack`
    const basic = (token: string) => ({ authorization: `Basic ${Buffer.from(`git:${token}`).toString('base64')}` })
    expect((await client(grove).get(refs, basic(tool.token))).status).to.equal(401)
    expect((await client(grove).get(refs, basic(api.token))).status).to.equal(200)
    expect((await tool.get('/me/tokens', { accept: 'text/html' })).status).to.equal(401)
  })
})
