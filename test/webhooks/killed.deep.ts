/** Two services on one folder send webhooks, and are killed. */
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { startReceiver, status } from './receiver.ts'

/** Changes of a node, which are as many events, between two kills. */
const changes = 12
const kills = 3

describe('webhooks of two services on one folder, of which one is killed again and again', () => {
  const environment = { FETCH_ALLOW: '127.0.0.1', WEBHOOK_HTTP: 'on' }
  let dataDir: string
  let steady: SpawnedGrove
  let ann: PersonClient

  before(async () => {
    dataDir = await newDataDir()
    steady = await spawnGrove(dataDir, environment)
    ann = await signUp(steady, 'Ann')
  })
  after(async () => {
    await steady.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('plan each event once, and send each at least once, under one id', async () => {
    let count = 0
    const seen = new Set<unknown>()
    const receiver = await startReceiver((response, message) => {
      count += 1
      // A failure of a first attempt, or a slow answer now and then, so that kills find claims.
      const isFirst = !seen.has(message.headers['webhook-id'])
      seen.add(message.headers['webhook-id'])
      setTimeout(() => status(isFirst && count % 10 === 0 ? 500 : 204)(response, message), count % 3 === 0 ? 200 : 0)
    })
    const { id } = (
      await ann.post(`/orgs/${ann.org}/webhooks`, { url: receiver.url, types: ['node.updated'] }).then(expecting(201))
    ).body
    const hook = `/orgs/${ann.org}/webhooks/${id}`
    const node = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales' }).then(expecting(201))).body
    let made = 0
    for (let kill = 0; kill < kills; kill += 1) {
      const other = await spawnGrove(dataDir, environment)
      const by = [ann, client(other, ann.session.accessToken)]
      for (let n = 0; n < changes; n += 1) {
        const title = `Whales ${made++}`
        await by[n % 2]?.patch(`/orgs/${ann.org}/nodes/${node.id}`, { title }).then(expecting(200))
      }
      await other.kill()
    }
    const list = async () => (await ann.get(`${hook}/deliveries?limit=200`).then(expecting(200))).body
    await until(async () => {
      const { total, deliveries } = await list()
      return total === made && deliveries.every(({ state }: { state: string }) => state === 'delivered')
    })
    const planned = (await list()).deliveries.map(({ event_id }: { event_id: string }) => event_id)
    expect(new Set(planned).size).to.equal(made)
    const accepted = new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
    expect([...accepted]).to.have.members(planned)
    for (const { headers, body } of receiver.received) expect(JSON.parse(body).id).to.equal(headers['webhook-id'])
  })
})
