/** Signing up, logging in and the access tokens that come of it. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { findAccountByEmail } from '../../index/credentials/accounts.ts'
import { dummyHash } from '../../server/domain/accounts/passwords.ts'
import { indexOrg } from '../../server/domain/indexing/index-node.ts'
import { startGrove } from '../support/grove.ts'
import { hashesOf } from '../support/hashes.ts'
import { times } from '../support/many.ts'
import { expecting } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { claims, wrongCredentials } from './answers.ts'

describe('accounts', () => {
  const { grove } = useWorld({}, { now: () => new Date(time) })
  const time = new Date('2026-01-01T00:00:00Z').getTime()

  describe('sign-up', () => {
    it('makes an account with a personal organisation and signs in', async () => {
      const { status, body, headers } = await client(grove).post('/auth/signup', {
        email: 'Ann.Lee@Example.org',
        password,
      })
      expect(status).to.equal(201)
      expect(headers.location).to.equal('/auth/me')
      expect(headers['cache-control']).to.equal('no-store')
      const { user, accessToken, idToken, refreshToken, ...rest } = body
      expect(rest).to.deep.equal({ message: 'Welcome to Grove, Ann.Lee', expiresIn: 900, tokenType: 'Bearer' })
      expect(user).to.deep.include({
        email: 'Ann.Lee@Example.org',
        name: 'Ann.Lee',
        created_at: '2026-01-01T00:00:00.000Z',
      })
      expect(claims(accessToken)).to.include({ sub: user.id, token_use: 'access' })
      expect(claims(idToken)).to.include({
        sub: user.id,
        token_use: 'id',
        name: 'Ann.Lee',
        email: 'Ann.Lee@Example.org',
      })
      expect(refreshToken).to.match(/^grv_refresh_[\w-]{43}$/)

      const ann = client(grove, accessToken)
      expect(await ann.get('/auth/me')).to.deep.equal({ status: 200, body: user })
      expect((await ann.get(`/orgs/${user.org_id}`)).body).to.include({
        name: 'Ann.Lee',
        published: false,
        role: 'owner',
      })
    })

    it('takes an e-mail address once, in any case', async () => {
      await signUp(grove, 'Bob')
      expect(await client(grove).post('/auth/signup', { email: 'BOB@EXAMPLE.ORG', password })).to.deep.equal({
        status: 409,
        body: { detail: 'There is an account with this e-mail address', code: 'email_taken' },
      })
    })

    it('takes an address once when ten sign up together', async () => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => client(grove).post('/auth/signup', { email: 'race@example.org', password })),
      )
      expect(answers.map((answer) => answer.status).sort()).to.deep.equal([201, ...Array(9).fill(409)])
    })

    it('ignores Authorization, as do login, refresh and logout', async () => {
      const forged = client(grove, 'nonsense')
      const { status, body } = await forged.post('/auth/signup', { email: 'cleo@example.org', password })
      expect(status).to.equal(201)
      expect((await forged.post('/auth/login', { email: 'cleo@example.org', password })).status).to.equal(200)
      expect((await forged.post('/auth/refresh', { refreshToken: body.refreshToken })).status).to.equal(200)
      expect((await forged.post('/auth/logout', { refreshToken: body.refreshToken })).status).to.equal(204)
    })

    it('takes null for an absent name, and no blank one', async () => {
      const nameless = await client(grove).post('/auth/signup', { email: 'dora@example.org', password, name: null })
      expect(nameless.body.user.name).to.equal('dora')
      const blank = await client(grove).post('/auth/signup', { email: 'edna@example.org', password, name: '  ' })
      expect(blank).to.deep.equal({
        status: 422,
        body: {
          detail: [
            {
              loc: ['body', 'name'],
              msg: 'The text must not be blank or contain control characters',
              type: 'string_pattern_mismatch',
              ctx: blank.body.detail[0].ctx,
              input: '  ',
            },
          ],
        },
      })
    })

    it('refuses the passwords that attackers guess first, also in a change', async () => {
      const eva = await signUp(grove, 'Eva')
      for (const common of ['password', 'BaseBall', '12345678']) {
        const asked = [
          ['password', client(grove).post('/auth/signup', { email: 'new@example.org', password: common })],
          ['new_password', eva.post('/auth/password', { old_password: password, new_password: common })],
        ] as const
        for (const [field, answer] of asked) {
          const msg = 'The password is among the 10,000 most common; choose another'
          expect(await answer).to.deep.equal({
            status: 422,
            body: { detail: [{ loc: ['body', field], msg, type: 'value_error' }] },
          })
        }
      }
      await eva.get('/auth/me').then(expecting(200))
    })

    it('never sends a password back', async () => {
      const answer = await client(grove).post('/auth/signup', { email: 'f@example.org', password: 'hunter2' })
      expect(answer).to.deep.equal({
        status: 422,
        body: {
          detail: [
            {
              loc: ['body', 'password'],
              msg: 'String should have at least 8 characters',
              type: 'string_too_short',
              ctx: { min_length: 8 },
            },
          ],
        },
      })
    })
  })

  describe('login', () => {
    it('opens a session for an e-mail address in any case', async () => {
      const gus = await signUp(grove, 'Gus')
      const { status, body } = await client(grove).post('/auth/login', { email: 'GUS@example.org', password })
      expect(status).to.equal(200)
      expect(body).to.deep.include({ message: 'Welcome back, Gus', user: gus.user })
      expect((await client(grove, body.accessToken).get('/auth/me')).status).to.equal(200)
    })

    it('answers an unknown address and a wrong password alike', async () => {
      await signUp(grove, 'Hal')
      const login = (email: string) => client(grove).post('/auth/login', { email, password: 'wrong password' })
      expect(await login('hal@example.org')).to.deep.equal(wrongCredentials)
      expect(await login('nobody@example.org')).to.deep.equal(wrongCredentials)
    })

    it('computes as much for an unknown address as for a wrong password', async () => {
      const real = await startGrove({ slowPasswords: true })
      await signUp(real, 'Ida')
      const account = await findAccountByEmail(real.deps.credentials.read, 'ida@example.org')
      const hashesFor = (email: string) =>
        hashesOf(() => client(real).post('/auth/login', { email, password: 'wrong password' }))
      expect(await hashesFor('ida@example.org')).to.equal(1)
      expect(await hashesFor('nobody@example.org')).to.equal(1)
      await real.close()
      const costOf = (hash = '') => hash.split('$', 4).at(-1)?.split(',').sort()
      expect(costOf(dummyHash)).to.deep.equal(costOf(account?.password_hash)).and.to.have.length(3)
    })

    it.deep('answers 429 to a crowd rather than queueing without end', async () => {
      // All are there before the passwords of a quarter have been looked at, which takes 40 ms for each.
      const answers = await times(300, () => client(grove).post('/auth/login', { email: 'x@example.org', password }))
      const statuses = answers.map((answer) => answer.status)
      expect(statuses.filter((status) => status === 401).length).to.be.within(66, 299)
      const turnedAway = answers.find((answer) => answer.status === 429)
      expect(turnedAway).to.deep.equal({
        status: 429,
        body: { detail: 'Too many passwords are being checked; try again in a moment', code: 'rate_limited' },
      })
      expect(turnedAway?.headers['retry-after']).to.equal('1')
    })

    it('makes the personal organisation that a sign-up could not make, under the id that it was to have', async () => {
      const jan = await signUp(grove, 'Jan')
      // As after a crash between the account's row and the organisation's folder.
      await rm(join(grove.dataDir, jan.org), { recursive: true })
      await indexOrg(grove.deps, jan.org)
      expect((await jan.get('/auth/me')).body).to.not.have.property('org_id')
      const logins = [1, 2, 3].map(() => client(grove).post('/auth/login', { email: 'jan@example.org', password }))
      for (const { body } of await Promise.all(logins)) expect(body.user.org_id).to.equal(jan.org)
      expect((await jan.get(`/orgs/${jan.org}`)).body).to.include({ name: 'Jan', role: 'owner' })
    })

    it('does not make a personal organisation again that was deleted', async () => {
      const kim = await signUp(grove, 'Kimi')
      expect((await kim.delete(`/orgs/${kim.org}`)).status).to.equal(204)
      const { body } = await client(grove).post('/auth/login', { email: 'kimi@example.org', password })
      expect(body.user).to.not.have.property('org_id')
      expect((await kim.get('/orgs')).body.total).to.equal(0)
    })
  })
})
