/** Users who leave: sessions and tokens that end, and what the audit has of it. */

import { expect } from 'chai'
import type { JWTPayload } from 'jose'
import { client } from '../support/people.ts'
import { until } from '../support/until.ts'
import { type Scene, startScene } from './scene.ts'
import type { Visitor } from './visitor.ts'

describe('a user who has left', () => {
  let scene: Scene
  let time = Date.now()
  const hour = 3_600_000

  before(async () => {
    const now = () => new Date(time)
    scene = await startScene(
      { maxAgeHours: 24, tokensDays: 7, signup: 'on' },
      { now, passwordLogin: false, signup: 'closed' },
    )
  })
  after(() => scene.close())

  const claims = (name: string) => ({ sub: name, email: `${name}@acme.example`, email_verified: true, name })
  const status = async (visitor: Visitor) => (await visitor.api('/auth/me')).status

  async function signedIn(name: string): Promise<Visitor> {
    const visitor = scene.newVisitor()
    expect((await scene.pass(visitor, claims(name))).status).to.equal(303)
    return visitor
  }

  async function logOut(token: string) {
    const form = new URLSearchParams({ logout_token: token }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return client(scene.grove).post('/auth/oidc/acme/backchannel-logout', form, headers)
  }

  const event = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  let jti = 0
  const logoutClaims = (sub: string) => {
    const iat = Math.floor(time / 1000)
    return { iss: scene.liar.issuer, aud: 'grove', iat, exp: iat + 60, jti: `${++jti}`, sub, events: event }
  }

  it('loses the sessions when the provider says so, once for each token', async () => {
    const [ann, bob] = [await signedIn('Ann'), await signedIn('Bob')]
    const token = await scene.liar.sign(logoutClaims('Ann'))
    expect((await logOut(token)).status).to.equal(200)
    expect([await status(ann), await status(bob)]).to.deep.equal([401, 200])
    const again = await logOut(token)
    expect({ status: again.status, error: again.body.error }).to.deep.equal({ status: 400, error: 'invalid_request' })
  })

  it('keeps them if the logout token is forged', async () => {
    const cleo = await signedIn('Cleo')
    const right = logoutClaims('Cleo')
    const wrong: JWTPayload[] = [
      { ...right, aud: 'another' },
      { ...right, iss: 'https://evil.example' },
      { ...right, iat: right.iat - 300 },
      { ...right, nonce: 'n' },
      { ...right, events: {} },
      (({ jti: _, ...rest }) => rest)(right),
      (({ sub: _, ...rest }) => rest)(right),
    ]
    for (const one of wrong) expect((await logOut(await scene.liar.sign(one))).status).to.equal(400)
    scene.liar.isForged = true
    expect((await logOut(await scene.liar.sign(right))).status).to.equal(400)
    scene.liar.isForged = false
    expect((await logOut('nonsense')).status).to.equal(400)
    expect(await status(cleo)).to.equal(200)
  })

  it('must pass the provider again after a day, with a day of grace while it is away', async () => {
    const dora = await signedIn('Dora')
    const began = time
    time = began + 23 * hour
    expect(await status(dora)).to.equal(200)
    time = began + 25 * hour
    scene.liar.fault = 'down'
    expect(await status(dora)).to.equal(200)
    time = began + 49 * hour
    expect(await status(dora)).to.equal(401)
    time = began + 30 * hour
    expect(await status(dora)).to.equal(200)
    scene.liar.fault = undefined
    time += 60_000
    // The provider is asked beside the answer.
    await until(async () => {
      time = Math.min(time + 60_000, began + 40 * hour)
      return (await status(dora)) === 401
    })
  })

  it('loses the use of tokens after a week, until the next pass', async () => {
    const eve = await signedIn('Eve')
    const { token } = (await eve.api('/auth/tokens', 'POST', { name: 'Laptop', access: 'read' })).body
    const use = () => client(scene.grove, token).get('/orgs')
    expect((await use()).status).to.equal(200)
    time += 8 * 24 * hour
    const { status: refused, body } = await use()
    expect({ refused, code: body.code }).to.deep.equal({ refused: 401, code: 'sign_in_required' })
    expect(body.sign_in).to.match(/\/sign-in\/oidc\/acme$/)
    await signedIn('Eve')
    expect((await use()).status).to.equal(200)
  })

  it.deep('finds no password at the door, but a reset by the operator opens it', async () => {
    const fay = await signedIn('Fay')
    const { id, email } = (await fay.api('/auth/me')).body
    const anyone = client(scene.grove)
    const config = (await anyone.get('/auth/config')).body
    expect(config).to.deep.include({ password_login: false, signup: 'closed' })
    expect(config.oidc).to.deep.equal([{ id: 'acme', name: 'Acme', url: `${scene.grove.url}/sign-in/oidc/acme` }])
    const { html } = await scene.newVisitor().open('/sign-in')
    expect(html).to.include('Sign in with Acme').and.not.to.include('name="password"')
    const login = { email, password: 'correct horse battery' }
    for (const path of ['/auth/login', '/auth/signup'])
      expect((await anyone.post(path, login)).body.code).to.equal('password_login_off')
    const { issueResetToken } = await import('../../server/domain/accounts/sessions.ts')
    const { reset_token } = await issueResetToken(scene.grove.deps, id)
    const opened = await anyone.post('/auth/password', { reset_token, new_password: 'break the glass' })
    expect(opened.status).to.equal(200)
    expect((await client(scene.grove, opened.body.accessToken).get('/auth/me')).body.id).to.equal(id)
  })

  it('leaves rows in the audit', async () => {
    const gil = await signedIn('Gil')
    const refused = await gil.api('/auth/identities')
    const { id } = refused.body.identities[0]
    expect((await gil.api(`/auth/identities/${id}`, 'DELETE', {})).body.code).to.equal('confirmation_required')
    const begun = await scene.pass(
      gil,
      { ...claims('Gil'), auth_time: Math.floor(Date.now() / 1000) },
      { purpose: 'confirm' },
    )
    expect(begun.status).to.equal(303)
    expect((await gil.api(`/auth/identities/${id}`, 'DELETE', {})).body.code).to.equal('last_way_in')
    const second = { ...claims('Gil'), sub: 'Gil too' }
    expect((await scene.pass(gil, second, { purpose: 'link' })).headers.location).to.equal(
      '/me/identities?saved=linked',
    )
    const { identities } = (await gil.api('/auth/identities')).body
    expect((await gil.api(`/auth/identities/${identities[1].id}`, 'DELETE', {})).status).to.equal(204)
    expect((await gil.api(`/auth/identities/${identities[1].id}`, 'DELETE', {})).status).to.equal(404)
    await scene.pass(scene.newVisitor(), { ...claims('Hal'), email_verified: false })
    await logOut(await scene.liar.sign(logoutClaims('Gil')))
    const rows = await scene.grove.deps.events.read.selectFrom('audit').select(['action', 'detail']).execute()
    const actions = new Set(rows.map(({ action }) => action))
    expect(actions).to.include.keys(
      'identity.linked',
      'identity.removed',
      'auth.provider_refused',
      'auth.provider_sign_out',
    )
    const signIns = rows
      .filter(({ action }) => action === 'auth.sign_in')
      .map(({ detail }) => JSON.parse(detail ?? '{}'))
    expect(signIns).to.deep.include({ method: 'oidc', provider: 'acme' })
  })
})
