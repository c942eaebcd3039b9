/** Hosts that are slow or silent, and callers that give up. */

import { getEventListeners } from 'node:events'
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { newGate } from '../support/gate.ts'
import { holdTimers } from '../support/held-timers.ts'
import { until } from '../support/until.ts'
import { codeOf, failed, fetched, type Host, patient, rawHost, webhookLimits } from './scene.ts'

describe('a slow host', () => {
  const hosts: Host[] = []
  const at = async (serve: (socket: Socket) => void, scheme = 'http') => {
    hosts.push(await rawHost(serve))
    return `${scheme}://hooks.example:${hosts.at(-1)?.port}/`
  }
  const within = (totalMs: number, connectMs = patient.connectMs) => ({
    limits: { ...webhookLimits, totalMs, connectMs },
  })
  /** Sends the text byte by byte, without end. */
  const trickle = (head: string, part: string) => (socket: Socket) => {
    socket.write(head)
    const timer = setInterval(() => socket.write(part), 5)
    socket.once('close', () => clearInterval(timer))
  }
  afterEach(async () => {
    for (const host of hosts) await host.allClosed()
    for (const host of hosts.splice(0)) await host.close()
  })

  it('that never answers ends at the time limit', async () => {
    const { code, message } = await failed(fetched(await at(() => {}), within(50)))
    expect([code, message]).to.deep.equal(['timeout', 'hooks.example did not complete its answer within 0.05 seconds.'])
  })

  it('that trickles headers ends at the time limit', async () => {
    const url = await at(trickle('HTTP/1.1 200 OK\r\n', 'x-a: b\r\n'))
    const { code, status } = await failed(fetched(url, within(100)))
    expect([code, status]).to.deep.equal(['timeout', undefined])
  })

  it('that trickles its body ends at the time limit, and its status is known', async () => {
    for (const [head, part] of [
      ['HTTP/1.1 202 OK\r\n\r\n', 'x'],
      ['HTTP/1.1 202 OK\r\nContent-Length: 1000000\r\n\r\n', 'x'],
      ['HTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
    ] as const) {
      const url = await at(trickle(head, part))
      // A busy machine may need longer until the head arrives.
      for (let ms = 100; ; ms *= 2) {
        const { code, status } = await failed(fetched(url, within(ms)))
        expect(code).to.equal('timeout')
        if (status === undefined) continue
        expect(status).to.equal(202)
        break
      }
    }
  })

  it('that never completes a handshake of TLS ends at the limit for connections', async () => {
    const url = await at(() => {}, 'https')
    const { code, message } = await failed(fetched(url, within(300_000, 50)))
    expect([code, message]).to.deep.equal([
      'connect_timeout',
      'hooks.example could not be connected to within 0.05 seconds.',
    ])
  })

  it('has 5 seconds to be connected, and then the rest of its time', async () => {
    const request = { limits: { totalMs: 15_000, keptBytes: 10, readBytes: 10, excess: 'cut' as const } }
    const timers = holdTimers()
    try {
      const handshake = newGate()
      const secure = failed(fetched(await at((socket) => socket.once('data', handshake.open), 'https'), request))
      await handshake.opened
      timers.tick(5_000)
      expect((await secure).message).to.equal('hooks.example could not be connected to within 5 seconds.')
      for (const ms of [14_999, 15_000]) {
        const asked = newGate()
        const fetching = fetched(await at((socket) => socket.once('data', asked.open)), request)
        const ended = fetching.then(
          ({ body }) => String(body),
          ({ message }) => message,
        )
        await asked.opened
        timers.tick(ms)
        hosts.at(-1)?.accepted[0]?.end('HTTP/1.1 200 OK\r\n\r\nlate')
        expect(await ended).to.equal(
          ms < 15_000 ? 'late' : 'hooks.example did not complete its answer within 15 seconds.',
        )
      }
    } finally {
      timers.release()
    }
  })
})

describe('a caller that gives up', () => {
  const hosts: Host[] = []
  afterEach(async () => {
    for (const host of hosts) await host.allClosed()
    for (const host of hosts.splice(0)) await host.close()
  })

  it('ends the fetch at every stage, and leaves no listener', async () => {
    const arrived = newGate()
    const silent = await rawHost((socket) => socket.once('data', arrived.open))
    const answering = await rawHost((socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nx'))
    hosts.push(silent, answering)
    const plain = (host: Host, scheme = 'http') => `${scheme}://hooks.example:${host.port}/`
    let resolved = 0
    const resolveInVain = () => {
      resolved++
      return new Promise<never>(() => {})
    }
    const stages: [name: string, url: string, reached: () => Promise<void>, resolve?: () => Promise<never>][] = [
      ['before it begins', plain(silent), async () => {}, resolveInVain],
      ['while the name is resolved', plain(silent), () => until(() => resolved === 1), resolveInVain],
      ['during the handshake', plain(silent, 'https'), () => arrived.opened],
      ['before the answer', plain(silent), () => until(() => silent.accepted.length === 2)],
      ['within the answer', plain(answering), () => until(() => answering.accepted.length === 1)],
    ]
    for (const [name, url, reached, resolve] of stages) {
      const controller = new AbortController()
      const { signal } = controller
      if (name === 'before it begins') controller.abort()
      const fetching = failed(fetched(url, { signal }, resolve === undefined ? {} : { resolve }))
      await reached()
      controller.abort(new Error('not shown'))
      const { code, message } = await fetching
      expect([code, message], name).to.deep.equal(['aborted', 'The request to hooks.example was cancelled.'])
      expect(getEventListeners(signal, 'abort').length, name).to.equal(0)
    }
    expect([silent.accepted.length, resolved]).to.deep.equal([2, 1])
  })

  it('has no listener left after an answer or an error', async () => {
    const { signal } = new AbortController()
    const host = await rawHost((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    hosts.push(host)
    const url = `http://hooks.example:${host.port}/`
    expect((await fetched(url, { signal })).status).to.equal(200)
    expect(await codeOf(fetched(`${url}#`, { signal }))).to.equal('refused_address')
    expect(await codeOf(fetched(url, { signal }, { resolve: async () => [] }))).to.equal('dns')
    expect(getEventListeners(signal, 'abort').length).to.equal(0)
  })
})

describe('a process that has fetched', () => {
  it('has neither sockets nor timers left', async () => {
    const of = (kind: RegExp) => process.getActiveResourcesInfo().filter((name) => kind.test(name)).length
    const kind = /^(TCP|TLS|TCPConnect|GetAddrInfo|Timeout)/
    const host = await rawHost((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nx')))
    const before = of(kind)
    await Promise.all(
      Array.from({ length: 50 }, (_, at) => {
        const url = `http${at % 3 === 0 ? 's' : ''}://hooks.example:${host.port}/`
        const limits = at % 5 === 0 ? { ...webhookLimits, totalMs: 1 } : webhookLimits
        return fetched(url, { limits }).catch(() => undefined)
      }),
    )
    await host.allClosed()
    // One more resource: the timer of `until`.
    await until(() => of(kind) <= before + 1)
    await host.close()
  })
})
