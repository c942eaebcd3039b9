/** Addresses that a provider changes, and gives to other users. */

import { expect } from 'chai'
import { password, signUp } from '../support/people.ts'
import { problemIn, type Scene, startScene } from './scene.ts'
import type { Visitor } from './visitor.ts'

describe('an address that a provider gives to another user', () => {
  let scene: Scene

  before(async () => {
    scene = await startScene({ linksByEmail: true })
  })
  after(() => scene.close())

  const claims = (sub: string, email: string) => ({ sub, email, email_verified: true, name: sub })

  async function me(visitor: Visitor): Promise<{ id: string; email: string }> {
    return (await visitor.api('/auth/me')).body
  }

  async function signIn(sub: string, email: string) {
    const visitor = scene.newVisitor()
    expect((await scene.pass(visitor, claims(sub, email))).status).to.equal(303)
    return me(visitor)
  }

  it('belongs to a new account, because the former one has followed its user', async () => {
    const ann = await signIn('Ann', 'first@acme.example')
    expect(await signIn('Ann', 'married@acme.example')).to.include({ id: ann.id, email: 'married@acme.example' })
    const zoe = await signIn('Zoe', 'first@acme.example')
    expect(zoe.id).not.to.equal(ann.id)
    expect(await signIn('Ann', 'FIRST@acme.example')).to.include({ id: ann.id, email: 'married@acme.example' })
  })

  it('gives no account to that user, although it is confirmed', async () => {
    const bob = await signUp(scene.grove, 'Bob')
    const visitor = scene.newVisitor()
    await visitor.send('/sign-in', { email: bob.user.email, password })
    await visitor.send('/me/identities', { act: 'link', provider: 'acme', password })
    await scene.pass(visitor, claims('Bob', 'moved@acme.example'), { purpose: 'link' })
    const seen = await scene.pass(scene.newVisitor(), claims('Namesake', bob.user.email))
    expect(problemIn(seen)).to.deep.equal({ status: 409, code: 'account_exists' })
    expect(seen.html).to.include('belongs to another user at Acme')
    expect((await visitor.api('/auth/identities')).body.total).to.equal(1)
    // Bob has chosen his address here, so it stays.
    expect(await signIn('Bob', 'moved@acme.example')).to.include({ id: bob.user.id, email: bob.user.email })
    const { entries } = (await visitor.api('/auth/audit')).body
    expect(entries.map((entry: { action: string }) => entry.action)).to.include('auth.provider_refused')
  })

  it('is followed in a confirmation, and only once it is confirmed', async () => {
    const visitor = scene.newVisitor()
    await scene.pass(visitor, claims('Cleo', 'cleo@acme.example'))
    const unconfirmed = { ...claims('Cleo', 'victim@acme.example'), email_verified: false }
    await scene.pass(scene.newVisitor(), unconfirmed)
    expect(await me(visitor)).to.include({ email: 'cleo@acme.example' })
    const confirmed = { ...unconfirmed, email_verified: true, auth_time: Math.floor(Date.now() / 1_000) }
    await scene.pass(visitor, confirmed, { purpose: 'confirm', next: '/me/password' })
    expect(await me(visitor)).to.include({ email: 'victim@acme.example' })
  })
})
