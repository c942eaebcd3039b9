/** Programs whose id is the URL of their metadata document. */

import { expect } from 'chai'
import fc from 'fast-check'
import { type Visit, visitOf } from '../pages/forms.ts'
import { allow, callback, exchange, movesTo, renew } from '../support/connector.ts'
import {
  type DocumentHost,
  documentUrl,
  programOf,
  type Served,
  startDocumentHost,
  validDocument,
} from '../support/documents.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { connectMcp } from '../support/mcp-program.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'

describe('programs with a metadata document', () => {
  let host: DocumentHost
  let grove: Grove
  let ann: PersonClient
  let user: Visit
  let at: number

  const start = (options: Parameters<typeof startGrove>[0] = {}) =>
    startGrove({ now: () => new Date(at), fetchDocument: host.fetchDocument, ...options })

  before(async () => {
    host = await startDocumentHost()
    at = Date.now()
    grove = await start()
    ann = await signUp(grove, 'Ann')
    user = await visitOf(grove, ann)
  })
  beforeEach(() => {
    host.address = '127.0.0.1'
    host.isAway = false
  })
  after(() => grove.close())

  const serve = (name: string, document: unknown, more: Served = {}) => host.serve(name, document, more)
  const times = (name: string) => host.times(name)
  const program = (name: string, on = grove) => programOf(name, on)

  const askFor = async (name: string, more: Readonly<Record<string, string>> = {}, as = user) =>
    as.open(`/oauth/authorize?${new URLSearchParams({ ...(await program(name)).request, ...more })}`)

  it('connect without a registration; the page names the host that vouches for them', async () => {
    serve('claude', validDocument('claude'))
    const asked = await program('claude')
    const page = await askFor('claude')
    expect(page.status).to.equal(200)
    expect(page.body).to.include('<h1>hooks.example</h1>').and.to.include('“Claude”')
    const { status, body } = await exchange(asked, await allow(asked, user, { access: 'propose' }))
    expect([status, body.scope]).to.deep.equal([200, 'read propose'])
    const [connection] = (await ann.get('/auth/connections?limit=1')).body.connections
    expect(connection).to.include({ client_id: documentUrl('claude'), client_name: 'Claude' })
    serve('claude', '', { status: 404 })
    expect((await renew(asked, body.refresh_token)).status).to.equal(200)
  })

  for (const revision of ['2025-11-25', '2026-07-28'] as const)
    it(`connect by the official client of MCP, with revision ${revision}`, async () => {
      serve('official', validDocument('official'))
      const document = documentUrl('official')
      const { client: model, visited } = await connectMcp(`${grove.url}/mcp`, user, { revision, document })
      expect(visited.map(({ searchParams }) => searchParams.get('client_id'))).to.deep.equal([document])
      const { tools } = await model.listTools()
      expect(tools.map(({ name }) => name)).to.include('list_organisations')
      const [connection] = (await ann.get('/auth/connections?limit=1')).body.connections
      expect(connection).to.include({ client_id: document, resource: 'mcp' })
    })

  it('are advertised', async () => {
    const { body } = await client(grove).get('/.well-known/oauth-authorization-server')
    expect(body.client_id_metadata_document_supported).to.equal(true)
  })

  it('are read for users who are signed in, and for nobody else', async () => {
    serve('private', validDocument('private'))
    const { request } = await program('private')
    const anonymous = await client(grove).get(`/oauth/authorize?${new URLSearchParams(request)}`, {
      accept: 'text/html',
    })
    expect(anonymous.status).to.equal(303)
    const { status, body } = await renew(await program('private'), 'grv_renew_x')
    expect([status, body.error]).to.deep.equal([401, 'invalid_client'])
    expect(times('private')).to.equal(0)
  })

  const wrong: Readonly<Record<string, unknown>> = {
    'that are not JSON': '{',
    'that are a list': [],
    'with another client_id': validDocument('other'),
    'without a name': { ...validDocument('wrong'), client_name: undefined },
    'with a name that is a number': validDocument('wrong', { client_name: 1 }),
    'without redirect URIs': validDocument('wrong', { redirect_uris: [] }),
    'with too many redirect URIs': validDocument('wrong', {
      redirect_uris: Array.from({ length: 11 }, () => callback),
    }),
    'with a script as redirect URI': validDocument('wrong', { redirect_uris: ['javascript:alert(1)'] }),
    'with http elsewhere': validDocument('wrong', { redirect_uris: ['http://hooks.example/cb'] }),
    'with a secret': validDocument('wrong', { client_secret: 'x' }),
    'with a method that needs a secret': validDocument('wrong', { token_endpoint_auth_method: 'client_secret_basic' }),
    'that allow only signed assertions, and have no key': validDocument('wrong', {
      token_endpoint_auth_method: 'private_key_jwt',
    }),
    'that are too long': JSON.stringify(validDocument('wrong', { padding: 'x'.repeat(8_192) })),
  }
  for (const [name, document] of Object.entries(wrong))
    it(`${name} are refused, with no way back`, async () => {
      at += 61_000
      serve('wrong', document)
      const { status, body } = await askFor('wrong')
      expect(status).to.equal(400)
      expect(body).to.include('cannot be connected').and.to.not.include(callback)
    })

  const answers: Readonly<Record<string, Served>> = {
    'a redirect': { status: 302, headers: { location: documentUrl('claude') } },
    'no document': { status: 404 },
    'a page': { type: 'text/html' },
    'bytes that are not UTF-8': { body: Buffer.from([0x7b, 0xff, 0x7d]) },
  }
  for (const [name, answer] of Object.entries(answers))
    it(`are refused if their host answers with ${name}`, async () => {
      at += 61_000
      serve('answer', validDocument('answer'), answer)
      expect((await askFor('answer')).status).to.equal(400)
    })

  it('prefer a signed assertion, as ChatGPT does, and come without one', async () => {
    const methods = {
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    }
    serve('chatgpt', validDocument('chatgpt', { client_name: 'ChatGPT', ...methods }))
    const asked = await program('chatgpt')
    expect((await exchange(asked, await allow(asked, user))).status).to.equal(200)
  })

  const common = {
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  /** Documents of the shape of well-known programs, and the redirect URI that they send. */
  const shapes: Readonly<Record<string, readonly [document: object, sent: string]>> = {
    'a hosted assistant': [
      {
        ...common,
        client_uri: 'https://hooks.example',
        redirect_uris: ['https://hooks.example/api/mcp/auth_callback'],
      },
      'https://hooks.example/api/mcp/auth_callback',
    ],
    'a command line, on loopback without a port': [
      { ...common, redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'] },
      'http://127.0.0.1:54545/callback',
    ],
    'an editor, with a fixed port, a page and a logo': [
      {
        ...common,
        ...{ client_uri: 'https://hooks.example/product', logo_uri: 'https://hooks.example/logo.png' },
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1:33418/', 'http://127.0.0.1/', 'https://hooks.example/redirect'],
      },
      'http://127.0.0.1:33418/',
    ],
    'an editor, also with a private scheme': [
      { ...common, redirect_uris: ['other-editor://callback', 'http://127.0.0.1/callback'] },
      'http://127.0.0.1:9999/callback',
    ],
    'a hosted assistant with keys, and extra members': [
      {
        ...{ ...common, token_endpoint_auth_method: 'private_key_jwt' },
        token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
        ...{ token_endpoint_auth_signing_alg: 'RS256', jwks_uri: 'https://hooks.example/jwks.json' },
        ...{ scope: '', contacts: ['a@hooks.example'], software_id: 'x' },
        redirect_uris: [
          'https://hooks.example/connector/oauth/x',
          'https://hooks.example/connector_platform_oauth_redirect',
        ],
      },
      'https://hooks.example/connector/oauth/x',
    ],
  }
  for (const [name, [document, sent]] of Object.entries(shapes))
    it(`have the shape of ${name}`, async () => {
      at += 24 * 3_600_000 + 61_000
      serve('shape', validDocument('shape', document))
      expect((await askFor('shape', { redirect_uri: sent })).status).to.equal(200)
      expect((await askFor('shape', { redirect_uri: 'https://evil.example/cb' })).status).to.equal(400)
    })

  it('use any port on loopback, and other addresses only as their document has them', async () => {
    serve('ports', validDocument('ports', { redirect_uris: ['http://localhost/callback', 'https://hooks.example/cb'] }))
    for (const [redirect, status] of [
      ['http://localhost:51234/callback', 200],
      ['https://hooks.example/cb', 200],
      ['https://hooks.example/cb2', 400],
      ['https://evil.example/cb', 400],
    ] as const)
      expect((await askFor('ports', { redirect_uri: redirect })).status, redirect).to.equal(status)
  })

  it('are judged anew when their document changes between the page and the answer', async () => {
    serve('moved', validDocument('moved'))
    const asked = await program('moved')
    expect((await askFor('moved')).status).to.equal(200)
    at += 5 * 60_000 + 1
    serve('moved', validDocument('moved', { redirect_uris: ['https://hooks.example/other'] }))
    const answer = await user.send('/oauth/authorize', { ...asked.request, access: 'read', act: 'allow' })
    expect([answer.status, movesTo(answer)]).to.deep.equal([400, undefined])
  })

  it('are cached as their host says, within bounds, and serve a week while it is away', async () => {
    serve('cached', validDocument('cached'), { headers: { 'cache-control': 'max-age=3600' } })
    for (let count = 0; count < 3; count++) expect((await askFor('cached')).status).to.equal(200)
    expect(times('cached')).to.equal(1)
    at += 3_600_000 + 1
    expect((await askFor('cached')).status).to.equal(200)
    expect(times('cached')).to.equal(2)
    host.isAway = true
    at += 3_600_000 + 1
    expect((await askFor('cached')).status).to.equal(200)
    at += 7 * 24 * 3_600_000
    expect((await askFor('cached')).status).to.equal(400)
    host.isAway = false
    expect((await askFor('cached')).status, 'the error is remembered').to.equal(400)
    at += 61_000
    expect((await askFor('cached')).status).to.equal(200)
  })

  it('cannot lead inside', async () => {
    const closed = await start({ fetchAllow: [] })
    try {
      const visitor = await visitOf(closed, await signUp(closed, 'Ann'))
      serve('inside', validDocument('inside'))
      for (const one of [
        '127.0.0.1',
        '169.254.169.254',
        '10.0.0.1',
        '::1',
        '::ffff:127.0.0.1',
        '::ffff:169.254.169.254',
      ]) {
        at += 61_000
        host.address = one
        const { request } = await program('inside', closed)
        const { status, body } = await visitor.open(`/oauth/authorize?${new URLSearchParams(request)}`)
        expect(status, one).to.equal(400)
        expect(body).to.not.include(one)
      }
      expect(times('inside')).to.equal(0)
      for (const id of [
        ...['https://127.0.0.1/client.json', 'https://hooks.example:444/client.json', 'https://hooks.example/'],
        ...['https://u@hooks.example/c.json', 'https://hooks.example/a/../c.json', 'https://hooks.example/c.json#x'],
        ...[`https://hooks.example/${'x'.repeat(512)}`, 'HTTPS://hooks.example/c.json', 'http://hooks.example/c.json'],
      ]) {
        const { request } = await program('inside', closed)
        const asked = { ...request, client_id: id }
        expect((await visitor.open(`/oauth/authorize?${new URLSearchParams(asked)}`)).status, id).to.equal(400)
      }
    } finally {
      await closed.close()
    }
  })

  it('of other hosts are refused if the operator names the hosts', async () => {
    const strict = await start({ oauthClients: ['claude.ai'] })
    try {
      const visitor = await visitOf(strict, await signUp(strict, 'Ann'))
      serve('strict', validDocument('strict'))
      const { request } = await program('strict')
      const { status, body } = await visitor.open(`/oauth/authorize?${new URLSearchParams(request)}`)
      expect(status).to.equal(400)
      expect(body).to.include('does not allow programs of hooks.example')
      expect(times('strict')).to.equal(0)
    } finally {
      await strict.close()
    }
  })

  it('are a page for any document, never a fault', async () => {
    const member = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(documentUrl('any'), 'none', [callback], ['authorization_code']),
    )
    const names = ['client_id', 'client_name', 'redirect_uris', 'grant_types', 'token_endpoint_auth_method']
    const document = fc.record(Object.fromEntries(names.map((name) => [name, member])), { requiredKeys: [] })
    const sent = fc.oneof(
      document,
      document.map((more) => ({ ...validDocument('any'), ...more })),
      fc.jsonValue(),
    )
    await fc.assert(
      fc.asyncProperty(sent, async (value) => {
        at += 24 * 3_600_000 + 61_000
        serve('any', value)
        const { status, body } = await askFor('any')
        expect([200, 400]).to.include(status)
        expect(body).to.include('<h1>')
      }),
      { numRuns: 40 },
    )
  })
})
