import { createHmac } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { findAccountByEmail } from '../index/records/accounts.ts'
import { issueResetToken } from '../server/domain/accounts/sessions.ts'
import { followOrg } from '../server/domain/follow.ts'
import { client, type Grove, newDataDir, password, signUp, spawnGrove, startGrove } from './support/grove.ts'

const badToken = { status: 401, body: { detail: 'The token is bad, expired or revoked', code: 'invalid_token' } }
const wrongCredentials = {
  status: 401,
  body: { detail: 'Wrong e-mail address or password', code: 'invalid_credentials' },
}
const badRefresh = {
  status: 401,
  body: { detail: 'The refresh token is unknown, expired, used up or revoked', code: 'invalid_token' },
}

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
              msg: "String should match pattern '\\S'",
              type: 'string_pattern_mismatch',
              ctx: { pattern: '\\S' },
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
      await signUp(grove, 'Ida')
      const fastest = async (email: string) => {
        const times: number[] = []
        for (let round = 0; round < 8; round++) {
          const start = performance.now()
          await client(grove).post('/auth/login', { email, password: 'wrong password' })
          times.push(performance.now() - start)
        }
        return Math.min(...times)
      }
      const known = await fastest('ida@example.org')
      const unknown = await fastest('nobody@example.org')
      expect(unknown / known).to.be.within(0.5, 2)
    })

    it('answers 429 to a crowd rather than queueing without end', async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => client(grove).post('/auth/login', { email: 'x@example.org', password })),
      )
      const statuses = answers.map((answer) => answer.status)
      expect(statuses.filter((status) => status === 401).length).to.be.within(60, 99)
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
      await followOrg(grove.deps, jan.org)
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
    const sign = (claims: JWTPayload, header: Record<string, unknown> = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: grove.deps.keys.kid, ...header })
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
    })

    it('are taken when they are whole', async () => {
      expect((await me(await sign(usual()).sign(grove.deps.keys.privateKey))).status).to.equal(200)
    })

    const forgeries: [string, () => Promise<string> | string][] = [
      ['that say alg none', () => `${part({ alg: 'none' })}.${part(usual())}.`],
      [
        'signed HS256 with the public key as the secret',
        () => {
          const body = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(usual())}`
          const secret = grove.deps.keys.publicKey.export({ type: 'spki', format: 'pem' })
          return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`
        },
      ],
      [
        'signed by another key',
        async () => sign(usual(), { kid: 'foreign' }).sign((await generateKeyPair('ES256')).privateKey),
      ],
      ['without exp', () => sign(without('exp')).sign(grove.deps.keys.privateKey)],
      ['that have expired', () => sign({ ...usual(), exp: Math.floor(time / 1000) }).sign(grove.deps.keys.privateKey)],
      ['for another audience', () => sign({ ...usual(), aud: 'urn:other' }).sign(grove.deps.keys.privateKey)],
      ['without an audience', () => sign(without('aud')).sign(grove.deps.keys.privateKey)],
      ['of another issuer', () => sign({ ...usual(), iss: 'urn:other' }).sign(grove.deps.keys.privateKey)],
      ['that do not say what they are for', () => sign(without('token_use')).sign(grove.deps.keys.privateKey)],
      ['of nobody', () => sign({ ...usual(), sub: 'nobody' }).sign(grove.deps.keys.privateKey)],
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

  describe('refresh', () => {
    const refresh = (refreshToken: string) => client(grove).post('/auth/refresh', { refreshToken })

    it('exchanges a token for new ones', async () => {
      const { user, session } = await signUp(grove, 'Max')
      const { status, body } = await refresh(session.refreshToken)
      expect(status).to.equal(200)
      expect(body).to.deep.include({ message: 'The session goes on', user })
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
      expect(body).to.deep.include({ message: 'The password is changed; other sessions have ended', user: sue.user })
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
      const reset_token = await issueResetToken(grove.deps, user.id)
      expect(reset_token).to.match(/^grv_reset_/)
      const reset = () => client(grove).post('/auth/password', { reset_token, new_password })
      expect((await reset()).status).to.equal(200)
      expect((await login('una@example.org', new_password)).status).to.equal(200)
      expect(await reset()).to.deep.equal({
        status: 401,
        body: { detail: 'The reset token is unknown, expired or used up', code: 'invalid_token' },
      })
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
    await signUp(grove, 'Val')
    const account = await findAccountByEmail(grove.deps.credentials.read, 'val@example.org')
    expect(account?.password_hash).to.match(/^\$argon2id\$v=19\$m=19456,p=1,t=2\$|^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })
})

describe('rate limits', () => {
  let grove: Grove
  before(async () => {
    grove = await startGrove({ rateLimit: true })
  })
  after(() => grove.close())

  it('allow ten sign-ups an hour from one address', async () => {
    const signup = (round: number) => client(grove).post('/auth/signup', { email: `${round}@example.org`, password })
    for (let round = 0; round < 10; round++) expect((await signup(round)).status).to.equal(201)
    const answer = await signup(10)
    expect(answer).to.deep.equal({
      status: 429,
      body: { detail: 'Too many requests; wait a little', code: 'rate_limited' },
    })
    expect(answer.headers).to.include({ 'ratelimit-policy': '"signup";q=10;w=3600' })
    expect(Number(answer.headers['retry-after'])).to.be.within(3500, 3600)
    expect(answer.headers.ratelimit).to.equal(`"signup";r=0;t=${answer.headers['retry-after']}`)
  })

  it('allow ten logins a minute to one account, and thirty from one address', async () => {
    const login = (email: string) => client(grove).post('/auth/login', { email, password: 'wrong password' })
    for (let round = 0; round < 10; round++) expect((await login('a@example.org')).status).to.equal(401)
    expect((await login('A@example.org')).status).to.equal(429)
    for (let round = 0; round < 19; round++) expect((await login(`b${round}@example.org`)).status).to.equal(401)
    const answer = await login('c@example.org')
    expect(answer.status).to.equal(429)
    expect(answer.headers['ratelimit-policy']).to.equal('"login";q=30;w=60')
  })

  it('allow six thousand of everything else a minute, and say how many are left', async () => {
    const { headers } = await client(grove).get('/orgs/none')
    expect(headers['ratelimit-policy']).to.equal('"default";q=6000;w=60')
    expect(headers.ratelimit).to.match(/^"default";r=\d+;t=\d+$/)
  })

  it('leave the health checks alone', async () => {
    expect((await client(grove).get('/healthz')).headers).to.not.have.property('ratelimit')
  })
})

describe('signing keys', () => {
  it('are kept, and issuer and audience with them', async () => {
    const dataDir = await newDataDir()
    const first = await startGrove({ dataDir })
    const ann = await signUp(first, 'Ann')
    await first.close()
    const second = await startGrove({ dataDir })
    expect((await client(second, ann.session.accessToken).get('/auth/me')).status).to.equal(200)
    await second.close()
    await rm(dataDir, { recursive: true })
  })

  it('are one for two processes that start together over an empty folder', async () => {
    const dataDir = await newDataDir()
    const groves = await Promise.all([startGrove({ dataDir }), startGrove({ dataDir })])
    const [left, right] = groves
    const ann = await signUp(left, 'Ann')
    expect((await client(right, ann.session.accessToken).get('/auth/me')).body).to.deep.equal(ann.user)
    await Promise.all(groves.map((grove) => grove.close()))
    await rm(dataDir, { recursive: true })
  })

  it('speak in the name of PUBLIC_URL where it is set', async () => {
    const grove = await startGrove({ publicUrl: 'https://grove.example' })
    const { session } = await signUp(grove, 'Ann')
    expect(claims(session.accessToken)).to.include({ iss: 'https://grove.example', aud: 'https://grove.example' })
    await grove.close()
  })
})

describe('the log', () => {
  it('holds no password, no token and no Authorization, at any level', async () => {
    const dataDir = await newDataDir()
    const grove = await spawnGrove(dataDir, { LOG_LEVEL: 'trace' })
    const ann = await signUp(grove, 'Ann')
    await client(grove).post('/auth/login', { email: 'ann@example.org', password: 'a wrong password' })
    await client(grove).post('/auth/login', `{"email": "ann@example.org", "password": "${password}"`)
    const { refreshToken } = ann.session
    await client(grove).post('/auth/refresh', { refreshToken })
    await ann.post('/auth/password', { old_password: password, new_password: 'staple the horse' })
    await client(grove, 'a-forged-token').get('/auth/me')
    await grove.stop()
    const { stdout, stderr } = grove.output()
    expect(stderr.split('\n').length).to.be.greaterThan(6)
    for (const secret of [
      password,
      'a wrong password',
      'staple the horse',
      'a-forged-token',
      'eyJ',
      'grv_',
      'argon2',
    ]) {
      expect(stdout + stderr).to.not.contain(secret)
    }
    await rm(dataDir, { recursive: true })
  })
})

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function claims(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}
