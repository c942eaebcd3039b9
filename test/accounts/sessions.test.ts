/** Sessions: refreshed, ended, and passwords changed. */

import { expect } from 'chai'
import { findAccountByEmail } from '../../index/credentials/accounts.ts'
import { issueResetToken } from '../../server/domain/accounts/sessions.ts'
import { startGrove } from '../support/grove.ts'
import { client, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { wrongCredentials } from './answers.ts'

const badRefresh = {
  status: 401,
  body: { detail: 'The refresh token is unknown, expired, used up or revoked', code: 'invalid_token' },
}

describe('accounts', () => {
  const { grove } = useWorld({}, { now: () => new Date(time) })
  let time = new Date('2026-01-01T00:00:00Z').getTime()
  const pass = (milliseconds: number) => {
    time += milliseconds
  }

  describe('refresh', () => {
    const refresh = (refreshToken: string) => client(grove).post('/auth/refresh', { refreshToken })

    it('exchanges a token for new ones', async () => {
      const { user, session } = await signUp(grove, 'Max')
      const { status, body } = await refresh(session.refreshToken)
      expect(status).to.equal(200)
      expect(body).to.deep.include({ message: 'The session continues', user })
      expect(body.refreshToken).to.not.equal(session.refreshToken)
      expect((await client(grove, body.accessToken).get('/auth/me')).status).to.equal(200)
    })

    it('answers the same successor for 30 seconds, however often and together', async () => {
      const { session } = await signUp(grove, 'Nia')
      const together = await Promise.all([1, 2, 3, 4].map(() => refresh(session.refreshToken)))
      pass(30_000)
      const late = await refresh(session.refreshToken)
      const successors = [...together, late].map(({ status, body }) => [status, body.refreshToken])
      expect(new Set(successors.map(String)).size).to.equal(1)
      expect((await refresh(late.body.refreshToken)).status).to.equal(200)
    })

    it('ends the whole session when a used token comes back later, and no other session', async () => {
      const { session } = await signUp(grove, 'Ole')
      const other = (await client(grove).post('/auth/login', { email: 'ole@example.org', password })).body
      const second = (await refresh(session.refreshToken)).body
      const third = (await refresh(second.refreshToken)).body
      pass(30_001)
      expect(await refresh(session.refreshToken)).to.deep.equal(badRefresh)
      expect(await refresh(third.refreshToken)).to.deep.equal(badRefresh)
      expect((await refresh(other.refreshToken)).status).to.equal(200)
    })

    it('forgets a token after thirty days', async () => {
      const { session } = await signUp(grove, 'Pia')
      pass(30 * 24 * 3600 * 1000)
      expect(await refresh(session.refreshToken)).to.deep.equal(badRefresh)
    })

    it('refuses what it never gave out', async () => {
      expect(await refresh('grv_refresh_made-up')).to.deep.equal(badRefresh)
    })

    it('keeps no token in the database that could be sent', async () => {
      const { session } = await signUp(grove, 'Quin')
      const successor = (await refresh(session.refreshToken)).body.refreshToken
      const rows = await grove.deps.credentials.read.selectFrom('refresh_token').selectAll().execute()
      expect(JSON.stringify(rows)).to.not.contain(session.refreshToken).and.not.contain(successor)
    })
  })

  describe('logout', () => {
    it('ends the session and says the same of a token that is void already', async () => {
      const { session } = await signUp(grove, 'Rex')
      const logout = () => client(grove).post('/auth/logout', { refreshToken: session.refreshToken })
      expect(await logout()).to.deep.equal({ status: 204, body: undefined })
      expect(await client(grove).post('/auth/refresh', { refreshToken: session.refreshToken })).to.deep.equal(
        badRefresh,
      )
      expect(await logout()).to.deep.equal({ status: 204, body: undefined })
    })
  })

  describe('password', () => {
    const new_password = 'staple the horse'
    const login = (email: string, secret: string) => client(grove).post('/auth/login', { email, password: secret })

    it('changes with the old one, and ends every other session', async () => {
      const sue = await signUp(grove, 'Sue')
      const { status, body } = await sue.post('/auth/password', { old_password: password, new_password })
      expect(status).to.equal(200)
      expect(body).to.deep.include({
        message: 'The password was changed; all other sessions have ended',
        user: sue.user,
      })
      const refresh = (refreshToken: string) => client(grove).post('/auth/refresh', { refreshToken })
      expect(await refresh(sue.session.refreshToken)).to.deep.equal(badRefresh)
      expect((await refresh(body.refreshToken)).status).to.equal(200)
      expect(await login('sue@example.org', password)).to.deep.equal(wrongCredentials)
      expect((await login('sue@example.org', new_password)).status).to.equal(200)
    })

    it('does not change with a wrong old one', async () => {
      const tom = await signUp(grove, 'Tom')
      expect(await tom.post('/auth/password', { old_password: 'not this one', new_password })).to.deep.equal({
        status: 401,
        body: { detail: 'The old password is wrong', code: 'invalid_credentials' },
      })
    })

    it('takes the old one only from who is signed in', async () => {
      expect(await client(grove).post('/auth/password', { old_password: password, new_password })).to.deep.equal({
        status: 401,
        body: { detail: 'Sign in to change your password', code: 'unauthenticated' },
      })
    })

    it('changes with a reset token, once', async () => {
      const { user } = await signUp(grove, 'Una')
      const { reset_token } = await issueResetToken(grove.deps, user.id)
      expect(reset_token).to.match(/^grv_reset_/)
      const reset = () => client(grove).post('/auth/password', { reset_token, new_password })
      expect((await reset()).status).to.equal(200)
      expect((await login('una@example.org', new_password)).status).to.equal(200)
      expect(await reset()).to.deep.equal({
        status: 401,
        body: { detail: 'The reset token is unknown, expired or used up', code: 'invalid_token' },
      })
    })

    it('changes only with the newest reset token, and with none after any other change', async () => {
      const uma = await signUp(grove, 'Uma')
      const issue = async () => (await issueResetToken(grove.deps, uma.user.id)).reset_token
      const reset = async (reset_token: string) =>
        (await client(grove).post('/auth/password', { reset_token, new_password })).status
      const [first, second] = [await issue(), await issue()]
      expect([await reset(first), await reset(second)]).to.deep.equal([401, 200])
      const third = await issue()
      const again = (await login('uma@example.org', new_password)).body
      const change = { old_password: new_password, new_password }
      expect((await client(grove, again.accessToken).post('/auth/password', change)).status).to.equal(200)
      expect(await reset(third)).to.equal(401)
    })

    it('takes exactly one proof', async () => {
      const both = { old_password: password, reset_token: 'grv_reset_x', new_password }
      for (const body of [both, { new_password }]) {
        expect(await client(grove).post('/auth/password', body)).to.deep.equal({
          status: 422,
          body: { detail: [{ loc: ['body'], msg: 'Send either old_password or reset_token', type: 'value_error' }] },
        })
      }
    })
  })

  it('keeps passwords as argon2id with 19 MiB, two passes, one lane', async () => {
    const real = await startGrove({ slowPasswords: true })
    await signUp(real, 'Val')
    const account = await findAccountByEmail(real.deps.credentials.read, 'val@example.org')
    await real.close()
    expect(account?.password_hash).to.match(/^\$argon2id\$v=19\$m=19456,p=1,t=2\$|^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })
})
