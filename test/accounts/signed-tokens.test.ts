/** The access tokens of a login: which are taken, and which are bad. */

import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { decodeProtectedHeader, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { Grove } from '../support/grove.ts'
import { client, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { claims } from './answers.ts'

const badToken = { status: 401, body: { detail: 'The token is invalid, expired or revoked', code: 'invalid_token' } }

describe('accounts', () => {
  const { grove } = useWorld({}, { now: () => new Date(time) })
  let time = new Date('2026-01-01T00:00:00Z').getTime()
  const pass = (milliseconds: number) => {
    time += milliseconds
  }

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

    it('are taken when they are whole, also those of the version before, which name no session', async () => {
      expect((await me(await sign(usual()).sign(key.privateKey))).status).to.equal(200)
    })

    it('say in their header what they are, which id tokens do not say', async () => {
      const { accessToken, idToken } = await login()
      const types = [accessToken, idToken].map((token) => decodeProtectedHeader(token).typ)
      expect(types).to.deep.equal(['at+jwt', 'JWT'])
    })

    it('are taken with the type of a version before, if they are access tokens', async () => {
      const typed = (claims: JWTPayload) => sign(claims, { typ: 'JWT' }).sign(key.privateKey)
      expect((await me(await typed(usual()))).status).to.equal(200)
      expect(await me(await typed({ ...usual(), token_use: 'id' }))).to.deep.equal(badToken)
    })

    it('are invalid if their session is unknown or belongs to another user', async () => {
      const other = await signUp(grove, 'Liv')
      for (const sid of [claims(other.session.accessToken).sid, 'unknown', '']) {
        expect((await me(await sign({ ...usual(), sid }).sign(key.privateKey))).status, String(sid)).to.equal(401)
      }
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
      ['of another type', () => sign(usual(), { typ: 'grove-forwarded' }).sign(key.privateKey)],
      [
        'that are id tokens under the type of access tokens',
        () => sign({ ...usual(), token_use: 'id' }, { typ: 'at+jwt' }).sign(key.privateKey),
      ],
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

    it('are required, and the 401 says how to send one', async () => {
      const answer = await client(grove).get('/auth/me')
      expect(answer).to.deep.equal({
        status: 401,
        body: { detail: 'Authentication required: send `Authorization: Bearer <token>`', code: 'unauthenticated' },
      })
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
