/** Connections that are kept for the next request. Each request is judged as if it were the first. */

import { expect } from 'chai'
import { codeOf, fetched, type Host, httpHost, newCertificate, rawHost, tlsHost } from './scene.ts'

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

describe('a kept connection', () => {
  const hosts: Host[] = []
  const at = async (opening: Promise<Host>, name = 'http://hooks.example') => {
    const host = await opening
    hosts.push(host)
    return { host, url: `${name}:${host.port}/` }
  }
  const send = (url: string, rules: Parameters<typeof fetched>[2] = {}) =>
    fetched(url, { method: 'POST', body: '{}', keeps: true }, rules)
  afterEach(async () => {
    for (const host of hosts.splice(0)) await host.close()
  })

  it('takes the next request to the same name and IP address, and no other', async () => {
    const { host, url } = await at(httpHost((_req, res) => res.end('ok'), '0.0.0.0'))
    for (let times = 0; times < 3; times++) expect((await send(url)).status).to.equal(200)
    expect(host.accepted.length).to.equal(1)
    const moved = await send(url, { resolve: async () => [{ address: '127.0.0.2' }] })
    expect([moved.address, host.accepted.length]).to.deep.equal(['127.0.0.2', 2])
  })

  it('takes nothing if the name now has an IP address that is not public', async () => {
    let requests = 0
    const { url } = await at(
      httpHost((_req, res) => {
        requests++
        res.end('ok')
      }),
    )
    await send(url)
    const rebound = { resolve: async () => [{ address: '127.0.0.1' }, { address: '10.0.0.1' }] }
    expect(await codeOf(send(url, rebound))).to.equal('refused_address')
    expect(requests).to.equal(1)
  })

  it('is one of a name, so another name has its certificate verified', async () => {
    const certificate = await newCertificate()
    const { host, url } = await at(
      tlsHost(certificate, (_req, res) => res.end('ok')),
      'https://hooks.example',
    )
    for (let times = 0; times < 2; times++) await send(url, { ca: certificate.cert })
    expect(host.accepted.length).to.equal(1)
    expect(await codeOf(send(url.replace('hooks.', 'other.'), { ca: certificate.cert }))).to.equal('tls')
    expect(await codeOf(send(url))).to.equal('tls')
  })

  it('is closed after an answer that is cut, or that says so', async () => {
    const endless = await at(
      rawHost((socket) =>
        socket.once('data', () => socket.write(`${ok.replace('length: 2', 'length: 99999')}`.padEnd(70_000))),
      ),
    )
    const closing = await at(httpHost((_req, res) => res.setHeader('connection', 'close').end('ok')))
    for (const { host, url } of [endless, closing]) {
      for (let times = 0; times < 2; times++) expect((await send(url)).status).to.equal(200)
      expect(host.accepted.length).to.equal(2)
      await host.allClosed()
    }
  })

  it('that its host has closed does not fail the request', async () => {
    const { host, url } = await at(
      rawHost((socket) => {
        socket.once('data', () => {
          socket.write(ok)
          socket.once('data', () => socket.destroy())
        })
      }),
    )
    for (let times = 0; times < 3; times++) expect((await send(url)).status).to.equal(200)
    expect(host.accepted.length).to.equal(3)
  })
})
