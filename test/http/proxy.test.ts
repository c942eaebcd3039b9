/** Where the service is reached, and by whom, behind proxies and without. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { ConfigError, readConfig } from '../../server/base/config.ts'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { sendRaw } from '../support/raw.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('behind a proxy', () => {
  let dataDir: string
  let trusting: SpawnedGrove
  let careful: SpawnedGrove
  let ann: PersonClient
  before(async () => {
    dataDir = await newDataDir()
    trusting = await spawnGrove(dataDir, { TRUST_PROXY: 'loopback, 10.0.0.0/8', RATE_LIMIT: 'on', LOG_LEVEL: 'info' })
    careful = await spawnGrove(dataDir)
    ann = await signUp(trusting, 'Ann')
  })
  after(async () => {
    await trusting.stop()
    await careful.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  /** The sign-ups that remain in the hour, for a client with these headers. */
  const leftAfter = async (headers: Record<string, string>): Promise<string> => {
    const answer = await client(trusting).post('/auth/signup', { email: 'ann@example.org', password }, headers)
    expect(answer.status).to.equal(409)
    return answer.headers.ratelimit?.split(';')[1] ?? ''
  }

  it('twelve people of twelve addresses each have their own limit', async () => {
    const left = await Promise.all(
      Array.from({ length: 12 }, (_, n) => leftAfter({ 'x-forwarded-for': `192.0.2.${n}` })),
    )
    expect([...new Set(left)]).to.deep.equal(['r=99'])
  })

  it('the address is the rightmost that no trusted proxy has, whatever stands left of it', async () => {
    expect(await leftAfter({ 'x-forwarded-for': '203.0.113.1' })).to.equal('r=99')
    expect(await leftAfter({ 'x-forwarded-for': '1.2.3.4, 203.0.113.1' })).to.equal('r=98')
    expect(await leftAfter({ 'x-forwarded-for': '5.6.7.8, 203.0.113.1, 10.0.0.7' })).to.equal('r=97')
  })

  const cloneUrl = async (grove: SpawnedGrove, headers: Record<string, string>): Promise<string> => {
    const answer = await client(grove, ann.session.accessToken).get(`/orgs/${ann.org}/repositories`, headers)
    expect(answer.headers['cache-control']).to.equal('private, no-cache')
    return answer.body.repositories[0].clone_url.replace(`/git/${ann.org}/org.git`, '')
  }

  it('clone URLs are what the proxy was asked for', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'grove.example' }
    expect(await cloneUrl(trusting, headers)).to.equal('https://grove.example')
  })

  it('what a client puts before the words of the proxy counts for nothing', async () => {
    const headers = { 'x-forwarded-proto': 'http, https', 'x-forwarded-host': 'evil.example, grove.example' }
    expect(await cloneUrl(trusting, { ...headers, 'x-forwarded-for': '192.0.2.1' })).to.equal('https://grove.example')
  })

  it('two proxies tell what the outer one was asked for', async () => {
    const headers = {
      'x-forwarded-for': '192.0.2.1, 10.0.0.7',
      'x-forwarded-proto': 'gopher, https, http',
      'x-forwarded-host': 'evil.example, grove.example, inside',
    }
    expect(await cloneUrl(trusting, headers)).to.equal('https://grove.example')
  })

  it('nobody is believed whom TRUST_PROXY does not name', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '192.0.2.1' }
    expect(await cloneUrl(careful, headers)).to.equal(careful.url)
  })

  it('the log has the address of the client', async () => {
    await client(trusting).get('/nothing', { 'x-forwarded-for': '198.51.100.9' })
    await until(() => trusting.output().stderr.includes('"remoteAddress":"198.51.100.9"'))
  })

  it('an invalid Host is not passed on', async () => {
    for (const host of ['-x', 'a..b', 'x:123456', 'user@x', 'x/y', '[x]', `${'a'.repeat(64)}.example`]) {
      const request = `GET /orgs/${ann.org}/repositories HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${ann.session.accessToken}\r\nConnection: close\r\n\r\n`
      const [answer] = await sendRaw(careful, request)
      expect(JSON.parse(answer?.text ?? '').repositories[0].clone_url, host).to.contain(careful.url)
    }
  })
})

describe('Strict-Transport-Security', () => {
  const of = async (publicUrl?: string) => {
    const grove = await startGrove(publicUrl === undefined ? {} : { publicUrl })
    const { headers } = await client(grove).get('/healthz')
    await grove.close()
    return headers['strict-transport-security']
  }

  it('is sent only for an https PUBLIC_URL, and covers no other name', async () => {
    expect(await of()).to.equal(undefined)
    expect(await of('http://grove.example')).to.equal(undefined)
    expect(await of('https://grove.example')).to.equal('max-age=31536000')
  })
})

describe('the environment', () => {
  const read = (variables: Record<string, string>) => readConfig(variables)

  it('takes a PUBLIC_URL to which paths can be added', () => {
    for (const address of ['https://grove.example', 'http://grove.example:8080/content/']) {
      expect(read({ PUBLIC_URL: address }).publicUrl).to.equal(address.replace(/\/$/, ''))
    }
    for (const address of [
      'https://x/y?z',
      'https://x/y?',
      'https://x/#y',
      'https://ann@x',
      'https://ann:pw@x',
      'ftp://x',
      'x',
    ]) {
      expect(() => read({ PUBLIC_URL: address }), address).to.throw(
        ConfigError,
        /^PUBLIC_URL: must be an http or https URL without a query, a fragment or a user, such as [^;]+$/,
      )
    }
  })

  it('takes addresses and networks for TRUST_PROXY', () => {
    expect(read({}).trustProxy).to.equal(undefined)
    const list = 'loopback, 10.0.0.0/8,192.0.2.1, fd00::/8'
    expect(read({ TRUST_PROXY: list }).trustProxy).to.deep.equal(['loopback', '10.0.0.0/8', '192.0.2.1', 'fd00::/8'])
    for (const wrong of ['true', '1', 'proxy.example', '10.0.0.0/33', '0.0.0.0/0', '10.0.0.1/8/8', 'loopback,']) {
      expect(() => read({ TRUST_PROXY: wrong }), wrong).to.throw(ConfigError, /^TRUST_PROXY: /)
    }
  })
})
