/** Programs whose id is the URL of their metadata document. */

import { expect } from 'chai'
import fc from 'fast-check'
import { guardedFetch } from '../../server/domain/net/guarded-fetch.ts'
import { type Host, newCertificate, tlsHost } from '../net/scene.ts'
import { type Visit, visitOf } from '../pages/forms.ts'
import { allow, callback, exchange, movesTo, type Program, register, renew } from '../support/connector.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'

/** A response of the host of documents. */
interface Served {
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

const url = (name: string) => `https://hooks.example/${name}.json`

const valid = (name: string, more: object = {}) => ({
  ...{ client_id: url(name), client_name: 'Claude', redirect_uris: [callback] },
  ...more,
})

describe('programs with a metadata document', () => {
  let certificate: { readonly key: string; readonly cert: string }
  let host: Host
  let grove: Grove
  let ann: PersonClient
  let user: Visit
  let address: string
  let isAway: boolean
  let at: number
  const served = new Map<string, Served>()
  const fetched: string[] = []

  const start = (options: Parameters<typeof startGrove>[0] = {}) =>
    startGrove({
      now: () => new Date(at),
      fetchDocument: (request, rules) =>
        guardedFetch(
          { ...request, url: request.url.replace('hooks.example', `hooks.example:${isAway ? 1025 : host.port}`) },
          { ...rules, resolve: async () => [{ address }], ca: certificate.cert },
        ),
      ...options,
    })

  before(async () => {
    certificate = await newCertificate()
    host = await tlsHost(certificate, (req, res) => {
      const path = req.url ?? ''
      fetched.push(path)
      const { status = 200, type = 'application/json', headers = {}, body = '' } = served.get(path) ?? { status: 404 }
      res.writeHead(status, { 'content-type': type, ...headers }).end(body)
    })
    at = Date.now()
    grove = await start()
    ann = await signUp(grove, 'Ann')
    user = await visitOf(grove, ann)
  })
  beforeEach(() => {
    address = '127.0.0.1'
    isAway = false
  })
  after(() => grove.close())

  const serve = (name: string, document: unknown, more: Served = {}) =>
    served.set(`/${name}.json`, { body: typeof document === 'string' ? document : JSON.stringify(document), ...more })

  async function program(name: string, on = grove): Promise<Program> {
    const registered = await register(on)
    return { ...registered, id: url(name), request: { ...registered.request, client_id: url(name) } }
  }

  const askFor = async (name: string, more: Readonly<Record<string, string>> = {}, as = user) =>
    as.open(`/oauth/authorize?${new URLSearchParams({ ...(await program(name)).request, ...more })}`)

  const times = (name: string) => fetched.filter((path) => path === `/${name}.json`).length

  it('connect without a registration; the page names the host that vouches for them', async () => {
    serve('claude', valid('claude'))
    const asked = await program('claude')
    const page = await askFor('claude')
    expect(page.status).to.equal(200)
    expect(page.body).to.include('<h1>hooks.example</h1>').and.to.include('“Claude”')
    const { status, body } = await exchange(asked, await allow(asked, user, { access: 'propose' }))
    expect([status, body.scope]).to.deep.equal([200, 'read propose'])
    const [connection] = (await ann.get('/auth/connections?limit=1')).body.connections
    expect(connection).to.include({ client_id: url('claude'), client_name: 'Claude' })
    served.delete('/claude.json')
    expect((await renew(asked, body.refresh_token)).status).to.equal(200)
  })

  it('are advertised', async () => {
    const { body } = await client(grove).get('/.well-known/oauth-authorization-server')
    expect(body.client_id_metadata_document_supported).to.equal(true)
  })

  it('are read for users who are signed in, and for nobody else', async () => {
    serve('private', valid('private'))
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
    'with another client_id': valid('other'),
    'without a name': { ...valid('wrong'), client_name: undefined },
    'with a name that is a number': valid('wrong', { client_name: 1 }),
    'without redirect URIs': valid('wrong', { redirect_uris: [] }),
    'with too many redirect URIs': valid('wrong', { redirect_uris: Array.from({ length: 11 }, () => callback) }),
    'with a script as redirect URI': valid('wrong', { redirect_uris: ['javascript:alert(1)'] }),
    'with http elsewhere': valid('wrong', { redirect_uris: ['http://hooks.example/cb'] }),
    'with a secret': valid('wrong', { client_secret: 'x' }),
    'with a method that needs a secret': valid('wrong', { token_endpoint_auth_method: 'client_secret_basic' }),
    'that allow only signed assertions': valid('wrong', { token_endpoint_auth_method: 'private_key_jwt' }),
    'that are too long': JSON.stringify(valid('wrong', { padding: 'x'.repeat(8_192) })),
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
    'a redirect': { status: 302, headers: { location: url('claude') } },
    'no document': { status: 404 },
    'a page': { type: 'text/html' },
    'bytes that are not UTF-8': { body: Buffer.from([0x7b, 0xff, 0x7d]) },
  }
  for (const [name, answer] of Object.entries(answers))
    it(`are refused if their host answers with ${name}`, async () => {
      at += 61_000
      serve('answer', valid('answer'), answer)
      expect((await askFor('answer')).status).to.equal(400)
    })

  it('prefer a signed assertion, as ChatGPT does, and come without one', async () => {
    const methods = {
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    }
    serve('chatgpt', valid('chatgpt', { client_name: 'ChatGPT', ...methods }))
    const asked = await program('chatgpt')
    expect((await exchange(asked, await allow(asked, user))).status).to.equal(200)
  })

  it('use any port on loopback, and other addresses only as their document has them', async () => {
    serve('ports', valid('ports', { redirect_uris: ['http://localhost/callback', 'https://hooks.example/cb'] }))
    for (const [redirect, status] of [
      ['http://localhost:51234/callback', 200],
      ['https://hooks.example/cb', 200],
      ['https://hooks.example/cb2', 400],
      ['https://evil.example/cb', 400],
    ] as const)
      expect((await askFor('ports', { redirect_uri: redirect })).status, redirect).to.equal(status)
  })

  it('are judged anew when their document changes between the page and the answer', async () => {
    serve('moved', valid('moved'))
    const asked = await program('moved')
    expect((await askFor('moved')).status).to.equal(200)
    at += 5 * 60_000 + 1
    serve('moved', valid('moved', { redirect_uris: ['https://hooks.example/other'] }))
    const answer = await user.send('/oauth/authorize', { ...asked.request, access: 'read', act: 'allow' })
    expect([answer.status, movesTo(answer)]).to.deep.equal([400, undefined])
  })

  it('are cached as their host says, within bounds, and serve a week while it is away', async () => {
    serve('cached', valid('cached'), { headers: { 'cache-control': 'max-age=3600' } })
    for (let count = 0; count < 3; count++) expect((await askFor('cached')).status).to.equal(200)
    expect(times('cached')).to.equal(1)
    at += 3_600_000 + 1
    expect((await askFor('cached')).status).to.equal(200)
    expect(times('cached')).to.equal(2)
    isAway = true
    at += 3_600_000 + 1
    expect((await askFor('cached')).status).to.equal(200)
    at += 7 * 24 * 3_600_000
    expect((await askFor('cached')).status).to.equal(400)
    isAway = false
    expect((await askFor('cached')).status, 'the error is remembered').to.equal(400)
    at += 61_000
    expect((await askFor('cached')).status).to.equal(200)
  })

  it('cannot lead inside', async () => {
    const closed = await start({ fetchAllow: [] })
    try {
      const visitor = await visitOf(closed, await signUp(closed, 'Ann'))
      serve('inside', valid('inside'))
      for (const one of [
        '127.0.0.1',
        '169.254.169.254',
        '10.0.0.1',
        '::1',
        '::ffff:127.0.0.1',
        '::ffff:169.254.169.254',
      ]) {
        at += 61_000
        address = one
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

  it('of other hosts are refused where the operator names the hosts', async () => {
    const strict = await start({ oauthClients: ['claude.ai'] })
    try {
      const visitor = await visitOf(strict, await signUp(strict, 'Ann'))
      serve('strict', valid('strict'))
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
    const member = fc.oneof(fc.jsonValue(), fc.constantFrom(url('any'), 'none', [callback], ['authorization_code']))
    const names = ['client_id', 'client_name', 'redirect_uris', 'grant_types', 'token_endpoint_auth_method']
    const document = fc.record(Object.fromEntries(names.map((name) => [name, member])), { requiredKeys: [] })
    const sent = fc.oneof(
      document,
      document.map((more) => ({ ...valid('any'), ...more })),
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
