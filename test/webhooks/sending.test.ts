/** The requests that receivers get, and how often. */
import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { startReceiver, status } from './receiver.ts'
import { aHook, ann, deliveriesOf, grove, happen, pass, read, settledAll, settledAttempts, useScene } from './scene.ts'

/** The signature by openssl, which knows nothing of this service. */
function signatureOf(secret: string, signed: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('hex')
  const arguments_ = ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key}`, '-binary']
  return `v1,${execFileSync('openssl', arguments_, { input: signed }).toString('base64')}`
}

describe('messages to webhooks', () => {
  useScene()

  it('are the events of the log, signed with the secret', async () => {
    const receiver = await startReceiver()
    const hook = await aHook(receiver.url)
    const [id] = await happen(1)
    await settledAll(hook, 1, 'delivered')
    const [{ headers, body }] = receiver.received as [(typeof receiver.received)[number]]
    expect({ ...JSON.parse(body), seq: 0 }).to.deep.equal({
      specversion: '1.0',
      id,
      source: `/orgs/${ann.org}`,
      type: 'node.updated',
      time: '2026-01-01T00:00:00.000Z',
      datacontenttype: 'application/json',
      seq: 0,
      data: { title: 'Whales' },
    })
    expect(headers['content-type']).to.equal('application/json')
    expect(headers['user-agent']).to.match(/^Grove-Webhook\/\d+\.\d+\.\d+$/)
    expect([headers['webhook-id'], headers['webhook-timestamp']]).to.deep.equal([id, '1767225600'])
    expect(headers['webhook-signature']).to.equal(signatureOf(hook.secret, `${id}.1767225600.${body}`))
  })

  it('are only of the types, and of the node, that the webhook wants', async () => {
    const [all, pulls, one] = [await startReceiver(), await startReceiver(), await startReceiver()]
    const nodeId = '01980a60-1f00-7a33-b2d4-6c8e0f1a2b03'
    await aHook(all.url, { types: ['*'] })
    await aHook(pulls.url, { types: ['pull_request.*', 'tag.created'] })
    const { body: node } = await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Krill' })
    await aHook(one.url, { types: ['*'], node_id: node.id, content_type: 'application/cloudevents+json' })
    const wanted = [
      ...(await happen(1, { type: 'pull_request.merged', nodeId })),
      ...(await happen(1, { type: 'node.updated', nodeId: node.id })),
      ...(await happen(1, { type: 'tag.created', nodeId })),
      ...(await happen(1, { type: 'org.updated' })),
    ]
    const idsAt = ({ received }: typeof all) => received.map(({ headers }) => headers['webhook-id'])
    await grove.settled()
    expect(idsAt(all)).to.include.members(wanted)
    expect(idsAt(pulls)).to.have.members([wanted[0], wanted[2]])
    expect(idsAt(one).filter((id) => wanted.includes(`${id}`))).to.deep.equal([wanted[1]])
    expect(one.received[0]?.headers['content-type']).to.equal('application/cloudevents+json')
  })

  it('begin with the present when a webhook is created', async () => {
    await happen(3)
    const receiver = await startReceiver()
    const hook = await aHook(receiver.url)
    const ids = await happen(2)
    await settledAll(hook, 2, 'delivered')
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).to.have.members(ids)
  })

  it('are tried ten times, at the times of the table, and then fail', async () => {
    const receiver = await startReceiver(status(500))
    const hook = await aHook(receiver.url)
    const [id] = await happen(1)
    const [minute, hour] = [60, 3600]
    const waits = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
    for (const [at, wait] of waits.entries()) {
      await settledAttempts(hook, at + 1)
      const [{ state, last_attempt_at, next_attempt_at }] = await deliveriesOf(hook)
      const planned = (Date.parse(next_attempt_at) - Date.parse(last_attempt_at)) / 1000
      expect(planned, `after attempt ${at + 1}`).to.be.within(0.8 * wait, 1.2 * wait)
      expect(state).to.equal('pending')
      pass(1.2 * wait)
    }
    await settledAll(hook, 1, 'failed')
    const [delivery] = await deliveriesOf(hook)
    expect(delivery).to.include({
      attempts: 10,
      status: 500,
      error: 'The receiver answered 500. Only 2xx counts as received.',
    })
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).to.deep.equal(Array(10).fill(id))
    const stamps = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect(stamps).to.deep.equal([...new Set(stamps)].sort((a, b) => a - b))
  })

  it('wait as long as the receiver asks, up to a day', async () => {
    for (const [header, least, most] of [
      ['7200', 7_200, 7_200],
      ['31536000', 86_400, 86_400],
      [new Date(Date.UTC(2000, 1, 1)).toUTCString(), 4, 6],
      ['soon', 4, 6],
    ] as const) {
      const receiver = await startReceiver(status(503, { 'retry-after': header }))
      const hook = await aHook(receiver.url)
      await happen(1)
      await settledAttempts(hook, 1)
      const [{ last_attempt_at, next_attempt_at }] = await deliveriesOf(hook)
      const wait = (Date.parse(next_attempt_at) - Date.parse(last_attempt_at)) / 1000
      expect(wait, header).to.be.within(least, most)
      expect((await read(hook)).state).to.equal('paused')
      await ann.delete(hook.at)
    }
  })

  it('wait while one probes, and all leave when it arrives', async () => {
    const receiver = await startReceiver(status(502))
    const hook = await aHook(receiver.url)
    await happen(1)
    await settledAttempts(hook, 1)
    await happen(5)
    await grove.settled()
    const before = await read(hook)
    expect(before).to.include({
      pending: 6,
      state: 'paused',
      active: true,
      failing_since: before.next_attempt_at && before.failing_since,
    })
    pass(6)
    // The probe is the first delivery or a new one. Its outcome sets the time of the next.
    await grove.settled()
    const all: { attempts: number }[] = await deliveriesOf(hook)
    expect(all.reduce((sum, { attempts }) => sum + attempts, 0)).to.equal(2)
    receiver.answer = status(200)
    pass(360)
    await settledAll(hook, 6, 'delivered')
    expect(await read(hook))
      .to.include({ state: 'active', pending: 0 })
      .and.not.to.have.any.keys('failing_since', 'reason')
  })

  it('disable the webhook if the receiver answers 410', async () => {
    const receiver = await startReceiver(status(410))
    const [hook, witness] = [await aHook(receiver.url), await startReceiver()]
    const other = await aHook(witness.url, { types: ['webhook.*'] })
    const [refused] = await happen(1)
    await settledAttempts(hook, 1)
    expect(await read(hook)).to.include({ state: 'disabled', active: false, reason: 'gone', pending: 1 })
    await settledAll(other, 1, 'delivered')
    expect(JSON.parse(witness.received[0]?.body ?? '')).to.deep.include({
      type: 'webhook.disabled',
      data: { actor: { kind: 'service', name: 'Grove' }, webhook_id: hook.id, reason: 'gone' },
    })
    const { entries } = (await ann.get(`/orgs/${ann.org}/audit?action=webhook.disabled&actor=service`)).body
    expect(
      entries.map(({ target, detail }: { target: unknown; detail: unknown }) => ({ target, detail })),
    ).to.deep.include({ target: { type: 'webhook', id: hook.id }, detail: { reason: 'gone' } })
    const missed = await happen(2)
    receiver.answer = status(200)
    expect((await ann.patch(hook.at, { active: true })).body).to.include({ state: 'active', active: true })
    await settledAll(hook, 3, 'delivered')
    // It continues where it stopped: with the event that was answered 410.
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids.slice(0, 2)).to.deep.equal([refused, refused])
    expect(ids.slice(2)).to.have.members(missed)
    await settledAll(other, 2, 'delivered')
    expect(JSON.parse(witness.received[1]?.body ?? '')).to.deep.include({ type: 'webhook.enabled' })
  })

  it('leave out the event that was answered 410 if an owner asks for later events only', async () => {
    const receiver = await startReceiver(status(410))
    const hook = await aHook(receiver.url, { ordered: true })
    await happen(1)
    await settledAttempts(hook, 1)
    receiver.answer = status(200)
    await ann.patch(hook.at, { active: true, from: 'now' }).then(expecting(200))
    const [later] = await happen(1)
    await grove.settled()
    expect(await deliveriesOf(hook, '&state=delivered')).to.have.length(1)
    expect(receiver.received.slice(1).map(({ headers }) => headers['webhook-id'])).to.deep.equal([later])
    const [{ error }] = await deliveriesOf(hook, '&state=failed')
    expect(error).to.equal('An owner left it out.')
  })

  it('do not follow redirects', async () => {
    const target = await startReceiver()
    const receiver = await startReceiver(status(307, { location: target.url }))
    const hook = await aHook(receiver.url)
    await happen(1)
    await settledAttempts(hook, 1)
    const [{ status: answered, error }] = await deliveriesOf(hook)
    expect({ answered, error }).to.deep.equal({
      answered: 307,
      error: 'The receiver answered 307, a redirect, which is not followed. Change the URL of the webhook.',
    })
    expect(target.received).to.deep.equal([])
  })

  it('disable the webhook if none arrives for five days', async () => {
    const receiver = await startReceiver(status(500))
    const hook = await aHook(receiver.url)
    await happen(1)
    const recorded = async () =>
      (await deliveriesOf(hook)).reduce((sum: number, { attempts }: { attempts: number }) => sum + attempts, 0)
    // One a day probes, although three wait.
    for (let attempts = 1; attempts < 6; attempts += 1) {
      await grove.settled()
      expect(await recorded()).to.equal(attempts)
      if (attempts === 1) await happen(2)
      expect((await read(hook)).state, `after ${attempts} attempts`).to.equal('paused')
      pass(24 * 3600)
    }
    await grove.settled()
    expect(await read(hook)).to.include({ state: 'disabled', reason: 'failing' })
    await ann.patch(hook.at, { active: true, from: 'now' })
    expect(await read(hook)).to.include({ state: 'active', pending: 0 })
  })
})
