/** Programs that sign assertions with their keys: private_key_jwt. */

import { expect } from 'chai'
import { SignJWT } from 'jose'
import { sendForm } from '../pages/forms.ts'
import { allow, exchange, renew } from '../support/connector.ts'
import { documentUrl } from '../support/documents.ts'
import {
  accepted,
  ann,
  assertionType,
  claimsOf,
  connected,
  either,
  grove,
  key,
  keyReads,
  newKey,
  pass,
  proof,
  prove,
  published,
  refused,
  result,
  seconds,
  signed,
  there,
  user,
  useSigners,
} from './signers.ts'

describe('programs that sign assertions', () => {
  useSigners()

  it('exchange a code, renew and revoke with an assertion, and never without one', async () => {
    const program = await published()
    const code = await allow(program, user)
    expect(result(await exchange(program, code))).to.deep.equal(refused)
    const first = await exchange(program, code, await prove(program))
    expect(result(first), JSON.stringify(first.body)).to.deep.equal(accepted)
    const token = first.body.refresh_token
    expect(result(await renew(program, token))).to.deep.equal(refused)
    const second = await renew(program, token, await prove(program, { aud: `${grove.url}/oauth/token` }))
    expect(result(second)).to.deep.equal(accepted)
    const end = async (more: object) =>
      sendForm(grove, '/oauth/revoke', { client_id: program.id, token: second.body.refresh_token, ...more })
    expect(result(await end({}))).to.deep.equal(refused)
    const { total } = (await ann.get('/auth/connections')).body
    expect((await end(await prove(program))).status).to.equal(200)
    expect((await ann.get('/auth/connections')).body.total).to.equal(total - 1)
  })

  it('need no client_id, which the assertion names', async () => {
    const program = await published()
    const token = await connected(program, await prove(program))
    const fields = { grant_type: 'refresh_token', refresh_token: token, ...(await prove(program)) }
    expect(result(await sendForm(grove, '/oauth/token', fields))).to.deep.equal(accepted)
  })

  it('have their keys in the document', async () => {
    const program = await published({ ...signed, jwks_uri: undefined, jwks: { keys: [key.publicJwk] } })
    await connected(program, await prove(program))
    expect(keyReads(program)).to.equal(0)
  })

  for (const alg of ['ES256', 'ES384', 'EdDSA', 'RS256', 'PS256'])
    it(`sign with ${alg}`, async () => {
      const other = await newKey('other', alg)
      const program = await published(signed, [key, other])
      await connected(program, await prove(program, {}, other))
    })

  const wrong: Readonly<Record<string, () => object>> = {
    'another issuer': () => ({ iss: documentUrl('other') }),
    'another subject': () => ({ sub: documentUrl('other') }),
    'no issuer': () => ({ iss: undefined }),
    'another audience': () => ({ aud: 'https://other.example' }),
    'no audience': () => ({ aud: [] }),
    'another server in its audience': () => ({ aud: [grove.url, 'https://other.example'] }),
    'no end': () => ({ exp: undefined }),
    'an end that is past': () => ({ exp: seconds() - 61 }),
    'an end that is a text': () => ({ exp: '9' }),
    'an end that is too far away': () => ({ exp: seconds() + 361 }),
    'a beginning in the future': () => ({ nbf: seconds() + 61 }),
    'a time in the future': () => ({ iat: seconds() + 61 }),
    'no id': () => ({ jti: undefined }),
    'an id that is too long': () => ({ jti: 'x'.repeat(513) }),
    'an id that is a number': () => ({ jti: 1 }),
  }
  it('are refused with a wrong claim, before their keys are read', async () => {
    const program = await published()
    const code = await allow(program, user)
    for (const [name, claims] of Object.entries(wrong))
      expect(result(await exchange(program, code, await prove(program, claims()))), name).to.deep.equal(refused)
    expect(keyReads(program)).to.equal(0)
    expect(result(await exchange(program, code, await prove(program)))).to.deep.equal(accepted)
  })

  it('are refused without a signature of one of their keys', async () => {
    const program = await published()
    const code = await allow(program, user)
    const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = text(claimsOf(program.id))
    const secret = new TextEncoder().encode(JSON.stringify(key.publicJwk))
    const stranger = await newKey(key.kid)
    const [head, , signature] = (await key.sign(claimsOf(program.id))).split('.')
    const sent: Readonly<Record<string, string>> = {
      'alg none': `${text({ alg: 'none' })}.${claims}.`,
      'alg HS256, by the public key': await new SignJWT(claimsOf(program.id))
        .setProtectedHeader({ alg: 'HS256', kid: key.kid })
        .sign(secret),
      'another key with the same kid': await stranger.sign(claimsOf(program.id)),
      'claims of another assertion': `${head}.${claims}.${signature}`,
      'a key in the header': await stranger.sign(claimsOf(program.id), { jwk: stranger.publicJwk }),
      'no JWT': 'x.y.z',
      'too long': `${'x'.repeat(8_193)}`,
    }
    for (const [name, assertion] of Object.entries(sent))
      expect(result(await exchange(program, code, proof(assertion))), name).to.deep.equal(refused)
    const other = { ...(await prove(program)), client_assertion_type: 'urn:other' }
    expect(result(await exchange(program, code, other))).to.deep.equal([400, 'invalid_request'])
    expect(result(await exchange(program, code, { client_assertion_type: assertionType }))).to.deep.equal([
      400,
      'invalid_request',
    ])
    expect(result(await exchange(program, code, await prove(program)))).to.deep.equal(accepted)
  })

  it('use an assertion once, in all processes', async () => {
    const program = await published()
    const used = await prove(program)
    const token = await connected(program, used)
    const elsewhere = { ...program, grove: there }
    expect(result(await renew(program, token, used))).to.deep.equal(refused)
    expect(result(await renew(elsewhere, token, used))).to.deep.equal(refused)
    const next = await prove(program)
    const both = await Promise.all(
      Array.from({ length: 10 }, (_, n) => renew(n % 2 ? program : elsewhere, token, next)),
    )
    expect(both.filter(({ status }) => status === 200)).to.have.lengthOf(1)
    pass(362)
    expect(result(await renew(program, token, used)), 'it has expired').to.deep.equal(refused)
  })

  it('are held to assertions for the life of a connection that has sent one', async () => {
    const program = await published(either)
    const free = await connected(program, {})
    const held = await connected(program, await prove(program))
    expect(result(await renew(program, held))).to.deep.equal(refused)
    expect(result(await renew(program, free))).to.deep.equal(accepted)
  })

  it('make the service read keys only with a code or token of theirs', async () => {
    const [program, other] = [await published(), await published()]
    const code = await allow(program, user)
    const token = await connected(other, await prove(other))
    for (const answer of [
      await exchange(program, 'grv_code_x', await prove(program)),
      await renew(program, 'grv_renew_x', await prove(program)),
      await renew(program, token, await prove(program)),
      await exchange(program, code, await prove(program, { aud: 'https://other.example' })),
    ])
      expect(answer.status).to.be.oneOf([400, 401])
    const end = { client_id: program.id, token: 'grv_renew_x', ...(await prove(program)) }
    expect((await sendForm(grove, '/oauth/revoke', end)).status).to.equal(200)
    expect(keyReads(program)).to.equal(0)
  })
})
