import { rm } from 'node:fs/promises'
import { request } from 'node:http'
import { expect } from 'chai'
import { type Liar, startLiar } from '../oidc/liar.ts'
import { begin, comeBack } from '../oidc/scene.ts'
import { Visitor } from '../oidc/visitor.ts'
import { made } from '../support/cast.ts'
import { newDataDir } from '../support/data-folder.ts'
import { client, password, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('the log', () => {
  let dataDir: string
  let grove: SpawnedGrove
  let liar: Liar

  before(async () => {
    dataDir = await newDataDir()
    liar = await startLiar()
    const provider = { OIDC_ACME_ISSUER: liar.issuer, OIDC_ACME_CLIENT_ID: 'grove' }
    grove = await spawnGrove(dataDir, { LOG_LEVEL: 'trace', ...provider })
  })
  after(async () => {
    await grove.stop()
    await liar.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('never has a password, a token or an Authorization header, also after errors', async () => {
    const account = { email: 'ann@example.org', password, name: 'Ann' }
    const anyone = client(grove)
    const { body: session } = await anyone.post('/auth/signup', account)
    const ann = client(grove, session.accessToken)
    await anyone.post('/auth/signup', account)
    await anyone.post('/auth/login', { ...account, password: 'wrong horse battery' })
    await anyone.post('/auth/login', { email: account.email, password: 'wrong horse battery' })
    await anyone.post('/auth/login', `{"email": "ann@example.org", "password": "${password}"`)
    const { body: refreshed } = await anyone.post('/auth/refresh', { refreshToken: session.refreshToken })
    await ann.post('/auth/password', { old_password: 'wrong horse battery', new_password: 'another horse battery' })
    await ann.post('/auth/password', { old_password: password, new_password: 'another horse battery' })
    await client(grove, `${session.accessToken}x`).get('/auth/me')
    await ann.get(`/auth/me?token=${session.accessToken}`)
    await ann.get(`/docs?x=${session.refreshToken}`)
    const { body: issued } = await ann.post('/auth/tokens', { name: 'Laptop', access: 'read' })
    const token: string = issued.token
    const basic = `Basic ${Buffer.from(`ann:${token}`).toString('base64')}`
    await client(grove, token).get('/auth/me')
    await client(grove, token).post('/orgs', { name: 'More' })
    await client(grove, `${token}x`).get('/auth/me')
    await anyone.get('/auth/me', { authorization: basic })
    await anyone.get(`/git/${session.user.org_id}/org.git/info/refs?service=git-upload-pack`, { authorization: basic })
    const { body: invited } = await ann.post(`/orgs/${session.user.org_id}/invitations`, { role: 'reader' })
    const invitation: string = invited.token
    await ann.post('/auth/invitations/accept', { token: invitation })
    await anyone.post('/auth/signup', { email: 'x', password, invitation })
    await anyone.post('/auth/signup', { email: 'bob@example.org', password, invitation })
    await anyone.get(`/join?token=${invitation}`)
    await anyone.get('/auth/me', { 'x-request-id': token })
    await ann.delete(`/auth/tokens/${token}`)
    await requestLine(`http://ann:${token}@127.0.0.1/auth/me`)
    const { headers } = await ann.get(`/orgs/${session.user.org_id}/nodes?access_token=x`)
    await said(new RegExp(`"${headers['x-request-id']}"`))
    const { stderr, stdout } = grove.output()
    const secrets = [
      password,
      'wrong horse battery',
      'another horse battery',
      'Bearer ',
      'Basic ',
      token,
      invitation,
      basic.slice(6),
    ]
    const tokens = [session, refreshed].flatMap((one) => [one.accessToken, one.idToken, one.refreshToken])
    for (const secret of [...secrets, ...tokens]) expect(stderr + stdout).to.not.include(secret)
  })

  it('holds no invitation, state, code or cookie of a sign-in through a provider, also of one that fails', async () => {
    const owner = await signUp(grove, 'Olga')
    const { token: invitation } = await made(owner.post(`/orgs/${owner.org}/invitations`, { role: 'reader' }))
    const secrets: string[] = [invitation]
    const claims = { sub: 'dora', email: 'dora@acme.example', email_verified: true, name: 'Dora' }
    const pass = async (visitor: Visitor, said: object) => {
      const begun = await begin(grove, visitor, { invitation, next: '/me/tokens' })
      const sent = new URL(begun.headers.location ?? '').searchParams
      secrets.push(sent.get('state') ?? '', sent.get('nonce') ?? '')
      secrets.push((begun.headers['set-cookie'] ?? '').split(/[=;]/)[1] ?? '')
      const seen = await comeBack(grove, liar, visitor, begun, { ...claims, ...said })
      secrets.push((seen.headers['set-cookie'] ?? '').match(/(?<=grove=)grv_[\w-]+/)?.[0] ?? invitation)
      return { seen, begun }
    }
    const visitor = new Visitor(grove)
    const { seen, begun } = await pass(visitor, {})
    expect(seen.status).to.equal(303)
    await comeBack(grove, liar, visitor, begun, claims)
    expect((await pass(new Visitor(grove), { iss: 'https://evil.example' })).seen.status).to.equal(400)
    expect((await pass(new Visitor(grove), { sub: 'eve', email_verified: false })).seen.status).to.equal(403)
    liar.fault = 'down'
    expect((await pass(new Visitor(grove), {})).seen.status).to.equal(503)
    liar.fault = undefined
    const stray = 'a-code-that-nobody-began'
    secrets.push(stray)
    await visitor.open(`/sign-in/oidc/acme/callback?code=${stray}&state=${stray}&error_description=${stray}`)
    await visitor.open(`/sign-in/oidc/unknown?invitation=${invitation}`)
    const { headers } = await client(grove).get('/healthz')
    await said(new RegExp(`"${headers['x-request-id']}"`))
    const { stderr, stdout } = grove.output()
    expect(stderr, 'a failure is logged').to.include('a sign-in through a provider failed')
    for (const secret of secrets) {
      expect(secret).not.to.equal('')
      expect(stderr + stdout).not.to.include(secret)
    }
  })

  it('has a line for each request, under the id that the answer carries', async () => {
    const { headers } = await client(grove).get('/orgs/x/members')
    await said(new RegExp(`"${headers['x-request-id']}"`))
    const lines = grove.output().stderr.trim().split('\n')
    const requests = lines.map((line) => JSON.parse(line)).filter((line) => line.req?.id === headers['x-request-id'])
    expect(requests.map(({ req, res, op }) => [req.method, op, res.statusCode])).to.deep.equal([
      ['GET', 'listMembers', 401],
    ])
  })

  it('takes the id of a request from its client, but no token of any kind', async () => {
    const idOf = async (sent: string) =>
      (await client(grove).get('/healthz', { 'x-request-id': sent })).headers['x-request-id']
    for (const id of ['from-a-proxy:1', 'grv', 'eyJ.a', 'eyJhbGciOiJub25lIn0']) expect(await idOf(id)).to.equal(id)
    const random = ['', 'refresh_', 'reset_', 'invite_', 'browser_', 'oauth_', 'renew_', 'code_'].map(
      (kind) => `grv_${kind}${'a'.repeat(43)}`,
    )
    for (const token of [...random, 'eyJhbGciOiJub25lIn0.e30.', 'eyJhbGciOiJub25lIn0.e30.c2ln', `x:${random[0]}`])
      expect(await idOf(token)).to.match(/^[0-9a-f-]{36}$/)
  })

  /** Asks with an address that `fetch` would take apart. */
  function requestLine(path: string): Promise<void> {
    const { hostname, port } = new URL(grove.url)
    return new Promise((resolve, reject) => {
      request({ hostname, port, path }, (response) => response.resume().on('end', resolve))
        .on('error', reject)
        .end()
    })
  }

  /** A line is written once the answer is; it takes a moment to arrive here. */
  async function said(pattern: RegExp): Promise<void> {
    await until(() => pattern.test(grove.output().stderr))
  }
})
