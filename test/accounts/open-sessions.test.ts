/** The sessions that a person has open: listed, ended, and what an access token is worth afterwards. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { expecting } from '../support/node.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const badToken = { status: 401, body: { detail: 'The token is invalid, expired or revoked', code: 'invalid_token' } }
const noSession = { status: 404, body: { detail: 'Session not found', code: 'session_not_found' } }
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const minute = 60_000

type Body = Answer['body']

describe('open sessions', () => {
  const { grove } = useWorld({}, { now: () => new Date(time) })
  let ann: PersonClient
  let time = new Date('2026-01-01T00:00:00Z').getTime()

  beforeEach(async () => {
    ann = await signUp(grove, `Ann ${randomUUID()}`)
  })

  const logIn = async (headers: Record<string, string> = {}): Promise<Body> => {
    const credentials = { email: ann.user.email, password }
    return (await client(grove).post('/auth/login', credentials, headers).then(expecting(200))).body
  }
  const list = async (who = ann): Promise<Body[]> =>
    (await who.get('/auth/sessions').then(expecting(200))).body.sessions
  const me = (session: Body) => client(grove, session.accessToken).get('/auth/me')
  const sessionOf = ({ accessToken }: { accessToken: string }) => String(decodeJwt(accessToken).sid)

  it('are listed with where and how each began, the newest first, by pages', async () => {
    const created_at = new Date(time).toISOString()
    time += minute
    const second = await logIn({ 'user-agent': firefox })
    const now = new Date(time).toISOString()
    const here = { address: '127.0.0.0/24', method: 'password' }
    const newest = {
      id: sessionOf(second),
      current: false,
      created_at: now,
      last_used_at: now,
      user_agent: firefox,
      ...here,
    }
    const first = { id: sessionOf(ann.session), current: true, created_at, user_agent: 'node', ...here }
    const [one, { last_used_at: _, ...other }] = await list()
    expect([one, other]).to.deep.equal([newest, first])
    const { body, headers } = await ann.get('/auth/sessions?limit=1').then(expecting(200))
    expect(body).to.deep.equal({ sessions: [newest], total: 2, limit: 1, offset: 0 })
    expect(headers.link).to.contain('offset=1')
  })

  it('say when they were last used, to the minute, and so does the account', async () => {
    const lastUse = async () => (await list()).find(({ current }) => current).last_used_at
    time += minute
    await ann.get('/auth/me').then(expecting(200))
    await until(async () => (await lastUse()) === new Date(time).toISOString())
  })

  it('keep of a client what can be shown: 200 characters, no line feeds', async () => {
    await logIn({ 'user-agent': `${'x'.repeat(300)}` })
    expect((await list())[0].user_agent).to.equal('x'.repeat(200))
  })

  it('leave those out that were ended or have run out', async () => {
    const other = await logIn()
    await client(grove).post('/auth/logout', { refreshToken: other.refreshToken }).then(expecting(204))
    expect((await list()).map(({ id }) => id)).to.deep.equal([sessionOf(ann.session)])
    time += 30 * 24 * 60 * minute
    const fresh = client(grove, (await logIn()).accessToken)
    expect((await list({ ...ann, ...fresh })).length).to.equal(1)
  })

  it('end by id, the own one too, and their access tokens end with them', async () => {
    const other = await logIn()
    await me(other).then(expecting(200))
    await ann.delete(`/auth/sessions/${sessionOf(other)}`).then(expecting(204))
    expect(await me(other)).to.deep.equal(badToken)
    expect((await client(grove).post('/auth/refresh', { refreshToken: other.refreshToken })).status).to.equal(401)
    expect(await ann.delete(`/auth/sessions/${sessionOf(other)}`)).to.deep.equal(noSession)
    await ann.delete(`/auth/sessions/${sessionOf(ann.session)}`).then(expecting(204))
    expect(await ann.get('/auth/me')).to.deep.equal(badToken)
  })

  it('end all but the own one, and personal access tokens stay valid', async () => {
    const others = [await logIn(), await logIn()]
    const { token } = (await ann.post('/auth/tokens', { name: 'Laptop', access: 'read' }).then(expecting(201))).body
    await ann.delete('/auth/sessions').then(expecting(204))
    for (const other of others) expect(await me(other)).to.deep.equal(badToken)
    expect(await list()).to.have.length(1)
    await client(grove, token).get('/auth/me').then(expecting(200))
  })

  it('of another person cannot be ended, nor one that nobody has', async () => {
    const bob = await signUp(grove, `Bob ${randomUUID()}`)
    for (const id of [sessionOf(bob.session), randomUUID(), 'x']) {
      expect(await ann.delete(`/auth/sessions/${id}`)).to.deep.equal(noSession)
    }
    await bob.get('/auth/me').then(expecting(200))
  })

  it('end with a logout, and with a change of the password', async () => {
    const other = await logIn()
    await client(grove).post('/auth/logout', { refreshToken: other.refreshToken }).then(expecting(204))
    expect(await me(other)).to.deep.equal(badToken)
    const third = await logIn()
    await ann.post('/auth/password', { old_password: password, new_password: password }).then(expecting(200))
    expect(await me(third)).to.deep.equal(badToken)
    expect(await me(ann.session)).to.deep.equal(badToken)
  })
})
