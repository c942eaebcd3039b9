/** The keys that sign tokens: published, rotated, and retired. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { cli } from '../operator/desk.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { client, password, signUp } from '../support/people.ts'

const minutes = 60_000

describe('the keys of tokens', () => {
  let dataDir: string
  let first: Grove
  let second: Grove
  let time: number

  beforeEach(async () => {
    dataDir = await newDataDir()
    // The command has the machine's clock.
    time = Date.now()
    const now = () => new Date(time)
    first = await startGrove({ dataDir, now })
    second = await startGrove({ dataDir, now })
    await signUp(first, 'Ann')
  })
  afterEach(async () => {
    await first.close()
    await second.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const login = async (grove: Grove) =>
    (await client(grove).post('/auth/login', { email: 'ann@example.org', password })).body as {
      accessToken: string
      idToken: string
      refreshToken: string
    }
  const status = async (grove: Grove, token: string) => (await client(grove, token).get('/auth/me')).status
  const kids = async (grove: Grove): Promise<string[]> =>
    (await client(grove).get('/.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid)
  const kidOf = (token: string) => decodeProtectedHeader(token).kid

  it('are public, without a secret, and verify an id token', async () => {
    const { idToken } = await login(first)
    const { body, headers } = await client(second).get('/.well-known/jwks.json')
    expect(headers['cache-control']).to.equal('public, max-age=300')
    expect(body.keys).to.have.length(1)
    expect(Object.keys(body.keys[0]).sort()).to.deep.equal(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', second.url))
    const issuer = first.deps.keys.issuer
    const { payload } = await jwtVerify(idToken, keys, { issuer, audience: issuer })
    expect([payload.email, payload.token_use]).to.deep.equal(['ann@example.org', 'id'])
  })

  it.deep('are announced before they sign, and verify until their last token has ended, in every process', async () => {
    const before = await login(first)
    const old = kidOf(before.accessToken)
    expect((await cli(dataDir, 'keys', 'rotate')).code).to.equal(0)
    time += 1 * minutes
    const announced = await kids(first)
    expect([announced.length, announced[0]]).to.deep.equal([2, old])
    expect(await kids(second)).to.deep.equal(announced)
    expect(kidOf((await login(second)).accessToken)).to.equal(old)

    time += 8 * minutes
    const last = await login(first)
    expect(kidOf(last.accessToken)).to.equal(old)
    time += 2 * minutes
    const fresh = await login(second)
    expect(kidOf(fresh.accessToken)).to.equal(announced[1])
    expect([await status(first, last.accessToken), await status(first, fresh.accessToken)]).to.deep.equal([200, 200])
    time += 14 * minutes
    expect([await status(first, last.accessToken), await status(first, fresh.accessToken)]).to.deep.equal([401, 200])
    time += 3 * minutes
    expect(await kids(first)).to.deep.equal([announced[1]])
  })

  it.deep('end at once with every access token if one has leaked, and sessions stay valid', async () => {
    const before = await login(first)
    expect(await status(second, before.accessToken)).to.equal(200)
    const { code, stdout } = await cli(dataDir, 'keys', 'rotate', '--now')
    expect([code, /^Key [\w-]+ signs now/.test(stdout)], stdout).to.deep.equal([0, true])
    time += 1 * minutes
    expect([await status(first, before.accessToken), await status(second, before.accessToken)]).to.deep.equal([
      401, 401,
    ])
    const renewed = await client(second).post('/auth/refresh', { refreshToken: before.refreshToken })
    expect(renewed.status).to.equal(200)
    expect(await status(first, renewed.body.accessToken)).to.equal(200)
    expect(await kids(first)).to.deep.equal([kidOf(renewed.body.accessToken)])
  })

  it('that were announced before one leaked never sign', async () => {
    await cli(dataDir, 'keys', 'rotate')
    await cli(dataDir, 'keys', 'rotate', '--now')
    time += 1 * minutes
    const kid = kidOf((await login(first)).accessToken)
    time += 12 * minutes
    expect([kidOf((await login(first)).accessToken), await kids(second)]).to.deep.equal([kid, [kid]])
  })

  it('are found only if PUBLIC_URL is https', async () => {
    const at = '/.well-known/openid-configuration'
    expect((await client(first).get(at)).status).to.equal(404)
    const proxied = await startGrove({ publicUrl: 'https://grove.example/below' })
    const { status, body } = await client(proxied).get(at)
    await proxied.close()
    expect([status, body.issuer, body.jwks_uri]).to.deep.equal([
      200,
      'https://grove.example/below',
      'https://grove.example/below/.well-known/jwks.json',
    ])
  })
})
