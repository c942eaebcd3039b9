/** Administrators of the service: they manage accounts and see no content. Who may call what is in test/permissions. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { addAccount } from '../../server/domain/accounts/accounts.ts'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { git } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const noAccount = { status: 404, body: { detail: 'Account not found', code: 'account_not_found' } }
const badToken = { status: 401, body: { detail: 'The token is invalid, expired or revoked', code: 'invalid_token' } }
const disabledAccount = {
  status: 403,
  body: { detail: 'The account is disabled; ask the operator', code: 'account_disabled' },
}

describe('an administrator', () => {
  const { grove, ada } = useWorld({ ada: 'owner' })
  let bob: PersonClient
  before(async () => {
    await updateAccount(
      { ...grove.deps, actor: operator },
      { path: { account_id: ada.user.id }, body: { is_admin: true } },
    )
  })
  beforeEach(async () => {
    bob = await signUp(grove, `Bob ${randomUUID()}`)
  })

  const at = (who = bob) => `/admin/accounts/${who.user.id}`
  const disable = (who = bob, fields: object = {}) => ada.patch(at(who), { disabled: true, ...fields })
  const logIn = (who = bob, secret = password) =>
    client(grove).post('/auth/login', { email: who.user.email, password: secret })

  it('finds accounts by parts of e-mail and name, whatever they contain', async () => {
    const zoe = { email: 'zoe.quick@example.org', name: 'Zoe 100%_\\ Quick', password }
    const { user } = (await client(grove).post('/auth/signup', zoe).then(expecting(201))).body
    const find = async (q: string, more = '') => {
      const { body } = await ada.get(`/admin/accounts?q=${encodeURIComponent(q)}${more}`).then(expecting(200))
      return body.accounts.map(({ id }: { id: string }) => id)
    }
    for (const q of ['zoe', 'ZOE', '100%', '%_\\ q', user.email]) expect(await find(q), q).to.deep.equal([user.id])
    for (const q of ['100_', '%\\', 'nobody at all']) expect(await find(q), q).to.deep.equal([])
    const { accounts } = (await ada.get('/admin/accounts?limit=1').then(expecting(200))).body
    expect(accounts[0].id).to.equal(ada.user.id)
    expect(await find('zoe', '&state=disabled')).to.deep.equal([])
    expect(await find('zoe', '&state=active')).to.deep.equal([user.id])
  })

  it('reads an account without its secrets', async () => {
    const { body } = await ada.get(at()).then(expecting(200))
    const { last_seen_at, ...rest } = body
    const { id, email, name, created_at } = bob.user
    expect(rest).to.deep.equal({ id, email, name, created_at, is_admin: false, hide_email: false, tokens: 0 })
    expect(last_seen_at).to.be.a('string')
    for (const unknown of [randomUUID(), 'x'])
      expect(await ada.get(`/admin/accounts/${unknown}`)).to.deep.equal(noAccount)
  })

  it('disables: sessions, tokens and git are refused from then on, memberships stay', async () => {
    await bob.put(`/orgs/${bob.org}/members/${ada.user.email}`, { role: 'reader' }).then(expecting(200))
    const node = await newNode(grove, bob)
    const { token } = (await bob.post('/auth/tokens', { name: 'Laptop', access: 'write' }).then(expecting(201))).body
    const refs = `/git/${node.org}/${node.id}.git/info/refs?service=git-receive-pack`
    await client(grove, token).get(refs).then(expecting(200))
    const changed = (await disable(bob, { disabled_reason: 'Left' }).then(expecting(200))).body
    expect(changed).to.include({ disabled_reason: 'Left' }).and.to.have.property('disabled_at')
    expect(await bob.get('/auth/me')).to.deep.equal(badToken)
    expect(await client(grove, token).get('/auth/me')).to.deep.equal(badToken)
    expect((await client(grove, token).get(refs)).status).to.equal(401)
    const { refreshToken } = bob.session
    expect((await client(grove).post('/auth/refresh', { refreshToken })).status).to.equal(401)
    expect(await logIn()).to.deep.equal(disabledAccount)
    expect((await logIn(bob, 'not this one')).body.code).to.equal('invalid_credentials')
    const members = (await ada.get(`/orgs/${bob.org}/members`).then(expecting(200))).body.members
    expect(members.map(({ user_id }: { user_id: string }) => user_id)).to.deep.equal([bob.user.id, ada.user.id])

    const again = (await disable(bob).then(expecting(200))).body
    expect(again).to.deep.equal(changed)
    const enabled = (await ada.patch(at(), { disabled: false }).then(expecting(200))).body
    expect(enabled).to.not.have.any.keys('disabled_at', 'disabled_reason')
    expect(await bob.get('/auth/me'), 'the session stays ended').to.deep.equal(badToken)
    await client(grove, token).get('/auth/me').then(expecting(200))
    await logIn().then(expecting(200))
  })

  it('ends with a disabled account the reset tokens that it had', async () => {
    const { reset_token } = (await ada.post(`${at()}/reset`, {}).then(expecting(200))).body
    const reset = () => client(grove).post('/auth/password', { reset_token, new_password: 'staple the horse' })
    await disable().then(expecting(200))
    expect((await reset()).body.code).to.equal('invalid_token')
    await ada.patch(at(), { disabled: false }).then(expecting(200))
    expect((await reset()).body.code).to.equal('invalid_token')
    const later = (await ada.post(`${at()}/reset`, {}).then(expecting(200))).body.reset_token
    await disable().then(expecting(200))
    const issued = (await ada.post(`${at()}/reset`, {}).then(expecting(200))).body.reset_token
    const use = (reset_token: string) =>
      client(grove).post('/auth/password', { reset_token, new_password: 'staple the horse' })
    expect((await use(later)).body.code).to.equal('invalid_token')
    expect(await use(issued)).to.deep.equal(disabledAccount)
    await ada.patch(at(), { disabled: false }).then(expecting(200))
    await use(issued).then(expecting(200))
    await logIn(bob, 'staple the horse').then(expecting(200))
  })

  it('writes no reason that would break a line of a list', async () => {
    for (const disabled_reason of ['two\nlines', '\u001b[2J', 'x'.repeat(501), ' '])
      expect((await disable(bob, { disabled_reason })).status, disabled_reason).to.equal(422)
    await bob.get('/auth/me').then(expecting(200))
  })

  it('hands out a reset token that no cache keeps, and the account stays as it is until it is used', async () => {
    const { body, headers } = await ada.post(`${at()}/reset`, {}).then(expecting(200))
    expect(body.reset_token).to.match(/^grv_reset_/)
    expect(headers['cache-control']).to.equal('no-store')
    await bob.get('/auth/me').then(expecting(200))
    await logIn().then(expecting(200))
  })

  it('neither disables, dismisses nor deletes themselves', async () => {
    const own = {
      status: 409,
      body: { detail: 'You cannot do this to your own account; ask another administrator', code: 'own_account' },
    }
    expect(await disable(ada)).to.deep.equal(own)
    expect(await ada.patch(at(ada), { is_admin: false })).to.deep.equal(own)
    expect(await ada.delete(at(ada))).to.deep.equal(own)
    await ada.get(at(ada)).then(expecting(200))
  })

  it('appoints others, and what they may ends with it', async () => {
    await ada.patch(at(), { is_admin: true }).then(expecting(200))
    await bob.get('/admin/accounts').then(expecting(200))
    await bob.patch(at(ada), { is_admin: null, disabled: null }).then(expecting(200))
    await ada.patch(at(), { is_admin: false }).then(expecting(200))
    expect((await bob.get('/admin/accounts')).status).to.equal(403)
  })

  it('adds a user even if sign-up is closed, who then sets a password and signs in', async () => {
    const closed = await startGrove({ signup: 'closed' })
    const token = await addAccount(closed.deps, { email: 'eve@example.org', isAdmin: true, by: operator })
    const { body: session } = await client(closed)
      .post('/auth/password', { reset_token: token.reset_token, new_password: password })
      .then(expecting(200))
    const admin = client(closed, session.accessToken)
    const { body, headers } = await admin
      .post('/admin/accounts', { email: 'Fay@example.org', name: 'Fay', hide_email: true })
      .then(expecting(201))
    expect(headers['cache-control']).to.equal('no-store')
    expect(headers.location).to.equal(`/admin/accounts/${body.account.id}`)
    expect(await admin.get(headers.location ?? '')).to.deep.include({ status: 200, body: body.account })
    const { id, created_at, ...rest } = body.account
    expect(rest).to.deep.equal({ email: 'Fay@example.org', name: 'Fay', is_admin: false, hide_email: true, tokens: 0 })
    const use = () =>
      client(closed).post('/auth/password', { reset_token: body.reset_token, new_password: 'staple the horse' })
    expect((await use().then(expecting(200))).body.user).to.include({ id, name: 'Fay', hide_email: true })
    expect((await use()).body.code, 'it works once').to.equal('invalid_token')
    expect((await admin.post('/admin/accounts', { email: 'fay@EXAMPLE.org' })).body.code).to.equal('email_taken')
    await closed.close()
  })

  it('refuses an invalid e-mail address or name, and adds nobody', async () => {
    const { total } = (await ada.get('/admin/accounts').then(expecting(200))).body
    const bad = [{}, { email: 'fay' }, { email: 'a@b.example', name: ' ' }, { email: 'a@b.example', name: '<>' }]
    for (const body of bad) expect((await ada.post('/admin/accounts', body)).status, JSON.stringify(body)).to.equal(422)
    expect((await ada.get('/admin/accounts').then(expecting(200))).body.total).to.equal(total)
  })

  it.deep('is left when two dismiss, disable or delete each other at once', async () => {
    const acts = [
      (who: PersonClient, other: PersonClient) => who.patch(at(other), { is_admin: false }),
      (who: PersonClient, other: PersonClient) => who.patch(at(other), { disabled: true }),
      (who: PersonClient, other: PersonClient) => who.delete(at(other)),
    ]
    for (const one of acts)
      for (const other of acts) {
        const [cid, dan] = [await signUp(grove, randomUUID()), await signUp(grove, randomUUID())]
        for (const who of [cid, dan]) await ada.patch(at(who), { is_admin: true }).then(expecting(200))
        const answers = await Promise.all([one(cid, dan), other(dan, cid)])
        const done = answers.map(({ status }) => status)
        expect(
          done.filter((status) => status === 200),
          String(done),
        ).to.have.length(1)
        expect(done.find((status) => status !== 200)).to.be.oneOf([401, 403])
        const left = await Promise.all([cid, dan].map(async (who) => (await who.get('/admin/accounts')).status))
        expect(
          left.filter((status) => status === 200),
          String(left),
        ).to.have.length(1)
      }
  })

  it('deletes an account in their own name', async () => {
    const cid = await signUp(grove, 'Cid')
    await cid.put(`/orgs/${cid.org}/members/${bob.user.email}`, { role: 'owner' }).then(expecting(200))
    const { body } = await ada.delete(at()).then(expecting(200))
    expect([body.left, body.trashed]).to.deep.equal([
      [{ id: cid.org, name: 'Cid' }],
      [{ id: bob.org, name: bob.user.name }],
    ])
    const said = await git(`${grove.dataDir}/${cid.org}/org.git`, 'log', '-1', '--format=%an <%ae> %s', 'main')
    expect(said.trimEnd()).to.equal('Ada <ada@example.org> leave')
    expect(await bob.get('/auth/me')).to.deep.equal(badToken)
    expect(await ada.get(at())).to.deep.equal(noAccount)
  })

  it('sees of organisations their names, owners and counts', async () => {
    const node = await newNode(grove, bob)
    await bob.put(`/orgs/${bob.org}/members/${ada.user.email}`, { role: 'reader' }).then(expecting(200))
    const { orgs, total } = (await ada.get('/admin/orgs?limit=200').then(expecting(200))).body
    const { id: user_id, email, name } = bob.user
    const { created_at, bytes, ...seen } = orgs.find(({ id }: { id: string }) => id === node.org)
    expect(bytes, 'as its owner sees it')
      .to.equal((await bob.get(`/orgs/${bob.org}`)).body.usage.bytes)
      .and.above(0)
    expect(seen).to.deep.equal({
      id: bob.org,
      name: bob.user.name,
      published: false,
      members: 2,
      nodes: 1,
      owners: [{ user_id, email, name }],
    })
    expect([typeof created_at, orgs.length]).to.deep.equal(['string', total])
    const { body } = await ada.get(`/admin/orgs?offset=${total}`).then(expecting(200))
    expect(body).to.deep.equal({ orgs: [], total, limit: 50, offset: total })
  })
})
