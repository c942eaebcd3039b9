/** From the first sign-in through a provider to the end of a connection, in a browser without script. */

import { UnauthorizedError } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { settings } from '../oidc/liar.ts'
import { passInBrowser } from '../oidc/provider-pages.ts'
import { type RealProvider, startRealProvider } from '../oidc/real-provider.ts'
import { ann, grove, newVisitor, reached, useScene, type Visitor } from '../pages/scene.ts'
import { made } from '../support/cast.ts'
import { callback } from '../support/connector.ts'
import { connectMcp } from '../support/mcp-program.ts'
import { pageAt } from '../support/pages.ts'
import { client } from '../support/people.ts'

describe('a user of a provider, and an agent', () => {
  let provider: RealProvider
  let visitor: Visitor
  let org: string
  let node: string

  useScene(async () => {
    provider = await startRealProvider(() => [`${grove.url}/sign-in/oidc/acme/callback`])
    return { oidc: [settings({ issuer: provider.issuer })] }
  })
  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    node = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content: 'They sing.' }))).id
    visitor = await newVisitor({ javaScriptEnabled: false })
    await visitor.page.route(`${callback}**`, (route) => route.fulfill({ body: 'The program is connected.' }))
  })
  after(async () => {
    await visitor.context.close()
    await provider.stop()
  })

  /** Signs in through the provider on the way to the consent page, and allows one organisation. */
  async function consentTo(asked: URL): Promise<URLSearchParams> {
    const { page } = visitor
    await page.goto(asked.href)
    await page.getByRole('link', { name: 'Sign in with Acme' }).click()
    await passInBrowser(page, 'cleo')
    await reached(page, 'A program on this computer')
    expect(await page.getByLabel('It may').inputValue(), 'the access that is asked for').to.equal('propose')
    // The account is new. Its user joins the organisation while the page is open.
    await made(ann.put(`/orgs/${org}/members/cleo@acme.example`, { role: 'editor' }))
    await page.reload()
    await page.getByLabel('In', { exact: true }).selectOption({ label: 'Atlas' })
    const led = page.waitForRequest((request) => request.url().startsWith(callback))
    await page.getByRole('button', { name: 'Allow' }).click()
    return new URL((await led).url()).searchParams
  }

  it('sign in, consent, propose, read and end the connection', async () => {
    const { page, open } = visitor
    const agent = await connectMcp(`${grove.url}/mcp`, consentTo)
    const ask = async (name: string, input: object) => {
      const { content } = await agent.client.callTool({ name, arguments: { ...input } })
      return JSON.stringify(content)
    }
    const orgs = await ask('list_organisations', {})
    expect(orgs).to.include(org).and.to.include('Atlas')
    expect(orgs, 'the personal organisation is out of reach').not.to.include('cleo')
    const changes = [{ path: 'content.md', content: 'They sing, and click.' }]
    const title = 'Say how they click'
    const proposed = await ask('propose_change', { org_id: org, node_id: node, title, description: '', changes })
    expect(proposed).to.include('/proposals/1')

    await open(`${pageAt(org, node)}/proposals/1`)
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    expect(await page.locator('main').textContent()).to.match(/cleo\s+via Robin proposes to change/)
    await page.getByRole('button', { name: 'Merge', exact: true }).waitFor()

    await open('/me/connections')
    const row = page.getByRole('listitem').filter({ hasText: 'Robin' })
    expect(await row.textContent()).to.include('can propose in Atlas through /mcp')
    const before = agent.token()
    await row.getByRole('button', { name: 'End the connection of Robin' }).click()
    await page.getByText('The connection has ended.').waitFor()
    await page.getByText('You have not connected a program yet.').waitFor()

    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
    const accept = { accept: 'application/json, text/event-stream' }
    const { status, headers } = await client(grove, before).post('/mcp', list, accept)
    expect([status, headers['www-authenticate']]).to.deep.equal([
      401,
      `Bearer resource_metadata="${grove.url}/.well-known/oauth-protected-resource/mcp", error="invalid_token", scope="read propose"`,
    ])
    const refused = await agent.client.listTools().catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(UnauthorizedError)
    expect(agent.visited, 'the program asks for consent again').to.have.length(2)
  })
})
