/** The metrics of a cell's lease, and of the requests that it forwards. */

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { started } from '../support/half-sent.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { metricsToken, parseScrape, sumOf } from '../support/scrapes.ts'
import { until } from '../support/until.ts'
import { here, setUrl, signIn, there, useCells } from './scene.ts'

describe('the metrics of a cell', () => {
  useCells({ metricsToken })
  let ann: PersonClient
  let away: PersonClient

  before(async () => {
    await setUrl('here', here.url)
    ann = await signUp(here, 'Ann')
    away = await signIn(there, ann)
  })

  const scrape = async (grove = there) =>
    parseScrape((await client(grove, metricsToken).get('/metrics').then(expecting(200))).body)
  const forwarded = async (outcome: string) => sumOf(await scrape(), 'grove_forwarded_total', { to: 'here', outcome })

  it('say how long its lease lasts still, by its own count', async () => {
    for (const [grove, cell] of [
      [here, 'here'],
      [there, 'there'],
    ] as const)
      expect(sumOf(await scrape(grove), 'grove_cell_lease_seconds', { cell }))
        .to.be.above(0)
        .and.at.most(10)
  })

  it('count what was passed on and answered to the end', async () => {
    for (let n = 0; n < 3; n++) await away.get(`/orgs/${ann.org}`).then(expecting(200))
    await away.get(`/orgs/${ann.org}/nodes/none`)
    await until(async () => (await forwarded('done')) === 4)
    expect([await forwarded('failed'), await forwarded('aborted')]).to.deep.equal([0, 0])
  })

  it('count what the other did not answer, or not to the end', async () => {
    await through(
      (_req, res) => res.destroy(),
      async () => {
        const { status, body } = await away.hasty.get(`/orgs/${ann.org}`)
        expect([status, body.code]).to.deep.equal([503, 'busy'])
      },
    )
    expect(await forwarded('failed')).to.equal(1)
    await through(
      (_req, res) => {
        res.writeHead(200, { 'content-length': '1000' })
        res.write('half', () => res.destroy())
      },
      async () => {
        const said = await away.get(`/orgs/${ann.org}`).catch((error: Error) => error)
        expect(said).to.be.an('error')
      },
    )
    await until(async () => (await forwarded('failed')) === 2)
    expect(await forwarded('aborted')).to.equal(0)
  })

  it('count those whose client has gone', async () => {
    let asked = false
    await through(
      () => {
        asked = true
      },
      async () => {
        const half = await started({
          url: there.url,
          method: 'POST',
          path: `/orgs/${ann.org}/nodes`,
          half: '{"title":',
          headers: { authorization: `Bearer ${away.session.accessToken}`, 'content-length': '100' },
        })
        await until(() => asked)
        half.on('error', () => {}).destroy()
        await until(async () => (await forwarded('aborted')) === 1)
      },
    )
    expect(await forwarded('failed')).to.equal(2)
  })

  /** With a stranger in the place of the other cell. */
  async function through(answer: RequestListener, work: () => Promise<void>): Promise<void> {
    const server = createServer(answer).listen(0, '127.0.0.1')
    await once(server, 'listening')
    await setUrl('here', `http://127.0.0.1:${(server.address() as AddressInfo).port}`) // it listens on a port
    try {
      await work()
    } finally {
      server.closeAllConnections()
      server.close()
      await setUrl('here', here.url)
    }
  }
})
