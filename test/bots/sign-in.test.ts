/** A bot acts only with its tokens: no password, no reset, no invitation and no page gives it a session. */

import { expect } from 'chai'
import { findBot } from '../../index/credentials/bots.ts'
import { insertRefreshToken, insertResetToken, insertSession } from '../../index/credentials/sessions.ts'
import { createBrowserSession } from '../../server/domain/accounts/browser-sessions.ts'
import { noPassword } from '../../server/domain/accounts/passwords.ts'
import { accessToken, hashOf, newToken } from '../../server/domain/accounts/tokens.ts'
import { personOf } from '../../server/domain/accounts/user-view.ts'
import { type Client, client, password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { newBot, speaking } from './scene.ts'

const later = '2999-01-01T00:00:00.000Z'

describe('a bot', () => {
  const { grove, owner, stranger, administrator } = useWorld({
    owner: 'owner',
    stranger: 'stranger',
    administrator: 'administrator',
  })
  let org: string
  let bot: Awaited<ReturnType<typeof newBot>>
  let as: Client
  let anonymous: Client
  before(async () => {
    ;({ org } = owner)
    bot = await newBot(owner, org)
    ;({ as } = await speaking(grove, owner, org, bot.id))
    anonymous = client(grove)
  })

  const sessionRow = (id: string) => ({
    ...{ id, account_id: bot.id, created_at: '2025-01-01T00:00:00.000Z', revoked_at: null, last_used_at: null },
    ...{ user_agent: null, address: null, method: null, cookie_hash: null, identity_id: null, confirmed_at: null },
  })

  it('signs in with no password, also not with its hash', async () => {
    for (const one of [noPassword, '!!!!!!!!', password, 'Builder[bot]']) {
      const { status, body } = await anonymous.post('/auth/login', { email: bot.email, password: one.padEnd(8, '!') })
      expect([status, body.code], one).to.deep.equal([401, 'invalid_credentials'])
    }
  })

  it('gets no reset token, and cannot use one', async () => {
    expect((await administrator.post(`/admin/accounts/${bot.id}/reset`)).status).to.equal(403)
    const token = newToken('reset')
    const row = { hash: hashOf(token), account_id: bot.id, expires_at: later, used_at: null }
    await grove.deps.credentials.write((trx) => insertResetToken(trx, row))
    const fresh = { reset_token: token, new_password: 'a good long one' }
    const { status, body } = await anonymous.post('/auth/password', fresh)
    expect([status, body.code]).to.deep.equal([401, 'invalid_credentials'])
  })

  it('continues no session, even if there were one', async () => {
    const id = '01980a5e-7c44-7c3d-8b21-9d0e1f2a3b4c'
    const token = newToken('refresh')
    const { credentials, keys, now } = grove.deps
    await credentials.write(async (trx) => {
      await insertSession(trx, sessionRow(id))
      const row = { hash: hashOf(token), session_id: id, created_at: later, expires_at: later }
      await insertRefreshToken(trx, { ...row, used_at: null, successor: null })
    })
    expect((await anonymous.post('/auth/refresh', { refreshToken: token })).body.code).to.equal('invalid_token')
    const row = await findBot(credentials.read, org, bot.id)
    if (row === undefined) throw new Error('The bot is gone')
    const person = personOf(row)
    expect(person.isBot).to.equal(true)
    const signed = client(grove, await accessToken(keys, person, id, now()))
    expect((await signed.get('/auth/me')).status).to.equal(401)
    const refused = await createBrowserSession({ ...grove.deps, actor: { ...person, sessionId: id } }).catch(
      (error) => error.code,
    )
    expect(refused).to.equal('invalid_credentials')
  })

  it('joins nothing, by invitation or by an owner of another organisation', async () => {
    const path = { org_id: stranger.org }
    const { token } = await stranger.api.createInvitation({ path, body: { role: 'reader' } })
    expect((await as.post('/auth/invitations/accept', { token })).body.code).to.equal('token_scope')
    const put = await stranger.put(`/orgs/${stranger.org}/members/${bot.email}`, { role: 'reader' })
    expect([put.status, put.body.code]).to.deep.equal([404, 'account_not_found'])
  })

  it('is changed and removed only as a bot, and is never an owner', async () => {
    const at = `/orgs/${org}/members/${bot.email}`
    expect((await owner.put(at, { role: 'owner' })).status).to.equal(403)
    expect((await owner.delete(at)).status).to.equal(403)
    expect((await as.get(`/orgs/${org}`)).status).to.equal(200)
  })

  it('is no administrator, and administrators disable and see it', async () => {
    const at = `/admin/accounts/${bot.id}`
    expect((await administrator.patch(at, { is_admin: true })).status).to.equal(403)
    const path = { account_id: bot.id }
    expect(await administrator.api.getAccount({ path })).to.include({ owner_org_id: org })
    await administrator.api.updateAccount({ path, body: { disabled: true } })
    expect((await as.get(`/orgs/${org}`)).status).to.equal(401)
    expect((await owner.api.listBots({ path: { org_id: org } })).bots[0]).to.have.property('disabled_at')
    await administrator.api.updateAccount({ path, body: { disabled: false } })
    expect((await as.get(`/orgs/${org}`)).status).to.equal(200)
  })

  it('makes no tokens, invitations, bots or members with its token, and reviews nothing', async () => {
    for (const [path, body] of [
      ['/auth/tokens', { name: 'x', access: 'read' }],
      [`/orgs/${org}/bots`, { name: 'x', role: 'reader' }],
      [`/orgs/${org}/bots/${bot.id}/tokens`, { name: 'x', access: 'read' }],
      [`/orgs/${org}/invitations`, { role: 'reader' }],
      ['/orgs', { name: 'x' }],
      [`/orgs/${org}/nodes/${org}/pull-requests/1/reviews`, { verdict: 'approve' }],
    ] as const)
      expect((await as.post(path, body)).body.code, path).to.equal('token_scope')
  })

  it('gives its address and names like its own to nobody', async () => {
    const sent = { password, name: 'Nobody' }
    for (const email of [bot.email, `x@bots.invalid`, 'X@BOTS.INVALID'])
      expect((await anonymous.post('/auth/signup', { ...sent, email })).status, email).to.equal(422)
    const taken = await stranger.post('/auth/email', { new_email: 'x@bots.invalid', password })
    expect(taken.status).to.equal(422)
    for (const name of [
      'x[bot]',
      'Builder[bot]',
      'x [Bot]',
      'x[bot].',
      'x［ｂｏｔ］',
      'x[bot]\u200b',
      '[bot]',
      'x[b\u00adot]',
    ])
      expect((await stranger.patch('/auth/me', { name })).status, name).to.equal(422)
    for (const name of ['x[bot] of mine', 'robot', 'Bot', 'bot]'])
      expect((await stranger.patch('/auth/me', { name })).status, name).to.equal(200)
  })

  it('may have any name that Git keeps, with the mark once', async () => {
    for (const [name, shown] of [
      ['Ann', 'Ann[bot]'],
      ['x[bot]', 'x[bot]'],
      ['x[bot][bot]', 'x[bot][bot]'],
      ['<script>alert(1)</script>', '<script>alert(1)</script>[bot]'],
      ['Grüße 🐋', 'Grüße 🐋[bot]'],
    ] as const)
      expect((await newBot(owner, org, { name })).name).to.equal(shown)
    for (const name of ['', ' ', '[bot]', '<>', '...', 'a\nb', 'a\u0000', 'x'.repeat(81)])
      expect((await owner.post(`/orgs/${org}/bots`, { name, role: 'reader' })).status, name).to.equal(422)
    for (const role of ['owner', 'admin', '', null])
      expect((await owner.post(`/orgs/${org}/bots`, { name: 'x', role })).status, `${role}`).to.equal(422)
  })
})
