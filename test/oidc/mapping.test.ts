/** Which account a user of a provider gets: each row of the table, through the pages. */

import { expect } from 'chai'
import { client, password, signUp } from '../support/people.ts'
import { problemIn, type Scene, startScene } from './scene.ts'

describe('a user who comes back from a provider', () => {
  let scene: Scene

  before(async () => {
    scene = await startScene()
  })
  after(() => scene.close())

  const email = (name: string) => `${name}@acme.example`
  const claims = (name: string) => ({ sub: name, email: email(name), email_verified: true, name })

  it('gets an account without a password, and the same one at the next pass', async () => {
    const visitor = scene.newVisitor()
    const first = await scene.pass(visitor, claims('Ann'))
    expect(first.status).to.equal(303)
    const me = (await visitor.api('/auth/me')).body
    expect(me).to.include({ email: email('Ann'), name: 'Ann', has_password: false })
    const again = scene.newVisitor()
    const { status, headers } = await scene.pass(
      again,
      { ...claims('Ann'), email: 'ann@new.example' },
      { next: '/me/tokens' },
    )
    expect({ status, to: headers.location }).to.deep.equal({ status: 303, to: '/me/tokens' })
    expect((await again.api('/auth/me')).body).to.deep.include({ id: me.id, email: 'ann@new.example' })
    const { identities } = (await again.api('/auth/identities')).body
    expect(identities).to.have.length(1)
    expect(identities[0]).to.include({ provider: 'acme', provider_name: 'Acme', email: 'ann@new.example' })
    const { sessions } = (await again.api('/auth/sessions')).body
    expect(sessions[0]).to.include({ method: 'oidc', provider: 'acme', current: true })
  })

  for (const [what, wrong] of [
    ['is not confirmed', { email_verified: false }],
    ['is confirmed by a string', { email_verified: 'true' }],
    ['has no confirmation', { email_verified: undefined }],
    ['is missing', { email: undefined }],
    ['is no address', { email: 'root@localhost' }],
  ] as const)
    it(`is refused if the address ${what}`, async () => {
      const seen = await scene.pass(scene.newVisitor(), { ...claims('Eve'), ...wrong })
      expect(problemIn(seen)).to.deep.equal({ status: 403, code: 'email_unverified' })
    })

  it('takes the address and its confirmation from the same document', async () => {
    scene.liar.profile = { email: email('victim') }
    const seen = await scene.pass(scene.newVisitor(), { sub: 'Mallory', email_verified: true })
    expect(problemIn(seen)).to.deep.equal({ status: 403, code: 'email_unverified' })
    scene.liar.profile = { email: email('Mia'), email_verified: true, preferred_username: 'mia' }
    const visitor = scene.newVisitor()
    expect((await scene.pass(visitor, { sub: 'Mia' })).status).to.equal(303)
    expect((await visitor.api('/auth/me')).body).to.include({ email: email('Mia'), name: 'mia' })
    scene.liar.profile = undefined
  })

  it('gets a name that shows nothing if the provider has none that git accepts', async () => {
    const visitor = scene.newVisitor()
    await scene.pass(visitor, { ...claims('Nameless'), name: '<>', preferred_username: 'a\nb' })
    expect((await visitor.api('/auth/me')).body.name).to.match(/^user-[\da-f]{8}$/)
  })

  it('is refused if an account has the address, and links it after signing in', async () => {
    const bob = await signUp(scene.grove, 'Bob')
    const own = { sub: 'bob-at-acme', email: bob.user.email, email_verified: true }
    expect(problemIn(await scene.pass(scene.newVisitor(), own))).to.deep.equal({ status: 409, code: 'account_exists' })
    const visitor = scene.newVisitor()
    await visitor.send('/sign-in', { email: bob.user.email, password })
    const unproved = await scene.pass(visitor, own, { purpose: 'link' })
    expect(problemIn(unproved)).to.deep.equal({ status: 403, code: 'confirmation_required' })
    const wrong = await visitor.send('/me/identities', { act: 'link', provider: 'acme', password: 'not this one' })
    expect(wrong.status).to.equal(422)
    const proved = await visitor.send('/me/identities', { act: 'link', provider: 'acme', password })
    expect(proved.html).to.include('href="/sign-in/oidc/acme?purpose=link"')
    const linked = await scene.pass(visitor, own, { purpose: 'link' })
    expect(linked.headers.location).to.equal('/me/identities?saved=linked')
    const returned = scene.newVisitor()
    await scene.pass(returned, own)
    expect((await returned.api('/auth/me')).body).to.include({ id: bob.user.id })
  })

  it('cannot link what another account has', async () => {
    await scene.pass(scene.newVisitor(), claims('Owner'))
    const cleo = await signUp(scene.grove, 'Cleo')
    const visitor = scene.newVisitor()
    await visitor.send('/sign-in', { email: cleo.user.email, password })
    await visitor.send('/me/identities', { act: 'link', provider: 'acme', password })
    const taken = await scene.pass(visitor, claims('Owner'), { purpose: 'link' })
    expect(problemIn(taken)).to.deep.equal({ status: 409, code: 'identity_taken' })
  })

  it.deep('is refused while the account is disabled, known or found by the address', async () => {
    const visitor = scene.newVisitor()
    await scene.pass(visitor, claims('Dora'))
    const { id } = (await visitor.api('/auth/me')).body
    const { updateAccount } = await import('../../server/domain/accounts/administration.ts')
    const { operator } = await import('../../server/domain/actor.ts')
    await updateAccount(
      { ...scene.grove.deps, actor: operator },
      { path: { account_id: id }, body: { disabled: true } },
    )
    expect((await visitor.api('/auth/me')).status).to.equal(401)
    const known = await scene.pass(scene.newVisitor(), claims('Dora'))
    expect(problemIn(known)).to.deep.equal({ status: 403, code: 'account_disabled' })
    const stranger = await scene.pass(scene.newVisitor(), { ...claims('Dora'), sub: 'another' })
    expect(problemIn(stranger)).to.deep.equal({ status: 403, code: 'account_disabled' })
  })

  it('has no password with which to sign in', async () => {
    await scene.pass(scene.newVisitor(), claims('Fay'))
    const tried = await client(scene.grove).post('/auth/login', { email: email('Fay'), password: '' })
    expect(tried.status).to.equal(401)
  })
})
