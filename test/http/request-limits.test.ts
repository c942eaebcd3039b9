/** Every request counts: of every caller, of every operation. */

import { once } from 'node:events'
import { request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { counters } from '../../server/base/counters.ts'
import { createHttpServer } from '../../server/http/connection/connections.ts'
import { createApp } from '../../server/process/app.ts'
import { from, startBehindProxy } from '../support/behind-proxy.ts'
import type { Grove } from '../support/grove.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'

describe('request limits', () => {
  let grove: Grove
  let ann: PersonClient
  before(async () => {
    grove = await startBehindProxy()
    ann = await signUp(grove, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true })
  })
  after(() => grove.close())

  const info = () => `/git/${ann.org}/org.git/info/refs?service=git-upload-pack`

  const kinds: [string, () => { method?: string; path: string; headers?: Record<string, string> }, number][] = [
    ['a bad token', () => ({ path: '/auth/me', headers: { authorization: 'Bearer x' } }), 401],
    ['no token', () => ({ path: '/auth/me' }), 401],
    ['an unknown path', () => ({ path: '/nothing' }), 404],
    ['an unknown method', () => ({ method: 'PATCH', path: '/orgs' }), 405],
    ['OPTIONS', () => ({ method: 'OPTIONS', path: '/orgs' }), 204],
    ['a bad token to git', () => ({ path: info(), headers: { authorization: 'Bearer x' } }), 401],
    ['an unknown path of git', () => ({ path: '/git/nothing' }), 404],
  ]
  for (const [index, [title, ask, status]] of kinds.entries()) {
    it(`count ${title} by address`, async () => {
      const address = `10.1.0.${index}`
      const { method = 'GET', path, headers } = ask()
      const answer = await send(grove, method, path, { ...headers, ...from(address) })
      expect(answer.status).to.equal(status)
      expect(answer.headers.ratelimit).to.match(/^"default";r=5999;t=\d+$/)
    })
  }

  describe('that are spent', () => {
    const few = 20
    let server: Server
    let small: { readonly url: string }
    before(async () => {
      const app = createApp(
        { ...grove.deps, config: { ...grove.deps.config, trustProxy: ['loopback'] } },
        { validateResponses: false, newCounter: (id, limit) => counters(false)(id, { ...limit, quota: few }) },
      )
      server = createHttpServer(app, grove.deps.log).listen(0, '127.0.0.1')
      await once(server, 'listening')
      small = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } // it listens on a port
    })
    after(() => {
      server.close()
      server.closeAllConnections()
    })

    it('refuse everything from that IP address, and nothing from another', async () => {
      const bad = { authorization: 'Bearer x', ...from('10.2.0.1') }
      const flood = Array.from({ length: few }, () => send(small, 'GET', '/auth/me', bad))
      expect([...new Set((await Promise.all(flood)).map(({ status }) => status))]).to.deep.equal([401])
      for (const [title, ask, status] of kinds) {
        const { method = 'GET', path, headers } = ask()
        const refused = await send(small, method, path, { ...headers, ...from('10.2.0.1') })
        expect(refused.status, title).to.equal(429)
        expect(Number(refused.headers['retry-after']), title).to.be.within(1, 60)
        const other = await send(small, method, path, { ...headers, ...from('10.2.0.2') })
        expect(other.status, title).to.equal(status)
      }
    })

    it('keep out nobody who shows who it is, nor who looks whether the service lives', async () => {
      const flood = Array.from({ length: few + 1 }, () => send(small, 'GET', '/nothing', from('10.4.0.1')))
      expect((await Promise.all(flood)).filter(({ status }) => status === 429)).to.have.length(1)
      expect((await client(small, ann.session.accessToken).get('/auth/me', from('10.4.0.1'))).status).to.equal(200)
      expect((await client(small).get('/healthz', from('10.4.0.1'))).status).to.equal(200)
    })
  })

  it('count what a person asks by person, wherever from', async () => {
    const left = async (address: string) => {
      const { headers } = await ann.get('/auth/me', from(address))
      return Number(/r=(\d+)/.exec(headers.ratelimit ?? '')?.[1])
    }
    const before = await left('10.3.0.1')
    expect(await left('10.3.0.2')).to.equal(before - 1)
    const { headers } = await send(grove, 'GET', info(), {
      authorization: `Bearer ${ann.session.accessToken}`,
      ...from('10.3.0.3'),
    })
    expect(headers.ratelimit).to.contain(`r=${before - 2};`)
  })
})

interface Sent {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

function send(
  { url }: { readonly url: string },
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    request(url + path, { method, headers }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }))
    })
      .on('error', reject)
      .end()
  })
}
