/** A stream ends with the caller's rights, the service, or a client that does not read. */
import { expect } from 'chai'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { streamTimes } from '../../server/http/responses/event-stream.ts'
import { type Follower, follow } from '../support/event-stream.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { anEvent, append, appendSome, eventsOf, grove, pass, useScene } from './scene.ts'

describe('a stream of events ends', () => {
  useScene()

  const { heartbeatMs, drainMs } = streamTimes
  const open: Follower[] = []
  /** Owns the organisation of the test. */
  let owner: PersonClient
  /** Reads it. */
  let cy: PersonClient
  let count = 0

  beforeEach(async () => {
    // No sign of life: only an event makes the service look.
    streamTimes.heartbeatMs = 500_000
    owner = await signUp(grove, `Owner ${++count}`)
    cy = await signUp(grove, `Cy ${count}`)
    await owner.put(`/orgs/${owner.org}/members/${cy.user.email}`, { role: 'reader' }).then(expecting(200))
  })
  afterEach(() => {
    Object.assign(streamTimes, { heartbeatMs, drainMs })
    for (const follower of open.splice(0)) follower.close()
  })

  const following = async (token: string) => {
    const follower = await follow(grove.url + eventsOf(owner.org, '?types=webhook.*'), token)
    open.push(follower)
    if (follower.status === 200) await until(() => follower.blocks.length > 0)
    return follower
  }
  const streams = async () => (await grove.deps.metrics.eventStreams.get()).values[0]?.value

  interface Case {
    readonly end: () => Promise<unknown>
    /** The status of a new stream. */
    readonly status: number
    /** The token of the stream. Default: that of the session. */
    readonly token?: () => Promise<string>
  }

  const newToken = async (more: object = {}) =>
    (await cy.post('/auth/tokens', { name: 'Follower', access: 'read', ...more }).then(expecting(201))).body
  let tokenId = ''

  const cases: Readonly<Record<string, Case>> = {
    'when the member is removed': {
      end: () => owner.delete(`/orgs/${owner.org}/members/${cy.user.email}`).then(expecting(204)),
      status: 404,
    },
    'when the session ends': {
      end: () => client(grove).post('/auth/logout', { refreshToken: cy.session.refreshToken }).then(expecting(204)),
      status: 401,
    },
    'when the account is disabled': {
      end: () =>
        updateAccount(
          { ...grove.deps, actor: operator },
          { path: { account_id: cy.user.id }, body: { disabled: true } },
        ),
      status: 401,
    },
    'when the access token expires': { end: async () => pass(16 * 60), status: 401 },
    'when the personal access token is revoked': {
      token: async () => {
        const { id, token } = await newToken()
        tokenId = id
        return token
      },
      end: () => cy.delete(`/auth/tokens/${tokenId}`).then(expecting(204)),
      status: 401,
    },
    'when the personal access token expires': {
      token: async () => {
        const now = grove.deps.now().getTime()
        return (await newToken({ expires_at: new Date(now + 60_000).toISOString() })).token
      },
      end: async () => pass(61),
      status: 401,
    },
    'when the organisation is deleted': {
      end: () => owner.delete(`/orgs/${owner.org}`).then(expecting(204)),
      status: 404,
    },
  }

  for (const [what, { end, status, token = async () => cy.session.accessToken }] of Object.entries(cases)) {
    it(`${what}, before the next event, and a new one gets the reason`, async () => {
      const secret = await token()
      const follower = await following(secret)
      await appendSome(owner.org, 1)
      await until(() => follower.ids().length === 1)
      await end()
      await appendSome(owner.org, 1)
      await until(() => follower.end() !== 'open')
      expect({ end: follower.end(), seen: follower.ids().length }).to.deep.equal({ end: 'ended', seen: 1 })
      expect((await following(secret)).status).to.equal(status)
    })

    it(`${what}, at the next sign of life`, async () => {
      streamTimes.heartbeatMs = 50
      const follower = await following(await token())
      await end()
      await until(() => follower.end() !== 'open')
      expect({ end: follower.end(), seen: follower.ids() }).to.deep.equal({ end: 'ended', seen: [] })
    })
  }

  it('when the log is cut before a client that is behind, which then gets 410', async () => {
    const follower = await following(cy.session.accessToken)
    follower.pause()
    // More than the buffers of a connection hold.
    for (let times = 0; times < 20; times++) await appendSome(owner.org, 50, { size: 16_000 })
    await grove.deps.events.write(async (trx) => {
      const { seq, chain } = await trx
        .selectFrom('log')
        .select(['seq', 'chain'])
        .where('org_id', '=', owner.org)
        .executeTakeFirstOrThrow()
      await trx.deleteFrom('event').where('org_id', '=', owner.org).execute()
      await trx.updateTable('log').set({ base_seq: seq, base_chain: chain }).where('org_id', '=', owner.org).execute()
    })
    follower.resume()
    await until(() => follower.end() !== 'open')
    expect(follower.end()).to.equal('ended')
    const again = await follow(grove.url + eventsOf(owner.org), cy.session.accessToken, {
      'last-event-id': follower.cursor(),
    })
    expect([again.status, (await again.body()).code]).to.deep.equal([410, 'cursor_gone'])
  })

  it.deep('when its client reads nothing for too long, and not before', async () => {
    const slow = await following(cy.session.accessToken)
    slow.pause()
    const ids: string[] = []
    for (let times = 0; times < 20; times++) ids.push(...(await appendSome(owner.org, 50, { size: 16_000 })))
    const quick = await following(owner.session.accessToken)
    const [last = ''] = await appendSome(owner.org, 1)
    await until(() => quick.ids().includes(last))
    slow.resume()
    await until(() => slow.ids().includes(last))
    expect(slow.ids()).to.deep.equal([...ids, last])
    // A busy machine could make it too slow as well.
    quick.close()
    streamTimes.drainMs = 300
    slow.pause()
    for (let times = 0; times < 20; times++) await appendSome(owner.org, 50, { size: 16_000 })
    await until(async () => (await streams()) === 0)
    slow.resume()
    await until(() => slow.end() !== 'open')
    expect(slow.end()).to.equal('broken')
  })

  it('when its client leaves, and is not counted any more', async () => {
    // Those of the tests before are closed, but may still be counted.
    await until(async () => (await streams()) === 0)
    const followers = [await following(cy.session.accessToken), await following(owner.session.accessToken)]
    expect(await streams()).to.equal(2)
    for (const follower of followers) follower.close()
    await until(async () => (await streams()) === 0)
  })

  it('before the service stops, without an error for its client', async () => {
    const other = await startGrove()
    const dee = await signUp(other, 'Dee')
    const follower = await follow(other.url + eventsOf(dee.org), dee.session.accessToken)
    const [id] = await append(other.deps.events, dee.org, [anEvent(dee.org)])
    await until(() => follower.ids().includes(id ?? ''))
    await other.close()
    await until(() => follower.end() !== 'open')
    expect(follower.end()).to.equal('ended')
  })
})

describe('streams of events', () => {
  useScene()

  it.deep('are at most 20 of a user and 200 of an organisation', async () => {
    const owner = await signUp(grove, 'Owner')
    const open: Follower[] = []
    const follows = async (who: PersonClient) => {
      const follower = await follow(grove.url + eventsOf(owner.org), who.session.accessToken)
      open.push(follower)
      return follower
    }
    for (let streams = 0; streams < 20; streams++) expect((await follows(owner)).status).to.equal(200)
    const refused = await follows(owner)
    expect([refused.status, refused.headers['retry-after'], (await refused.body()).code]).to.deep.equal([
      429,
      '30',
      'too_many_streams',
    ])
    open[0]?.close()
    await until(async () => (await follows(owner)).status === 200)
    const members: PersonClient[] = []
    for (let at = 0; at < 10; at++) {
      const member = await signUp(grove, `Member ${at}`)
      await owner.put(`/orgs/${owner.org}/members/${member.user.email}`, { role: 'reader' }).then(expecting(200))
      members.push(member)
    }
    let most = 20
    for (const member of members)
      for (let streams = 0; streams < 19; streams++) if ((await follows(member)).status === 200) most++
    expect(most).to.equal(200)
    const [member = owner] = members
    const elsewhere = await follow(grove.url + eventsOf(member.org), member.session.accessToken)
    expect(elsewhere.status).to.equal(200)
    for (const follower of [...open, elsewhere]) follower.close()
  })
})
