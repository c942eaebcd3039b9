/** From a registration to tokens, and how a connection goes on and ends. */

import { expect } from 'chai'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { issueResetToken } from '../../server/domain/accounts/sessions.ts'
import { operator } from '../../server/domain/actor.ts'
import { forgetDeadConnections } from '../../server/features/oauth/connections.ts'
import { type Visit, visitOf } from '../pages/forms.ts'
import { allow, connectProgram, exchange, movesTo, register, renew } from '../support/connector.ts'
import { client, password, signUp } from '../support/people.ts'
import { ann, bob, grove, pass, useScene } from './scene.ts'

const day = 24 * 3_600

describe('connections of programs', () => {
  useScene()
  let user: Visit
  before(async () => {
    user = await visitOf(grove, ann)
  })

  it('lead from a registration over consent to tokens', async () => {
    const program = await register(grove, { name: 'Robin' })
    const asked = await user.open(`/oauth/authorize?${new URLSearchParams(program.request)}`)
    expect(asked.status).to.equal(200)
    expect(asked.body).to.contain('“Robin”').and.to.contain('<input type="hidden" name="state" value="of the program"')
    const answer = await user.send('/oauth/authorize', { ...program.request, access: 'propose', act: 'allow' })
    const to = movesTo(answer)
    expect(to?.origin + (to?.pathname ?? '')).to.equal('http://127.0.0.1:7777/callback')
    expect(Object.fromEntries(to?.searchParams ?? [])).to.include({ state: 'of the program', iss: grove.url })
    expect(answer.headers['cache-control']).to.equal('no-store')
    const { status, body, headers } = await exchange(program, to?.searchParams.get('code') ?? '')
    expect(status).to.equal(200)
    expect(headers['cache-control']).to.equal('no-store')
    expect(body.access_token).to.match(/^grv_oauth_[\w-]{43}$/)
    expect(body.refresh_token).to.match(/^grv_renew_[\w-]{43}$/)
    expect(body).to.include({ token_type: 'Bearer', expires_in: 3600, scope: 'read propose' })
    const { connections, total } = (await ann.get('/auth/connections')).body
    expect(total).to.equal(1)
    expect(connections[0]).to.include({
      client_name: 'Robin',
      client_id: program.id,
      access: 'propose',
      resource: 'mcp',
    })
    expect((await bob.get('/auth/connections')).body.total).to.equal(0)
  })

  it('send the user back with a refusal', async () => {
    const program = await register(grove)
    const to = movesTo(await user.send('/oauth/authorize', { ...program.request, act: 'deny' }))
    expect(Object.fromEntries(to?.searchParams ?? [])).to.deep.equal({
      error: 'access_denied',
      state: 'of the program',
      iss: grove.url,
    })
  })

  it('send an anonymous visitor to the sign-in, and from there back to the consent', async () => {
    const program = await register(grove)
    const path = `/oauth/authorize?${new URLSearchParams(program.request)}`
    const anonymous = await client(grove).get(path, { accept: 'text/html' })
    expect(anonymous.status).to.equal(303)
    expect(anonymous.headers.location).to.equal(`/sign-in?next=${encodeURIComponent(path)}`)
  })

  it('give each renewal the next refresh token, and the same one to a repetition within two minutes', async () => {
    const { program, refreshToken } = await connectProgram(grove, ann)
    const { status, body: first } = await renew(program, refreshToken)
    expect(status).to.equal(200)
    pass(60)
    const { body: second } = await renew(program, first.refresh_token)
    pass(59)
    const { body: again } = await renew(program, refreshToken)
    expect(again.refresh_token, 'two generations back').to.equal(first.refresh_token)
    expect((await renew(program, first.refresh_token)).body.refresh_token).to.equal(second.refresh_token)
    expect((await client(grove, again.access_token).get('/auth/me')).status).to.equal(200)
  })

  it('end when a refresh token is used again later', async () => {
    const { program, refreshToken, token } = await connectProgram(grove, ann)
    const { body: first } = await renew(program, refreshToken)
    pass(121)
    expect(await renew(program, refreshToken)).to.deep.include({ status: 400 })
    expect((await client(grove, token).get('/auth/me')).status).to.equal(401)
    expect((await renew(program, first.refresh_token)).body.error).to.equal('invalid_grant')
    const { entries } = (await ann.get('/auth/audit?action=connection.reused')).body
    expect(entries[0]).to.deep.include({ outcome: 'refused' })
  })

  it('end when a code is used twice', async () => {
    const program = await register(grove)
    const code = await allow(program, user, {}, { resource: grove.url })
    const { body } = await exchange(program, code)
    expect((await client(grove, body.access_token).get('/auth/me')).status).to.equal(200)
    expect((await exchange(program, code)).body.error).to.equal('invalid_grant')
    expect((await client(grove, body.access_token).get('/auth/me')).status).to.equal(401)
  })

  it('expire: a code after a minute, an access token after an hour, a connection 30 days after its last renewal', async () => {
    const program = await register(grove)
    const late = await allow(program, user)
    pass(61)
    expect((await exchange(program, late)).body.error).to.equal('invalid_grant')
    const one = await connectProgram(grove, ann)
    pass(3_600)
    expect((await one.get('/auth/me')).status).to.equal(401)
    pass(29 * day)
    const { status, body } = await renew(one.program, one.refreshToken)
    expect(status).to.equal(200)
    pass(30 * day)
    expect((await renew(one.program, body.refresh_token)).body.error).to.equal('invalid_grant')
  })

  it('end at once: by their user, by their program, and with a reset of the password, but not with its change', async () => {
    const cy = await signUp(grove, 'Cy')
    const [byUser, byProgram, stays] = [
      await connectProgram(grove, cy),
      await connectProgram(grove, cy),
      await connectProgram(grove, cy),
    ]
    expect((await bob.delete(`/auth/connections/${byUser.id}`)).status).to.equal(401)
    const dan = await signUp(grove, 'Dan')
    expect((await dan.delete(`/auth/connections/${byUser.id}`)).body.code).to.equal('connection_not_found')
    expect((await cy.delete(`/auth/connections/${byUser.id}`)).status).to.equal(204)
    expect((await byUser.get('/auth/me')).status).to.equal(401)
    const form = new URLSearchParams({ token: byProgram.refreshToken, client_id: byProgram.program.id }).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await client(grove).post('/oauth/revoke', form, type)).status).to.equal(200)
    expect((await client(grove).post('/oauth/revoke', form, type)).status, 'an unknown one').to.equal(200)
    expect((await byProgram.get('/auth/me')).status).to.equal(401)
    await cy.post('/auth/password', { old_password: password, new_password: password })
    expect((await stays.get('/auth/me')).status).to.equal(200)
    const { reset_token } = await issueResetToken(grove.deps, cy.user.id)
    expect((await client(grove).post('/auth/password', { reset_token, new_password: password })).status).to.equal(200)
    expect((await stays.get('/auth/me')).status).to.equal(401)
    expect((await renew(stays.program, stays.refreshToken)).body.error).to.equal('invalid_grant')
  })

  it('end when an account is disabled, and stay ended when it is enabled again', async () => {
    const eve = await signUp(grove, 'Eve')
    const one = await connectProgram(grove, eve)
    const change = (disabled: boolean) =>
      updateAccount({ ...grove.deps, actor: operator }, { path: { account_id: eve.user.id }, body: { disabled } })
    await change(true)
    expect((await one.get('/auth/me')).status).to.equal(401)
    await change(false)
    expect((await one.get('/auth/me')).status).to.equal(401)
    expect((await renew(one.program, one.refreshToken)).body.error).to.equal('invalid_grant')
  })

  it('leave no row once nobody can use them', async () => {
    const fay = await signUp(grove, 'Fay')
    await connectProgram(grove, fay)
    const rows = async () => {
      const { read } = grove.deps.credentials
      const grants = await read.selectFrom('oauth_grant').select('id').where('account_id', '=', fay.user.id).execute()
      const ids = grants.map(({ id }) => id)
      const tokens =
        ids.length === 0
          ? []
          : await read.selectFrom('oauth_token').where('grant_id', 'in', ids).select('kind').execute()
      return { grants: ids.length, tokens: tokens.map(({ kind }) => kind).sort() }
    }
    pass(2 * day)
    await forgetDeadConnections(grove.deps)
    expect(await rows()).to.deep.equal({ grants: 1, tokens: ['refresh'] })
    pass(29 * day)
    await forgetDeadConnections(grove.deps)
    expect(await rows()).to.deep.equal({ grants: 0, tokens: [] })
  })
})
