/** Signing up, logging in and the access tokens that come of it. */

import { createHmac } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { indexOrg } from '../../server/domain/indexing/index-node.ts'
import { client, type Grove, password, signUp, startGrove } from '../support/grove.ts'
import { times } from '../support/many.ts'
import { claims, wrongCredentials } from './answers.ts'

const badToken = { status: 401, body: { detail: 'The token is bad, expired or revoked', code: 'invalid_token' } }

describe('accounts', () => {
  let grove: Grove
  let time = new Date('2026-01-01T00:00:00Z').getTime()
  const pass = (milliseconds: number) => {
    time += milliseconds
  }

  before(async () => {
    grove = await startGrove({ now: () => new Date(time) })
  })
  after(() => grove.close())

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

    it('takes an address once, whatever its case', async () => {
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
              msg: 'Value error, the text is blank or holds a control character',
              type: 'string_pattern_mismatch',
              ctx: blank.body.detail[0].ctx,
              input: '  ',
            },
          ],
        },
      })
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
    it('opens a session, whatever the case of the address', async () => {
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

    it('takes as long for an unknown address as for a wrong password', async () => {
      const real = await startGrove({ slowPasswords: true })
      await signUp(real, 'Ida')
      /** Microseconds of computing, by which others on the machine do not count. */
      const timed = async (email: string) => {
        const before = process.cpuUsage()
        await client(real).post('/auth/login', { email, password: 'wrong password' })
        return process.cpuUsage(before).user
      }
      const [known, unknown]: [number[], number[]] = [[], []]
      for (let round = 0; round < 5; round++) {
        known.push(await timed('ida@example.org'))
        unknown.push(await timed('nobody@example.org'))
      }
      await real.close()
      expect(Math.min(...unknown) / Math.min(...known)).to.be.within(0.5, 2)
    })

    it('answers 429 to a crowd rather than queueing without end', async () => {
      // All are there before the passwords of a quarter have been looked at, which takes 40 ms for each.
      const answers = await times(300, () => client(grove).post('/auth/login', { email: 'x@example.org', password }))
      const statuses = answers.map((answer) => answer.status)
      expect(statuses.filter((status) => status === 401).length).to.be.within(66, 299)
      const turnedAway = answers.find((answer) => answer.status === 429)
      expect(turnedAway).to.deep.equal({
        status: 429,
        body: { detail: 'Too many people sign in at this moment', code: 'rate_limited' },
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

  describe('access tokens', () => {
    let sub: string
    let key: Awaited<ReturnType<Grove['deps']['keys']['signing']>>
    const sign = (claims: JWTPayload, header: Record<string, unknown> = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: key.kid, ...header })
    const usual = (): JWTPayload => {
      const { issuer } = grove.deps.keys
      const seconds = Math.floor(time / 1000)
      return { sub, iss: issuer, aud: issuer, iat: seconds, exp: seconds + 60, token_use: 'access' }
    }
    const without = (...names: string[]) =>
      Object.fromEntries(Object.entries(usual()).filter(([name]) => !names.includes(name)))
    const me = (token: string) => client(grove, token).get('/auth/me')

    before(async () => {
      sub = (await signUp(grove, 'Kim')).user.id
      key = await grove.deps.keys.signing(time)
    })

    it('are taken when they are whole', async () => {
      expect((await me(await sign(usual()).sign(key.privateKey))).status).to.equal(200)
    })

    const forgeries: [string, () => Promise<string> | string][] = [
      ['that say alg none', () => `${part({ alg: 'none' })}.${part(usual())}.`],
      [
        'signed HS256 with the public key as the secret',
        async () => {
          const body = `${part({ alg: 'HS256', typ: 'JWT', kid: key.kid })}.${part(usual())}`
          const secret = (await grove.deps.keys.verifying(key.kid, time))?.export({ type: 'spki', format: 'pem' }) ?? ''
          return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`
        },
      ],
      [
        'signed by another key',
        async () => sign(usual(), { kid: 'foreign' }).sign((await generateKeyPair('ES256')).privateKey),
      ],
      [
        "signed by another key under ours' name",
        async () => sign(usual()).sign((await generateKeyPair('ES256')).privateKey),
      ],
      ['without exp', () => sign(without('exp')).sign(key.privateKey)],
      ['that have expired', () => sign({ ...usual(), exp: Math.floor(time / 1000) }).sign(key.privateKey)],
      ['for another audience', () => sign({ ...usual(), aud: 'urn:other' }).sign(key.privateKey)],
      ['without an audience', () => sign(without('aud')).sign(key.privateKey)],
      ['of another issuer', () => sign({ ...usual(), iss: 'urn:other' }).sign(key.privateKey)],
      ['that do not say what they are for', () => sign(without('token_use')).sign(key.privateKey)],
      ['of nobody', () => sign({ ...usual(), sub: 'nobody' }).sign(key.privateKey)],
      ['that are id tokens', () => login().then((session) => session.idToken)],
      ['that are refresh tokens', () => login().then((session) => session.refreshToken)],
      ['that are no tokens', () => 'x'],
    ]
    const login = async () => (await client(grove).post('/auth/login', { email: 'kim@example.org', password })).body

    for (const [title, forge] of forgeries) {
      it(`are refused ${title}, with the challenge of RFC 6750`, async () => {
        const answer = await me(await forge())
        expect(answer).to.deep.equal(badToken)
        expect(answer.headers['www-authenticate']).to.equal('Bearer error="invalid_token"')
      })
    }

    it('expire after their fifteen minutes', async () => {
      const { accessToken } = await login()
      pass(15 * 60_000 - 1000)
      expect((await me(accessToken)).status).to.equal(200)
      pass(1000)
      expect(await me(accessToken)).to.deep.equal(badToken)
    })

    it('stop working with the account', async () => {
      const lea = await signUp(grove, 'Lea')
      await grove.deps.credentials.write((trx) => trx.deleteFrom('account').where('id', '=', lea.user.id).execute())
      expect(await lea.get('/auth/me')).to.deep.equal(badToken)
    })

    it('are asked for where they are needed', async () => {
      const answer = await client(grove).get('/auth/me')
      expect(answer).to.deep.equal({ status: 401, body: { detail: 'Sign in first', code: 'unauthenticated' } })
      expect(answer.headers['www-authenticate']).to.equal('Bearer')
    })

    it('are not optional once they are sent: a bad one is never anonymous', async () => {
      expect(await client(grove, 'x').get('/orgs/any')).to.deep.equal(badToken)
      expect(await client(grove).get('/auth/me', { authorization: 'Basic YW5uOnB3' })).to.deep.equal(badToken)
    })
  })
})
function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
