/** The work that `grove.settled()` waits for. */

import { expect } from 'chai'
import { follow } from '../support/event-stream.ts'
import { newGate } from '../support/gate.ts'
import { expecting } from '../support/node.ts'
import { until } from '../support/until.ts'
import { startReceiver, status } from '../webhooks/receiver.ts'
import { aHook, ann, deliveriesOf, grove, happen, pass, useScene } from '../webhooks/scene.ts'

describe('a settled service', () => {
  useScene()

  it('has the outcome of each delivery, however long the receiver takes', async () => {
    const held = newGate()
    const receiver = await startReceiver((response) => void held.opened.then(() => response.writeHead(204).end()))
    const hook = await aHook(receiver.url)
    await happen(3)
    const order: string[] = []
    const settling = grove.settled().then(() => order.push('settled'))
    while (receiver.received.length < 3) await ann.get(hook.at).then(expecting(200))
    for (let times = 0; times < 20; times++) await ann.get(hook.at).then(expecting(200))
    order.push('answered')
    held.open()
    await settling
    expect(order).to.deep.equal(['answered', 'settled'])
    const states = (await deliveriesOf(hook)).map(({ state }: { state: string }) => state)
    expect(states).to.deep.equal(['delivered', 'delivered', 'delivered'])
  })

  it('has each change in the log, the index, the streams and the deliveries', async () => {
    const receiver = await startReceiver()
    const hook = await aHook(receiver.url, { types: ['node.created'] })
    const path = `/orgs/${ann.org}/events?types=node.created`
    const stream = await follow(grove.url + path, ann.session.accessToken)
    const titles = Array.from({ length: 5 }, (_, at) => `Whale number ${at}`)
    for (const [at, title] of titles.entries()) {
      await ann.post(`/orgs/${ann.org}/nodes`, { title }).then(expecting(201))
      await grove.settled()
      const { deliveries, total } = (await ann.get(`${hook.at}/deliveries?limit=1`).then(expecting(200))).body
      expect({ total, state: deliveries[0].state }).to.deep.equal({ total: at + 1, state: 'delivered' })
      const { events } = (await ann.get(`${path}&limit=200`).then(expecting(200))).body
      const ids = events.map(({ id }: { id: string }) => id)
      expect(ids).to.have.length(at + 1)
      // Everything was written to the socket, which delivers it in its own time.
      await until(() => stream.ids().length > at)
      expect(stream.ids()).to.deep.equal(ids)
      const query = { query: title, expansion_depth: 'none', limit: 1 }
      const { body } = await ann.post(`/orgs/${ann.org}/search/retrieve`, query).then(expecting(200))
      expect(body.nodes[0].title).to.equal(title)
    }
    stream.close()
  })

  it('has done what became due at its clock, and nothing before', async () => {
    const receiver = await startReceiver(status(500))
    const hook = await aHook(receiver.url)
    await happen(1)
    const attempts = async () => {
      await grove.settled()
      return (await deliveriesOf(hook))[0].attempts
    }
    expect(await attempts()).to.equal(1)
    expect(await attempts()).to.equal(1)
    pass(6)
    expect(await attempts()).to.equal(2)
    pass(360)
    expect(await attempts()).to.equal(3)
  })

  it('is not one whose loop does not end its round', async () => {
    const round = { name: 'a loop that hangs', settle: () => isIdle }
    let isIdle = false
    grove.deps.rounds.add(round)
    let isSettled = false
    const settling = grove.settled().then(() => {
      isSettled = true
    })
    for (let times = 0; times < 20; times++) await ann.get('/auth/me').then(expecting(200))
    expect(isSettled).to.equal(false)
    isIdle = true
    await settling
    grove.deps.rounds.delete(round)
  })
})
