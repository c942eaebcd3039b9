/** How often one may ask. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { client, password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('rate limits', () => {
  const { grove } = useWorld({}, { rateLimit: true })
  let newAccount: Promise<{ accessToken: string; user: { id: string; org_id: string } }>
  before(async () => {
    // Before the first test uses up the sign-ups.
    newAccount = made(client(grove).post('/auth/signup', { email: 'ann@example.org', password }))
    await newAccount
  })

  it('allow a hundred sign-ups an hour from one address', async () => {
    const signup = (round: number) => client(grove).post('/auth/signup', { email: `${round}@example.org`, password })
    expect((await signup(0)).status).to.equal(201)
    // One that is refused because there is such an account costs no hash, and counts.
    for (let round = 1; round < 99; round++) expect((await signup(0)).status).to.equal(409)
    const answer = await signup(1)
    const wait = answer.headers['retry-after']
    expect(answer).to.deep.equal({
      status: 429,
      body: {
        detail: `Too many requests; try again in ${Number(wait).toLocaleString('en')} seconds`,
        code: 'rate_limited',
      },
    })
    expect(answer.headers).to.include({ 'ratelimit-policy': '"signup";q=100;w=3600' })
    expect(Number(wait)).to.be.within(3000, 3600)
    expect(answer.headers.ratelimit).to.equal(`"signup";r=0;t=${answer.headers['retry-after']}`)
  })

  it.deep('allow ten failed logins a minute to one account, and thirty from one address', async () => {
    const login = (email: string) => client(grove).post('/auth/login', { email, password: 'wrong password' })
    for (let round = 0; round < 10; round++) expect((await login('a@example.org')).status).to.equal(401)
    expect((await login('A@example.org')).status).to.equal(429)
    for (let round = 0; round < 20; round++) expect((await login(`b${round}@example.org`)).status).to.equal(401)
    const answer = await login('c@example.org')
    expect(answer).to.deep.equal({
      status: 429,
      body: { detail: 'Too many failed sign-ins from this address; try again in 60 seconds', code: 'rate_limited' },
    })
    expect(answer.headers).to.include({ 'ratelimit-policy': '"sign-in";q=30;w=60', 'retry-after': '60' })
  })

  it('allow a user 120 comments and reviews a minute, in addition to reads', async () => {
    const { accessToken, user } = await newAccount
    const ann = client(grove, accessToken)
    const pull = `/orgs/${user.org_id}/nodes/${user.id}/pull-requests/1`
    for (let round = 0; round < 120; round++)
      expect((await ann.post(`${pull}/comments`, { text: 'Whales sing.' })).status).to.equal(404)
    expect((await ann.post(`${pull}/comments`, { text: ' ', thread: 0 })).status, 'invalid').to.equal(422)
    const { status, headers } = await ann.patch(`${pull}/threads/1`, { resolved: true })
    expect(status).to.equal(429)
    expect(headers).to.include({ 'ratelimit-policy': '"talk";q=120;w=60' })
    expect((await ann.get(`${pull}/threads`)).status).to.equal(404)
  })

  it.deep('allow a user six hundred reports of checks a minute', async () => {
    const { accessToken, user } = await newAccount
    const ann = client(grove, accessToken)
    const check = `/orgs/${user.org_id}/nodes/${user.id}/checks/${'1'.repeat(40)}/links`
    for (let round = 0; round < 600; round++) expect((await ann.put(check, { state: 'success' })).status).to.equal(404)
    expect((await ann.put(check, { state: 'fine' })).status, 'invalid').to.equal(422)
    const { status, headers } = await ann.put(`${check}%20too`, { state: 'success' })
    expect(status).to.equal(429)
    expect(headers).to.include({ 'ratelimit-policy': '"checks";q=600;w=60' })
    expect(Number(headers['retry-after'])).to.be.within(1, 60)
  })

  it('allow six thousand of everything else a minute, and say how many are left', async () => {
    const { headers } = await client(grove).get('/orgs/none')
    expect(headers['ratelimit-policy']).to.equal('"default";q=6000;w=60')
    expect(headers.ratelimit).to.match(/^"default";r=\d+;t=\d+$/)
  })

  it('do not apply to health checks', async () => {
    expect((await client(grove).get('/healthz')).headers).to.not.have.property('ratelimit')
  })
})
