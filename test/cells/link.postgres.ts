/** A cell whose link to PostgreSQL is cut, without a word, and whose clock is set back and forth. */
import { expect } from 'chai'
import type { Grove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { databaseFor } from '../support/postgres.ts'
import { type Relay, relayTo } from '../support/relay.ts'
import { until } from '../support/until.ts'
import { startCell } from './scene.ts'

const hour = 3_600_000

describe('a cell', () => {
  let link: Relay
  let grove: Grove
  let ann: PersonClient
  const realNow = Date.now

  before(async () => {
    link = await relayTo(await databaseFor('a link'))
    grove = await startCell('linked', { postgres: link.url, logLevel: 'error' })
    ann = await signUp(grove, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
  })
  afterEach(() => {
    Date.now = realNow
  })
  after(async () => {
    link?.restore()
    await grove?.close()
    link?.close()
  })

  const isHeld = () => grove.deps.placement.lease.isHeld()
  const write = () => ann.post(`/orgs/${ann.org}/nodes`, { title: 'Krill' })

  it('whose clock is set forth writes again with its next renewal, and whose clock is set back continues', async () => {
    Date.now = () => realNow() + hour
    const early = await write()
    expect([early.status, early.body.code]).to.deep.equal([503, 'storage_readonly'])
    await until(isHeld)
    await write().then(expecting(201))
    Date.now = () => realNow() - hour
    await write().then(expecting(201))
    Date.now = realNow
    await until(async () => (await write()).status === 201)
  })

  it('whose link is cut acknowledges nothing after its lease, reads what is published, and writes once it is back', async () => {
    const answers: { readonly at: number; readonly status: number; readonly id: string }[] = []
    let over = false
    const writers = Array.from({ length: 4 }, async () => {
      while (!over) {
        const { status, body } = await write()
        answers.push({ at: performance.now(), status, id: body.id })
      }
    })
    await until(() => answers.length > 20)
    link.cut()
    // By its wall clock alone the lease would last an hour more.
    Date.now = () => realNow() - hour
    await until(() => !isHeld())
    const ended = performance.now()
    await client(grove).get(`/orgs/${ann.org}`).then(expecting(200))
    await client(grove).get(`/orgs/${ann.org}/nodes`).then(expecting(200))
    await until(() => answers.filter(({ at }) => at > ended).length >= 4)
    const late = answers.filter(({ at }) => at > ended).map(({ status }) => status)
    expect(new Set(late)).to.deep.equal(new Set([503]))
    Date.now = realNow
    link.restore()
    await until(isHeld)
    const back = performance.now()
    await until(() => answers.some(({ at, status }) => at > back && status === 201))
    over = true
    await Promise.all(writers)
    for (const { status, id } of answers)
      if (status === 201) await ann.get(`/orgs/${ann.org}/nodes/${id}`).then(expecting(200))
  })
})
