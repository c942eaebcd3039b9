/** Receivers that misbehave, orders that are kept, and what survives a loss. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { startReceiver, status } from './receiver.ts'
import { aHook, ann, deliveriesOf, grove, happen, pass, read, settledAll, settledAttempts, useScene } from './scene.ts'

describe('webhooks whose receivers misbehave', () => {
  useScene()

  it('give up after 15 seconds without an answer, or with one that never ends', async () => {
    const silent = await startReceiver(() => {})
    const trickling = await startReceiver((response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('.'), 500)
      response.on('close', () => clearInterval(timer))
    })
    const hooks = [await aHook(silent.url), await aHook(trickling.url)]
    await happen(1)
    for (const hook of hooks) {
      await settledAttempts(hook, 1)
      const [{ state, error, ms }] = await deliveriesOf(hook)
      expect({ state, error }).to.deep.equal({
        state: 'pending',
        error: '127.0.0.1 did not complete its answer within 15 seconds.',
      })
      expect(ms).to.be.at.least(14_900)
      expect((await read(hook)).state).to.equal('paused')
    }
  })

  it('read little of an endless answer, and keep its beginning', async () => {
    const receiver = await startReceiver((response) => {
      response.writeHead(200)
      const more = () => {
        while (response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    const hook = await aHook(receiver.url)
    await happen(1)
    await settledAll(hook, 1, 'delivered')
    const [{ id }] = await deliveriesOf(hook)
    const { response } = (await ann.get(`${hook.at}/deliveries/${id}`)).body
    expect(response).to.deep.equal({ status: 200, body: 'x'.repeat(1_024) })
  })

  it('send in order, one at a time, if they are ordered', async () => {
    let running = 0
    let most = 0
    let failures = 2
    const receiver = await startReceiver((response) => {
      most = Math.max(most, ++running)
      setTimeout(() => {
        running -= 1
        response.writeHead(failures-- > 0 ? 500 : 204).end()
      }, 20)
    })
    const hook = await aHook(receiver.url, { ordered: true })
    const ids = await happen(6)
    await settledAttempts(hook, 1)
    pass(6)
    await settledAttempts(hook, 2)
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).to.deep.equal([ids[0], ids[0]])
    pass(361)
    await settledAll(hook, 6, 'delivered')
    const order = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(order).to.deep.equal([ids[0], ids[0], ...ids])
    expect(most).to.equal(1)
  })

  it.deep('plan a thousand deliveries ahead, and the rest later', async () => {
    const receiver = await startReceiver(status(500))
    const hook = await aHook(receiver.url)
    await happen(1_100)
    await grove.settled()
    expect((await read(hook)).pending).to.be.within(801, 1_000)
    receiver.answer = status(204)
    await ann.post(`${hook.at}/ping`).then(expecting(200))
    await grove.settled()
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).to.equal(1_101)
    // The time of those that failed comes.
    pass(400)
    await grove.settled()
    expect((await read(hook)).pending).to.equal(0)
    // Those that ended are kept up to 1,000, until the next are planned.
    const { total } = (await ann.get(`${hook.at}/deliveries?limit=1`)).body
    expect(total).to.be.within(1_000, 1_100)
  })
})

describe('webhooks', () => {
  it('get the end of an organisation, and the beginning of a log after events.sqlite was lost', async () => {
    const dataDir = await newDataDir()
    const first = await startGrove({ dataDir })
    const eve = await signUp(first, 'Eve')
    const receiver = await startReceiver()
    const types = () => receiver.received.map(({ body }) => JSON.parse(body).type)
    const { id: org } = (await eve.post('/orgs', { name: 'Atlas' }).then(expecting(201))).body
    await eve.post(`/orgs/${org}/webhooks`, { url: receiver.url }).then(expecting(201))
    const node = (await eve.post(`/orgs/${org}/nodes`, { title: 'Whales' }).then(expecting(201))).body
    await first.settled()
    expect(types()).to.include('node.created')
    await first.close()
    for (const more of ['', '-wal', '-shm']) await rm(join(dataDir, `events.sqlite${more}`), { force: true })
    const second = await startGrove({ dataDir })
    const again = client(second, eve.session.accessToken)
    await again.patch(`/orgs/${org}/nodes/${node.id}`, { title: 'Krill' }).then(expecting(200))
    await again.delete(`/orgs/${org}`).then(expecting(204))
    await second.settled()
    expect(types()).to.include.members(['log.began', 'node.updated', 'org.deleted'])
    await second.close()
    await rm(dataDir, { recursive: true })
  })

  it('are not sent to the service itself', async () => {
    const grove = await startGrove({ publicUrl: 'https://grove.example.org' })
    const eve = await signUp(grove, 'Eve')
    const { status: code, body } = await eve.post(`/orgs/${eve.org}/webhooks`, { url: 'https://grove.example.org/x' })
    expect(code).to.equal(422)
    expect(body.detail[0]).to.deep.include({ loc: ['body', 'url'] })
    await grove.close()
  })
})
