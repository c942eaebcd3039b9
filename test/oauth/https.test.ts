/** Sign-in and connections behind a proxy that ends TLS, as a deployment has it. */

import { expect } from 'chai'
import { type Liar, settings, startLiar } from '../oidc/liar.ts'
import { begin, comeBack } from '../oidc/scene.ts'
import { Visitor } from '../oidc/visitor.ts'
import { sendForm, visitOf } from '../pages/forms.ts'
import { exchange, movesTo, register } from '../support/connector.ts'
import { type GroveOptions, startGrove } from '../support/grove.ts'
import { client, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const publicUrl = 'https://grove.example'
const trustProxy = ['loopback']
/** The headers of the proxy. */
const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'grove.example', 'x-forwarded-for': '192.0.2.1' }
const session = /^__Host-grove=[^;]+; Max-Age=15552000; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$/

describe('behind a proxy with TLS', () => {
  let liar: Liar
  const { grove, ann } = useWorld({ ann: 'owner' }, async () => {
    liar = await startLiar()
    return { publicUrl, trustProxy, oidc: [settings({ issuer: liar.issuer })] }
  })
  after(() => liar.close())

  const cookieOf = async (options: GroveOptions, headers: Readonly<Record<string, string>>) => {
    const other = await startGrove(options)
    const { user } = await signUp(other, 'Bea')
    const answer = await sendForm(other, '/sign-in', { email: user.email, password }, headers)
    await other.close()
    return answer.headers['set-cookie']
  }

  it('the cookie of a session is Secure, and only of this host', async () => {
    const { headers } = await sendForm(grove, '/sign-in', { email: ann.user.email, password }, proxied)
    expect(headers['set-cookie']).to.match(session)
    expect(await cookieOf({ trustProxy }, proxied), 'as the proxy says').to.match(session)
    expect(await cookieOf({ publicUrl }, {}), 'as PUBLIC_URL says').to.match(session)
    const open = await cookieOf({}, { 'x-forwarded-proto': 'https' })
    expect(open, 'nobody is trusted')
      .to.match(/^grove=/)
      .and.not.match(/Secure|__Host-/)
  })

  it('so is the cookie of a sign-in through a provider, which comes back to the public URL', async () => {
    const visitor = new Visitor(grove)
    const begun = await begin(grove, visitor, { next: '/me/tokens' })
    expect(begun.headers['set-cookie']).to.match(
      /^__Host-grove-oidc-[\w-]{8}=[\w-]+; Max-Age=600; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$/,
    )
    const sent = new URL(begun.headers.location ?? '').searchParams
    expect(sent.get('redirect_uri')).to.equal(`${publicUrl}/sign-in/oidc/acme/callback`)
    const claims = { sub: 'bob', email: 'bob@acme.example', email_verified: true, name: 'Bob' }
    const arrived = await comeBack(grove, liar, visitor, begun, claims)
    expect([arrived.status, arrived.headers.location]).to.deep.equal([303, '/me/tokens'])
    expect(visitor.cookies()).to.deep.equal(['__Host-grove'])
    expect((await visitor.api('/auth/me')).body).to.include({ email: 'bob@acme.example' })
    const out = await visitor.ask(`${grove.url}/sign-out`, { form: '' })
    expect(out.headers['set-cookie']).to.match(/^__Host-grove=; /)
  })

  it('programs find and use the public URL, whatever the proxy was asked for', async () => {
    const { body } = await client(grove).get('/.well-known/oauth-authorization-server', proxied)
    expect(body).to.include({
      issuer: publicUrl,
      authorization_endpoint: `${publicUrl}/oauth/authorize`,
      token_endpoint: `${publicUrl}/oauth/token`,
    })
    const challenge = await client(grove).post('/mcp', {}, { 'x-forwarded-host': 'evil.example' })
    expect(challenge.headers['www-authenticate']).to.include(
      `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource/mcp"`,
    )
    const program = await register(grove)
    const user = await visitOf(grove, ann)
    const answer = await user.send('/oauth/authorize', { ...program.request, resource: publicUrl, act: 'allow' })
    const to = movesTo(answer)
    expect(to?.searchParams.get('iss')).to.equal(publicUrl)
    const { status, body: tokens } = await exchange(program, to?.searchParams.get('code') ?? '')
    expect(status).to.equal(200)
    expect((await client(grove, tokens.access_token).get('/auth/me', proxied)).status).to.equal(200)
  })

  it('programs do not connect if only the proxy says https, because a caller could say so too', async () => {
    const other = await startGrove({ trustProxy })
    const { status } = await client(other).get('/.well-known/oauth-authorization-server', proxied)
    expect(status).to.equal(404)
    await other.close()
  })
})
