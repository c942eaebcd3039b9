/** The documents by which programs find the authorization server, and a second client library that follows them. */

import { buildOAuthProtectedResourceMetadata } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import * as openid from 'openid-client'
import { visitOf } from '../pages/forms.ts'
import { callback, connectProgram, movesTo, register } from '../support/connector.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { connectMcp } from '../support/mcp-program.ts'
import { client, signUp } from '../support/people.ts'
import { ann, grove, useScene } from './scene.ts'

const wellKnown = '/.well-known/oauth-authorization-server'

describe('the discovery of connections', () => {
  useScene()

  /** Runs `work` with a service that has this configuration. */
  async function withService(options: Parameters<typeof startGrove>[0], work: (other: Grove) => Promise<void>) {
    const other = await startGrove(options)
    await work(other).finally(() => other.close())
  }

  it('has the metadata that the official library builds', async () => {
    const { body: server } = await client(grove).get(wellKnown)
    for (const [path, resource] of [
      ['/.well-known/oauth-protected-resource/mcp', `${grove.url}/mcp`],
      ['/.well-known/oauth-protected-resource', grove.url],
    ] as const) {
      const built = buildOAuthProtectedResourceMetadata({
        oauthMetadata: server,
        resourceServerUrl: new URL(resource),
        scopesSupported: ['read', 'propose'],
        resourceName: 'Grove',
        serviceDocumentationUrl: new URL(`${grove.url}/docs`),
        dangerouslyAllowInsecureIssuerUrl: true,
      })
      const { body, headers } = await client(grove).get(path)
      // The library always ends a URL without a path with a slash.
      expect({ ...body, resource: new URL(body.resource).href }).to.deep.equal({
        ...built,
        bearer_methods_supported: ['header'],
      })
      expect(headers).to.include({ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' })
    }
  })

  it('leads openid-client to tokens, their renewal and their end', async () => {
    const config = await openid.dynamicClientRegistration(
      new URL(grove.url),
      { client_name: 'Second', redirect_uris: [callback], token_endpoint_auth_method: 'none' },
      openid.None(),
      { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
    )
    const verifier = openid.randomPKCECodeVerifier()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: 'read write',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: 'x',
      resource: grove.url,
    })
    const user = await visitOf(grove, ann)
    const fields = { ...Object.fromEntries(url.searchParams), access: 'write', act: 'allow' }
    const to = movesTo(await user.send('/oauth/authorize', fields))
    if (to === undefined) return expect.fail('the page does not move on')
    const checks = { pkceCodeVerifier: verifier, expectedState: 'x' }
    const tokens = await openid.authorizationCodeGrant(config, to, checks)
    expect(tokens.scope).to.equal('read propose write')
    expect((await client(grove, tokens.access_token).get('/auth/me')).status).to.equal(200)
    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
    await openid.tokenRevocation(config, renewed.refresh_token ?? '')
    expect((await client(grove, renewed.access_token).get('/auth/me')).status).to.equal(401)
  })

  it('works below a path, without a rule for the proxy', async () => {
    const publicUrl = 'http://localhost:65000/grove'
    await withService({ publicUrl }, async (other) => {
      const bea = await signUp(other, 'Bea')
      const user = await visitOf(other, bea)
      // The proxy: what is not below the path is not the service's.
      const fetch: typeof globalThis.fetch = async (input, init) => {
        const asked = input instanceof Request ? input.url : String(input)
        if (!asked.startsWith(publicUrl)) return new Response('', { status: 404 })
        return globalThis.fetch(other.url + asked.slice(publicUrl.length), init)
      }
      const { client: model, visited } = await connectMcp(`${publicUrl}/mcp`, user, { fetch })
      expect(visited[0]?.href).to.match(/^http:\/\/localhost:65000\/grove\/oauth\/authorize\?/)
      expect((await model.listTools()).tools).not.to.deep.equal([])
    })
  })

  it('keeps what it promises about id tokens, and adds the endpoints', async () => {
    await withService({ publicUrl: 'https://grove.example' }, async (other) => {
      const { body } = await client(other).get('/.well-known/openid-configuration')
      const { body: server } = await client(other).get(wellKnown)
      expect(body).to.deep.include(server)
      expect(body).to.include({ issuer: 'https://grove.example' })
      expect(body.id_token_signing_alg_values_supported).to.deep.equal(['ES256'])
      expect(server.token_endpoint_auth_methods_supported).to.deep.equal(['none', 'private_key_jwt'])
    })
  })

  for (const [why, options] of [
    ['where tokens would cross a network without TLS', { publicUrl: 'http://grove.example' }],
    ['if the operator turns connections off', { publicUrl: 'https://grove.example', oauth: false }],
    ['if the operator turns them off on this machine', { oauth: false }],
  ] as const)
    it(`is absent ${why}`, async () => {
      const program = await register(grove)
      await withService(options, async (other) => {
        const resource = '/.well-known/oauth-protected-resource'
        for (const path of [wellKnown, resource, `${resource}/mcp`])
          expect((await client(other).get(path)).status, path).to.equal(404)
        const openIdDocument = (await client(other).get('/.well-known/openid-configuration')).body
        expect(openIdDocument, 'of the tokens of logins').not.to.have.any.keys(
          'token_endpoint',
          'registration_endpoint',
        )
        const type = { 'content-type': 'application/x-www-form-urlencoded' }
        for (const path of ['/oauth/token', '/oauth/revoke'])
          expect((await client(other).post(path, 'client_id=x', type)).status, path).to.equal(404)
        expect((await client(other).post('/oauth/register', { redirect_uris: [callback] })).status).to.equal(404)
        const { status, headers } = await client(other).post('/mcp', {})
        expect([status, headers['www-authenticate']]).to.deep.equal([401, 'Bearer'])
        if (options.publicUrl === 'http://grove.example') return
        const user = await visitOf(other, await signUp(other, 'Bea'))
        const path = `/oauth/authorize?${new URLSearchParams(program.request)}`
        expect((await user.open(path)).status).to.equal(404)
        expect((await user.send('/oauth/authorize', { ...program.request, act: 'allow' })).status).to.equal(404)
      })
    })

  it('and with it the access of programs, end when the operator turns connections off', async () => {
    const { token } = await connectProgram(grove, ann)
    const statusAt = async (at: Grove) => (await client(at, token).get(`/orgs/${ann.org}`)).status
    expect(await statusAt(grove)).to.equal(200)
    await withService({ dataDir: grove.dataDir, oauth: false }, async (other) => {
      expect(await statusAt(other)).to.equal(401)
    })
    expect(await statusAt(grove)).to.equal(200)
  })
})
