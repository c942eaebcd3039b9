/** The keys of programs that sign assertions, and the hosts that publish them. */

import { expect } from 'chai'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { allow, exchange, renew } from '../support/connector.ts'
import { documentUrl, type Served, validDocument } from '../support/documents.ts'
import {
  accepted,
  claimsOf,
  connected,
  host,
  type Key,
  key,
  keyReads,
  newKey,
  pass,
  proof,
  prove,
  published,
  refused,
  result,
  serveKeys,
  signed,
  user,
  useSigners,
} from './signers.ts'

describe('programs that publish their keys', () => {
  useSigners()

  it('rotate their keys', async () => {
    const program = await published()
    let token = await connected(program, await prove(program))
    const [second, third] = [await newKey('two'), await newKey('three')]
    serveKeys(program.name, [second])
    const all = await Promise.all(
      Array.from({ length: 4 }, async () => renew(program, token, await prove(program, {}, second))),
    )
    expect(all.map(result)).to.deep.equal(all.map(() => accepted))
    expect(keyReads(program)).to.equal(2)
    token = all[0]?.body.refresh_token
    serveKeys(program.name, [third])
    expect(result(await renew(program, token, await prove(program, {}, third))), 'once a minute').to.deep.equal(refused)
    expect(keyReads(program)).to.equal(2)
    pass(61)
    expect(result(await renew(program, token, await prove(program, {}, third)))).to.deep.equal(accepted)
    expect(result(await renew(program, token, await prove(program))), 'the first key').to.deep.equal(refused)
  })

  it('rotate the keys in their document', async () => {
    const inline = (one: Key) => ({ ...signed, jwks_uri: undefined, jwks: { keys: [one.publicJwk] } })
    const program = await published(inline(key))
    const token = await connected(program, await prove(program))
    const second = await newKey('two')
    host.serve(program.name, validDocument(program.name, inline(second)))
    expect(result(await renew(program, token, await prove(program, {}, second)))).to.deep.equal(accepted)
  })

  it('have keys that are kept for an hour, and a day while their host is away', async () => {
    const program = await published()
    let token = await connected(program, await prove(program))
    const again = async () => {
      const answer = await renew(program, token, await prove(program))
      token = answer.body.refresh_token ?? token
      return result(answer)
    }
    pass(3_500)
    expect(await again()).to.deep.equal(accepted)
    expect(keyReads(program)).to.equal(1)
    pass(200)
    expect(await again()).to.deep.equal(accepted)
    expect(keyReads(program)).to.equal(2)
    host.isAway = true
    pass(23 * 3_600)
    expect(await again()).to.deep.equal(accepted)
    pass(3_600)
    expect(await again()).to.deep.equal([503, 'temporarily_unavailable'])
    host.isAway = false
    expect(await again(), 'the error is remembered').to.deep.equal([503, 'temporarily_unavailable'])
    pass(61)
    expect(await again()).to.deep.equal(accepted)
  })

  it('are asked to come again if the host of their keys is away', async () => {
    const program = await published()
    const code = await allow(program, user)
    host.isAway = true
    const answer = await exchange(program, code, await prove(program))
    expect([...result(answer), answer.headers['retry-after']]).to.deep.equal([503, 'temporarily_unavailable', '60'])
    expect(answer.body.error_description).to.not.include('127.0.0.1')
  })

  const keySets: Readonly<Record<string, Served>> = {
    'are absent': { status: 404 },
    'are not JSON': { body: '{' },
    'are a page': { type: 'text/html' },
    'are not a key set': { body: '{"keys":{}}' },
    'are too many': { body: JSON.stringify({ keys: [], padding: 'x'.repeat(32_768) }) },
    'are elsewhere': { status: 302, headers: { location: documentUrl('other') } },
  }
  for (const [name, served] of Object.entries(keySets))
    it(`are refused if their keys ${name}`, async () => {
      const program = await published()
      serveKeys(program.name, [key], served)
      const code = await allow(program, user)
      expect(result(await exchange(program, code, await prove(program)))).to.deep.equal(refused)
    })

  it('are refused if their private key is public', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const jwk = { ...(await exportJWK(privateKey)), kid: 'open' }
    const program = await published({ ...signed, jwks_uri: undefined, jwks: { keys: [jwk] } })
    const assertion = await new SignJWT(claimsOf(program.id))
      .setProtectedHeader({ alg: 'ES256', kid: 'open' })
      .sign(privateKey)
    const code = await allow(program, user)
    expect(result(await exchange(program, code, proof(assertion)))).to.deep.equal(refused)
  })

  it('cannot lead inside by the URL of their keys', async () => {
    const inside = ['169.254.169.254', '[::ffff:169.254.169.254]', '10.0.0.1'].map((one) => `https://${one}/keys`)
    for (const uri of [...inside, 'http://hooks.example/keys', 'file:///etc/passwd', 'keys']) {
      const program = await published({ ...signed, jwks_uri: uri })
      const code = await allow(program, user)
      const answer = await exchange(program, code, await prove(program))
      expect(result(answer), uri).to.deep.equal(refused)
    }
    for (const one of ['10.0.0.1', '169.254.169.254', '::1', '::ffff:10.0.0.1']) {
      host.address = '127.0.0.1'
      const program = await published()
      const code = await allow(program, user)
      host.address = one
      const answer = await exchange(program, code, await prove(program))
      expect(result(answer), one).to.deep.equal(refused)
      expect(answer.body.error_description).to.not.include(one)
      expect(keyReads(program)).to.equal(0)
    }
  })
})
