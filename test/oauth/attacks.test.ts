/** Requests that deceive: each attack on the flow, and every kind of malformed parameter. */

import { expect } from 'chai'
import fc from 'fast-check'
import { defaultRedirects, mayRegister } from '../../server/base/redirects.ts'
import { sendForm, type Visit, visitOf } from '../pages/forms.ts'
import {
  allow,
  askToken,
  connectProgram,
  exchange,
  movesTo,
  type Program,
  register,
  renew,
} from '../support/connector.ts'
import { client, password } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { ann, bob, grove, useScene } from './scene.ts'

describe('attacks on connections', () => {
  useScene()
  let user: Visit
  let program: Program
  before(async () => {
    user = await visitOf(grove, ann)
    program = await register(grove)
  })

  it('by a stolen code: another verifier, client, address or resource gets no token, and the code stays', async () => {
    const code = await allow(program, user)
    const other = await register(grove, { name: 'Eve' })
    for (const [what, asked] of Object.entries({
      verifier: exchange(program, code, { code_verifier: 'x'.repeat(43) }),
      client: exchange({ ...program, id: other.id }, code),
      address: exchange(program, code, { redirect_uri: 'http://127.0.0.1:7778/callback' }),
    }))
      expect((await asked).body.error, what).to.equal('invalid_grant')
    expect((await exchange(program, code, { resource: grove.url })).body.error).to.equal('invalid_target')
    expect((await exchange(program, code)).status).to.equal(200)
  })

  it('by a plain challenge, or none', async () => {
    for (const change of [{ code_challenge_method: 'plain' }, { code_challenge: '' }, { code_challenge_method: '' }]) {
      const query = new URLSearchParams({ ...program.request, ...change })
      const { status, body } = await user.open(`/oauth/authorize?${query}`)
      expect(status).to.equal(400)
      expect(body).to.match(
        /http-equiv="refresh" content="0; url=http:\/\/127\.0\.0\.1:7777\/callback\?error=invalid_request&/,
      )
    }
    const hosted = { redirect_uris: ['https://claude.ai/api/mcp/auth_callback'] }
    const { client_id } = (await client(grove).post('/oauth/register', hosted)).body
    const [redirect_uri = ''] = hosted.redirect_uris
    const query = new URLSearchParams({ ...program.request, client_id, redirect_uri, code_challenge: '' })
    const { body } = await user.open(`/oauth/authorize?${query}`)
    expect(body).to.contain('error=invalid_request').and.not.to.contain('http-equiv="refresh"')
  })

  it('by an address that the program has not registered: the page has no link', async () => {
    for (const redirect_uri of ['https://evil.example/', 'http://127.0.0.1:7777/other', 'javascript:alert(1)']) {
      const { status, body } = await user.open(
        `/oauth/authorize?${new URLSearchParams({ ...program.request, redirect_uri })}`,
      )
      expect(status).to.equal(400)
      expect(body).not.to.contain('evil').and.not.to.contain('Return to the program')
    }
  })

  it('by registering an address of others', async () => {
    for (const uri of [
      ...[
        'https://evil.example/cb',
        'http://evil.example/cb',
        'https://claude.ai.evil.example/cb',
        'https://claude.ai:8443/',
      ],
      ...['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'evil:cb', 'https://ann@claude.ai/cb'],
      ...[
        'http://127.0.0.1/cb#x',
        'http://127.0.0.1@evil.example/',
        'http://localhost.evil.example/',
        '//claude.ai/',
        '',
      ],
      ...['http://127.0.0.1\\@evil.example/', 'https://claude.ai/cb\n', 'cursor'],
      // Any page of a host that leads elsewhere would do.
      ...['https://claude.ai/redirect?url=https://evil.example', 'https://claude.ai/api/mcp/auth_callback?x=1'],
      ...['https://chatgpt.com/x', 'https://chatgpt.com/connector/oauth/', 'https://chatgpt.com/connector/oauth/a/b'],
      ...['https://chatgpt.com/connector/oauth/..', 'https://vscode.dev/redirects', 'cursor:alert(1)'],
    ]) {
      const { status, body } = await client(grove).post('/oauth/register', { redirect_uris: [uri] })
      expect({ status, error: body.error }, uri).to.deep.equal({ status: 400, error: 'invalid_redirect_uri' })
    }
    const chatgpt = 'https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'
    const known = defaultRedirects.map((uri) => (chatgpt.startsWith(uri) ? chatgpt : uri))
    for (const uri of [...known, 'http://[::1]:1/cb'])
      expect((await client(grove).post('/oauth/register', { redirect_uris: [uri] })).status, uri).to.equal(201)
    // The operator can trust whole hosts and schemes.
    for (const uri of ['https://tools.example/cb?x=1', 'editor://any'])
      expect(mayRegister(uri, ['tools.example', 'editor:']), uri).to.equal(true)
  })

  it('by an id that no registration returned', async () => {
    const forged = (metadata: unknown) => `dcr.${Buffer.from(JSON.stringify(metadata)).toString('base64url')}`
    for (const client_id of [
      forged({ n: 'Claude', r: ['https://evil.example/cb'] }),
      forged({ r: ['http://127.0.0.1/callback'], n: 'Claude' }),
      ...[forged(null), forged([]), 'dcr.', 'dcr.e30', 'robin', 'https://claude.ai/client.json'],
    ]) {
      const { status } = await user.open(`/oauth/authorize?${new URLSearchParams({ ...program.request, client_id })}`)
      expect(status, client_id).to.equal(400)
      const asked = await renew({ ...program, id: client_id }, 'grv_renew_x')
      expect({ status: asked.status, error: asked.body.error }).to.deep.equal({ status: 401, error: 'invalid_client' })
    }
  })

  it('by a form of another site, a token or a connection: nothing is allowed', async () => {
    const signedIn = await sendForm(grove, '/sign-in', { email: ann.user.email, password })
    const cookie = signedIn.headers['set-cookie']?.split(';')[0] ?? ''
    const fields = { ...program.request, access: 'read', act: 'allow' }
    const forged = await sendForm(grove, '/oauth/authorize', fields, { cookie, 'sec-fetch-site': 'cross-site' })
    expect(forged.status).to.equal(403)
    const connection = await connectProgram(grove, ann, { access: 'write' })
    const { token } = (await ann.post('/auth/tokens', { name: 'Script', access: 'write' })).body
    for (const secret of [token, connection.token]) {
      const { status, body } = await sendForm(grove, '/oauth/authorize', fields, { authorization: `Bearer ${secret}` })
      expect(status).to.equal(403)
      expect(body).not.to.contain('code=')
    }
    for (const [method, path] of [
      ['post', '/auth/tokens'],
      ['get', '/auth/connections'],
      ['get', '/auth/sessions'],
    ] as const)
      expect((await connection[method](path, { name: 'x', access: 'read' })).body.code, path).to.equal('token_scope')
  })

  it('by more than was asked for: the user can give less, never more', async () => {
    const asked = { ...program.request, scope: 'read', act: 'allow' }
    expect((await user.send('/oauth/authorize', { ...asked, access: 'write' })).status).to.equal(422)
    const code = await allow(program, user, { access: 'read' }, { scope: 'write' })
    const { body } = await exchange(program, code)
    expect(body.scope).to.equal('read')
    expect((await renew(program, body.refresh_token, { scope: 'write' })).body.error).to.equal('invalid_scope')
    const { status } = await user.send('/oauth/authorize', {
      ...program.request,
      access: 'read',
      org_id: bob.org,
      act: 'allow',
    })
    expect(status, 'an organisation of another user').to.equal(404)
  })

  it('by a name that ends lines or turns text round', async () => {
    const { body } = await client(grove).post('/oauth/register', {
      client_name: 'Cl\u202eaude\n<b>\u200b'.padEnd(200, 'x'),
      redirect_uris: ['http://127.0.0.1/cb'],
    })
    expect(body.client_name)
      .to.match(/^Claude<b>x+$/)
      .and.to.have.lengthOf(64)
    const page = await user.open(
      `/oauth/authorize?${new URLSearchParams({ ...program.request, client_id: body.client_id, redirect_uri: 'http://127.0.0.1:9/cb' })}`,
    )
    expect(page.status).to.equal(200)
    expect(page.body).to.contain('“Claude&lt;b>x').and.not.to.contain('<b>')
  })

  it.deep('by malformed parameters: a page, 400, or an error for the program, never 500', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 80 }),
      fc.constantFrom(
        '',
        'code',
        'S256',
        'https://evil.example',
        '//evil.example',
        'javascript:x',
        '\u0000',
        'read write',
      ),
    )
    const names = [
      'client_id',
      'redirect_uri',
      'response_type',
      'code_challenge',
      'code_challenge_method',
      'scope',
      'state',
      'resource',
      'access',
      'org_id',
      'node_id',
      'act',
    ]
    const change = fc.record({ name: fc.constantFrom(...names), value: text, isRepeated: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const fields: Record<string, string | string[]> = { ...program.request, access: 'read' }
        for (const { name, value, isRepeated } of changes)
          fields[name] = isRepeated ? [String(fields[name] ?? ''), value] : value
        const query = new URLSearchParams(
          Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
        )
        const shown = await user.open(`/oauth/authorize?${query}`)
        expect(shown.status).to.be.oneOf([200, 400])
        // The program is on the user's computer, so it hears of an error at once, and never gets a code.
        const back = movesTo(shown)
        if (back !== undefined) {
          expect(back.host).to.equal('127.0.0.1:7777')
          expect(back.searchParams.has('error')).to.equal(true)
          expect(back.searchParams.has('code')).to.equal(false)
        }
        const taken = await user.send('/oauth/authorize', fields)
        expect(taken.status).to.be.oneOf([200, 400, 404, 422])
        const to = movesTo(taken)
        if (to !== undefined) expect(to.host).to.equal('127.0.0.1:7777')
      }),
      { numRuns: runs(40) },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(
          fc.constantFrom('grant_type', 'code', 'refresh_token', 'code_verifier', 'redirect_uri', 'resource', 'scope'),
          text,
        ),
        async (fields) => {
          const { status, body } = await askToken(program, fields)
          expect(status).to.equal(400)
          expect(body.error).to.be.a('string')
        },
      ),
      { numRuns: runs(40) },
    )
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (metadata) => {
        expect((await client(grove).post('/oauth/register', JSON.stringify(metadata))).status).to.be.oneOf([400, 201])
      }),
      { numRuns: runs(40) },
    )
  })

  it('by forms that are repeated, too large, or of another type', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const [body, headers] of [
      ['grant_type=refresh_token&grant_type=refresh_token', form],
      [`grant_type=refresh_token&x=${'x'.repeat(20_000)}`, form],
      ['{}', { 'content-type': 'application/json' }],
    ] as const) {
      const answer = await client(grove).post('/oauth/token', body, headers)
      expect({ status: answer.status, error: answer.body.error }).to.deep.equal({
        status: 400,
        error: 'invalid_request',
      })
    }
  })
})
