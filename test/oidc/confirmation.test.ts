/** Users without a password confirm at their provider that it is they: a first password, another address, a link. */

import { expect } from 'chai'
import type { JWTPayload } from 'jose'
import { client } from '../support/people.ts'
import { begin, comeBack, problemIn, type Scene, startScene } from './scene.ts'
import type { Seen, Visitor } from './visitor.ts'

describe('a user without a password', () => {
  let scene: Scene
  let time = Date.now()

  before(async () => {
    scene = await startScene({}, { now: () => new Date(time) })
  })
  after(() => scene.close())

  const new_password = 'a first password of mine'
  const claims = (name: string) => ({ sub: name, email: `${name}@acme.example`, email_verified: true, name })
  const seconds = () => Math.floor(Date.now() / 1000)
  const required = { status: 403, code: 'confirmation_required' }
  const answerOf = ({ status, body }: { status: number; body: { code?: string } }) => ({ status, code: body?.code })

  async function signedIn(name: string): Promise<Visitor> {
    const visitor = scene.newVisitor()
    expect((await scene.pass(visitor, claims(name))).status).to.equal(303)
    return visitor
  }

  /** Passes the provider once more. It says with `auth_time` when the user proved it. */
  async function confirm(visitor: Visitor, said: JWTPayload, next = '/me/password'): Promise<Seen> {
    const begun = await begin(scene.grove, visitor, { purpose: 'confirm', next })
    const asked = new URL(begun.headers.location ?? '').searchParams
    expect(asked.get('max_age'), 'the provider asks for the proof again').to.equal('0')
    return comeBack(scene.grove, scene.liar, visitor, begun, said)
  }

  it('sets a first password after a confirmation, and needs the password from then', async () => {
    const ann = await signedIn('ann')
    const set = (body: object) => ann.api('/auth/password', 'POST', body)
    expect(answerOf(await set({ new_password }))).to.deep.equal(required)
    const page = await ann.open('/me/password')
    expect(page.html)
      .to.include('href="/sign-in/oidc/acme?purpose=confirm&amp;next=%2Fme%2Fpassword"')
      .and.not.include('name="old_password"')
    const refused = await ann.send('/me/password', { act: 'set', new_password })
    expect(refused.status).to.equal(403)
    expect(refused.html).to.include('Confirm first that it is you')

    const confirmed = await confirm(ann, { ...claims('ann'), auth_time: seconds() })
    expect([confirmed.status, confirmed.headers.location]).to.deep.equal([303, '/me/password'])
    expect((await ann.send('/me/password', { act: 'set', new_password })).html).to.include('Your password was changed.')
    expect((await ann.api('/auth/me')).body.has_password).not.to.equal(false)
    const login = { email: 'ann@acme.example', password: new_password }
    expect((await client(scene.grove).post('/auth/login', login)).status).to.equal(200)
    expect((await set({ new_password: 'another password of mine' })).status, 'the session is confirmed').to.equal(422)
    expect((await ann.open('/me/password')).html).to.include('name="old_password"')
  })

  it('changes the address after a confirmation, and stays the user of the provider', async () => {
    const bob = await signedIn('bob')
    const change = (new_email: string) => bob.api('/auth/email', 'POST', { new_email })
    expect(answerOf(await change('bob@new.example'))).to.deep.equal(required)
    await confirm(bob, { ...claims('bob'), auth_time: seconds() }, '/me/profile')
    expect((await change('bob@new.example')).status).to.equal(200)
    const { id } = (await bob.api('/auth/me')).body
    const again = await signedIn('bob')
    expect((await again.api('/auth/me')).body).to.include({ id, email: 'bob@new.example' })
    expect(answerOf(await again.api('/auth/email', 'POST', { new_email: 'bob@other.example' }))).to.deep.equal(required)
    time += 11 * 60_000
    expect(answerOf(await change('bob@third.example')), '10 minutes later').to.deep.equal(required)
    time -= 11 * 60_000
  })

  it('links a further identity only after a confirmation', async () => {
    const cleo = await signedIn('cleo')
    const unproved = await begin(scene.grove, cleo, { purpose: 'link' })
    expect(problemIn(unproved)).to.deep.equal(required)
    await confirm(cleo, { ...claims('cleo'), auth_time: seconds() })
    const linked = await scene.pass(cleo, claims('cleo-too'), { purpose: 'link' })
    expect(linked.headers.location).to.equal('/me/identities?saved=linked')
    expect((await cleo.api('/auth/identities')).body.total).to.equal(2)
  })

  for (const [what, said] of [
    ['an hour ago', () => ({ auth_time: seconds() - 3_600 })],
    ['at no time that the provider names', () => ({})],
    ['at a time in words', () => ({ auth_time: 'now' })],
  ] as const)
    it(`confirms nothing with a proof ${what}`, async () => {
      const dan = await signedIn('dan')
      const seen = await confirm(dan, { ...claims('dan'), ...said() })
      expect(problemIn(seen)).to.deep.equal({ status: 400, code: 'sign_in_failed' })
      expect(answerOf(await dan.api('/auth/password', 'POST', { new_password }))).to.deep.equal(required)
    })

  it('confirms nothing as another user of the provider, known or not', async () => {
    const [eve] = [await signedIn('eve'), await signedIn('fay')]
    for (const other of ['fay', 'nobody-yet']) {
      const seen = await confirm(eve, { ...claims(other), auth_time: seconds() })
      expect(problemIn(seen)).to.deep.equal({ status: 403, code: 'provider_refused' })
    }
    expect(answerOf(await eve.api('/auth/me', 'DELETE', {}))).to.deep.equal(required)
    expect((await eve.api('/auth/identities')).body.total).to.equal(1)
  })
})
