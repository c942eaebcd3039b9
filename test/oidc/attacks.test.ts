/** Attacks on sign-ins through providers, and providers that misbehave. */

import { expect } from 'chai'
import { password, signUp } from '../support/people.ts'
import { begin, comeBack, problemIn, type Scene, startScene } from './scene.ts'

describe('an attack on a sign-in through a provider', () => {
  let scene: Scene

  before(async () => {
    scene = await startScene({ linksByEmail: true })
  })
  after(() => scene.close())
  afterEach(() => Object.assign(scene.liar, { isForged: false, fault: undefined, named: undefined, metadata: {} }))

  const failed = { status: 400, code: 'sign_in_failed' }
  const claims = (name: string) => ({ sub: name, email: `${name}@acme.example`, email_verified: true, name })
  const now = () => Math.floor(Date.now() / 1000)

  for (const [what, wrong] of [
    ['another nonce', { nonce: 'another' }],
    ['no nonce', { nonce: undefined }],
    ['another audience', { aud: 'another' }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['an end in the past', { exp: now() - 3_600 }],
  ] as const)
    it(`fails with ${what} in the ID token`, async () => {
      const visitor = scene.newVisitor()
      expect(problemIn(await scene.pass(visitor, { ...claims('Eve'), ...wrong }))).to.deep.equal(failed)
      expect((await visitor.api('/auth/me')).status).to.equal(401)
    })

  it('fails with a signature of another key, and a new key of the provider works at once', async () => {
    scene.liar.isForged = true
    expect(problemIn(await scene.pass(scene.newVisitor(), claims('Eve')))).to.deep.equal(failed)
    scene.liar.isForged = false
    expect((await scene.pass(scene.newVisitor(), claims('Rita'))).status).to.equal(303)
    await scene.liar.rotate()
    expect((await scene.pass(scene.newVisitor(), claims('Rita'))).status).to.equal(303)
  })

  it('fails in another browser, a second time, with another state, and without one', async () => {
    const { grove, liar } = scene
    const [victim, attacker] = [scene.newVisitor(), scene.newVisitor()]
    const begun = await begin(grove, attacker)
    expect(problemIn(await comeBack(grove, liar, victim, begun, claims('Attacker')))).to.deep.equal(failed)
    expect((await victim.api('/auth/me')).status).to.equal(401)
    expect((await comeBack(grove, liar, attacker, begun, claims('Attacker'))).status).to.equal(303)
    expect(problemIn(await comeBack(grove, liar, attacker, begun, claims('Attacker')))).to.deep.equal(failed)
    for (const query of ['', '?state=x&code=y', '?error=access_denied'])
      expect(problemIn(await victim.ask(`${grove.url}/sign-in/oidc/acme/callback${query}`))).to.deep.equal(failed)
  })

  it('has no effect on two tabs, and a browser keeps four exchanges', async () => {
    const { grove, liar } = scene
    const visitor = scene.newVisitor()
    const [first, second] = [await begin(grove, visitor), await begin(grove, visitor)]
    expect((await comeBack(grove, liar, visitor, first, claims('Tab'))).status).to.equal(303)
    expect((await comeBack(grove, liar, visitor, second, claims('Tab'))).status).to.equal(303)
    for (let n = 0; n < 6; n++) await begin(grove, visitor)
    expect(visitor.cookies().filter((name) => name.startsWith('grove-oidc-'))).to.have.length(4)
  })

  it('leads to no other site', async () => {
    for (const next of ['https://evil.example', '//evil.example', '/\\evil.example'])
      expect((await scene.pass(scene.newVisitor(), claims('Next'), { next })).headers.location).to.match(/^\/(o\/|$)/)
  })

  it('does not begin a link from another site, nor end one in another session', async () => {
    const { grove, liar } = scene
    const visitor = scene.newVisitor()
    const bob = await signUp(grove, 'Bob')
    await visitor.send('/sign-in', { email: bob.user.email, password })
    await visitor.send('/me/identities', { act: 'link', provider: 'acme', password })
    expect((await visitor.ask(`${grove.url}/sign-in/oidc/acme?purpose=link`)).status).to.equal(403)
    const begun = await begin(grove, visitor, { purpose: 'link' })
    await visitor.send('/sign-in', { email: bob.user.email, password })
    expect(problemIn(await comeBack(grove, liar, visitor, begun, claims('Other')))).to.deep.equal(failed)
  })

  it('leaves nothing to somebody who signed up first with the address of another user', async () => {
    const thief = await signUp(scene.grove, 'Thief')
    const token = (await thief.post('/auth/tokens', { name: 'Kept', access: 'write' })).body.token
    const bot = (await thief.post(`/orgs/${thief.org}/bots`, { name: 'Spy', role: 'reader' })).body
    const spy = (await thief.post(`/orgs/${thief.org}/bots/${bot.id}/tokens`, { name: 'T', access: 'read' })).body
    const visitor = scene.newVisitor()
    const owner = { sub: 'owner', email: thief.user.email, email_verified: true }
    expect((await scene.pass(visitor, owner)).status).to.equal(303)
    expect((await visitor.api('/auth/me')).body).to.include({ id: thief.user.id, has_password: false })
    expect((await thief.get('/auth/me')).status).to.equal(401)
    const byToken = await thief.get('/orgs', { authorization: `Bearer ${token}` })
    expect(byToken.status).to.equal(401)
    expect((await thief.get('/orgs', { authorization: `Bearer ${spy.token}` })).status).to.equal(401)
    const login = await thief.post('/auth/login', { email: thief.user.email, password })
    expect(login.body.code).to.equal('invalid_credentials')
    expect((await visitor.api('/auth/identities')).body.total).to.equal(1)
  })

  it('is refused with unknown providers and long parameters', async () => {
    const visitor = scene.newVisitor()
    expect((await visitor.open('/sign-in/oidc/other')).status).to.equal(404)
    expect((await visitor.open(`/sign-in/oidc/acme?next=/${'x'.repeat(4_100)}`)).status).to.equal(400)
  })

  for (const [what, fault] of [
    ['names another issuer', { named: 'https://evil.example' }],
    ['answers with an error', { fault: 'down' }],
    ['redirects', { fault: 'redirect' }],
    ['sends too much', { fault: 'huge' }],
  ] as const)
    it(`is 503 if the provider ${what}`, async () => {
      const other = await startScene()
      Object.assign(other.liar, fault)
      const seen = await other.pass(other.newVisitor(), claims('Ann'))
      expect(problemIn(seen)).to.deep.equal({ status: 503, code: 'provider_unavailable' })
      await other.close()
    })
})
