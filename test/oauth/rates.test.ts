/** How often programs may ask for tokens, and users for the consent page. */

import { expect } from 'chai'
import { type Visit, visitOf } from '../pages/forms.ts'
import { startBehindProxy } from '../support/behind-proxy.ts'
import { askToken, connectProgram, register, renew } from '../support/connector.ts'
import type { Grove } from '../support/grove.ts'
import { type Answer, client, type PersonClient, signUp } from '../support/people.ts'

const from = (address: string) => ({ 'x-forwarded-for': address })

describe('the limits of requests by programs', () => {
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient

  before(async () => {
    grove = await startBehindProxy()
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
  })
  after(() => grove.close())

  /** Asks until the limit. Returns the number of answers before it, and the answer that refuses. */
  async function until429(ask: () => Promise<Answer>, most = 400): Promise<[number, Answer]> {
    for (let count = 0; ; count++) {
      const answer = await ask()
      if (answer.status === 429 || count === most) return [count, answer]
      expect(answer.status, JSON.stringify(answer.body)).to.be.lessThan(500)
    }
  }

  function expectUnavailable({ status, body, headers }: Answer): void {
    expect({ status, error: body.error }).to.deep.equal({ status: 429, error: 'temporarily_unavailable' })
    expect(Number(headers['retry-after'])).to.be.within(1, 60)
    expect(headers['cache-control']).to.equal('no-store')
  }

  const wrong = { grant_type: 'authorization_code', code: 'x', code_verifier: 'x', redirect_uri: 'x' }

  it.deep('let 300 requests a minute of an address for each program ask for tokens', async () => {
    const [one, other] = [await register(grove), await register(grove, { name: 'Another' })]
    const [count, refused] = await until429(() => askToken(one, wrong, from('192.0.2.1')))
    expect(count).to.equal(300)
    expectUnavailable(refused)
    const form = new URLSearchParams({ token: 'x', client_id: one.id }).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const revoked = await client(grove).post('/oauth/revoke', form, { ...type, ...from('192.0.2.1') })
    expect(revoked.status, 'revocations count too').to.equal(429)
    expect((await askToken(other, wrong, from('192.0.2.1'))).body.error).to.equal('invalid_grant')
    expect((await askToken(one, wrong, from('192.0.2.2'))).body.error).to.equal('invalid_grant')
  })

  it.deep('let 300 programs a minute of an address register, also if each has another name', async () => {
    let number = 0
    const body = () => ({ client_name: `P${++number}`, redirect_uris: ['http://127.0.0.1/x'] })
    const ask = (address: string) => client(grove).post('/oauth/register', body(), from(address))
    const [count, refused] = await until429(() => ask('192.0.2.1'))
    expect(count).to.equal(300)
    expectUnavailable(refused)
    expect((await ask('192.0.2.2')).status).to.equal(201)
  })

  it('let 30 renewals a minute of one connection pass, and end no connection', async () => {
    const one = await connectProgram(grove, ann)
    const other = await connectProgram(grove, ann)
    let secret = one.refreshToken
    const [count, refused] = await until429(async () => {
      const answer = await renew(one.program, secret)
      secret = answer.body.refresh_token ?? secret
      return answer
    })
    expect(count).to.equal(30)
    expectUnavailable(refused)
    expect((await renew(other.program, other.refreshToken)).status).to.equal(200)
    expect((await one.get('/auth/me')).status).to.equal(200)
  })

  it('let 30 consent pages a minute of one user open, and say how long to wait', async () => {
    const program = await register(grove)
    const path = `/oauth/authorize?${new URLSearchParams(program.request)}`
    const open = (user: Visit) => user.open(path)
    const [first, second] = [await visitOf(grove, bob), await visitOf(grove, ann)]
    const [count, refused] = await until429(() => open(first))
    expect(count).to.equal(30)
    expect(Number(refused.headers['retry-after'])).to.be.within(1, 60)
    const denied = await first.send('/oauth/authorize', { ...program.request, act: 'deny' })
    expect(denied.status, 'answers count too').to.equal(429)
    expect((await open(second)).status).to.equal(200)
  })
})
