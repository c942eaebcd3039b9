/** Answers of hosts: what is sent and returned, and where the limits end it. */

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import { documentLimits, failed, fetched, type Host, httpHost, rawHost, webhookLimits } from './scene.ts'

describe('a fetch', () => {
  const hosts: Host[] = []
  /** A host of bytes, as the URL to fetch. */
  const raw = async (serve: Parameters<typeof rawHost>[0]) => {
    hosts.push(await rawHost(serve))
    return `http://hooks.example:${hosts.at(-1)?.port}/`
  }
  const http = async (listener: Parameters<typeof httpHost>[0]) => {
    hosts.push(await httpHost(listener))
    return `http://hooks.example:${hosts.at(-1)?.port}/`
  }
  afterEach(async () => {
    for (const host of hosts) await host.allClosed()
    for (const host of hosts.splice(0)) await host.close()
  })

  it('sends what it is given, and asks for no compression and no second request', async () => {
    const got: { line?: string; headers?: object; body?: string } = {}
    const url = await http(async (req, res) => {
      got.line = `${req.method} ${req.url}`
      got.headers = req.headers
      got.body = await textOf(req)
      res.writeHead(201, { 'x-a': 'b' }).end('thanks')
    })
    const headers = { 'content-type': 'application/json', 'webhook-id': 'x', Host: 'else.example' }
    const answer = await fetched(`${url}a%20b/ü?c=d`, { method: 'POST', headers, body: '{"ü":1}' })
    expect(got).to.deep.equal({
      line: 'POST /a%20b/%C3%BC?c=d',
      headers: {
        'accept-encoding': 'identity',
        'content-type': 'application/json',
        'webhook-id': 'x',
        'content-length': '8',
        host: new URL(url).host,
        connection: 'close',
      },
      body: '{"ü":1}',
    })
    const { status, body, isTruncated, address, ms } = answer
    expect({ status, body: String(body), isTruncated, address }).to.deep.equal({
      status: 201,
      body: 'thanks',
      isTruncated: false,
      address: '127.0.0.1',
    })
    expect(answer.headers['x-a']).to.equal('b')
    expect(Number.isInteger(ms) && ms >= 0).to.equal(true)
  })

  it('returns any status, and follows no redirect', async () => {
    for (const status of [200, 204, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503]) {
      let times = 0
      const url = await http((_req, res) => {
        times++
        res.writeHead(status, { location: '/else', 'retry-after': '7' }).end()
      })
      const answer = await fetched(url)
      expect([answer.status, answer.headers.location, times]).to.deep.equal([status, '/else', 1])
    }
  })

  it('keeps and reads no more of a body than its limits, in every framing', async () => {
    const url = await http((req, res) => {
      const size = Number(req.headers['x-size'])
      const body = bytes(size)
      if (req.headers['x-framing'] === 'length') res.setHeader('content-length', size)
      if (req.headers['x-framing'] === 'close') res.useChunkedEncodingByDefault = false
      for (let at = 0; at < size; at += 1_000) res.write(body.subarray(at, at + 1_000))
      res.end()
    })
    const size = fc.oneof(fc.nat(3_000), fc.constantFrom(99, 100, 101, 499, 500, 501))
    await fc.assert(
      fc.asyncProperty(
        size,
        fc.constantFrom('length', 'chunks', 'close'),
        fc.constantFrom('cut' as const, 'refuse' as const),
        async (size, framing, excess) => {
          const limits = { ...webhookLimits, keptBytes: 100, readBytes: 500, excess }
          const fetching = fetched(url, { limits, headers: { 'x-size': String(size), 'x-framing': framing } })
          if (excess === 'refuse' && size > 100) {
            const { code, message, status } = await failed(fetching)
            expect({ code, message, status }).to.deep.equal({
              code: 'too_large',
              message: 'hooks.example sent more than the 100 bytes allowed.',
              status: 200,
            })
            return
          }
          const { body, isTruncated } = await fetching
          expect([body.toString('hex'), isTruncated]).to.deep.equal([
            bytes(size).subarray(0, 100).toString('hex'),
            size > 100,
          ])
        },
      ),
      {
        numRuns: 60,
        examples: [
          [100, 'length', 'refuse'],
          [100, 'chunks', 'cut'],
          [101, 'chunks', 'refuse'],
          [500, 'close', 'cut'],
        ],
      },
    )
  })

  it('returns as soon as it has read its limit', async () => {
    const limits = { ...webhookLimits, keptBytes: 100, readBytes: 500 }
    const sending = (size: number) =>
      raw((socket) =>
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
          socket.write(bytes(size))
        }),
      )
    const { body, isTruncated } = await fetched(await sending(501), { limits })
    expect([body.length, isTruncated]).to.deep.equal([100, true])
    expect((await said(fetched(await sending(101), { limits: { ...limits, excess: 'refuse' } })))[0]).to.equal(
      'too_large',
    )
  })

  it('ends within 1 GB, for a webhook and for a document', async () => {
    let written = 0
    const parts = function* () {
      const part = Buffer.alloc(65_536)
      for (; written < 2 ** 30; written += part.length) yield part
    }
    const url = await http((_req, res) => {
      Readable.from(parts()).pipe(res)
    })
    const { status, body, isTruncated } = await fetched(url, { method: 'POST', body: '{}' })
    expect([status, body.length, isTruncated]).to.deep.equal([200, 1_024, true])
    const { code, message } = await failed(fetched(url, { limits: documentLimits }))
    expect([code, message]).to.deep.equal(['too_large', 'hooks.example sent more than the 8,192 bytes allowed.'])
    for (const host of hosts) await host.allClosed()
    expect(written, 'at most what the system buffers').to.be.below(2 ** 26)
  })

  it('ends within interim answers, tiny chunks and headers without end', async () => {
    const flood = (head: string, part: string) =>
      raw((socket) => {
        const send = () => {
          while (!socket.destroyed && socket.write(part.repeat(100)));
        }
        socket.once('data', () => socket.write(head, send)).on('drain', send)
      })
    const interim = await flood('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')
    expect(await said(fetched(interim))).to.deep.equal([
      'too_large',
      'hooks.example sent too many bytes before its answer.',
      undefined,
    ])
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
    const extended = await flood(chunked, `1;${'x'.repeat(8_000)}\r\nx\r\n`)
    const { isTruncated, body } = await fetched(extended)
    expect([isTruncated, body.length > 0 && body.length <= 1_024]).to.deep.equal([true, true])
    expect((await said(fetched(extended, { limits: documentLimits })))[0]).to.equal('too_large')
    for (const socket of hosts.at(-1)?.accepted ?? []) expect(socket.bytesWritten).to.be.below(2 ** 26)
    const headers = await flood('HTTP/1.1 200 OK\r\n', `x: ${'y'.repeat(100)}\r\n`)
    expect(await said(fetched(headers))).to.deep.equal([
      'connection',
      'hooks.example sent headers of more than 16,384 bytes.',
      undefined,
    ])
  })

  it('says how a connection broke', async () => {
    const without = ['connection', 'hooks.example closed the connection without an answer.', undefined]
    expect(await said(fetched(await raw((socket) => socket.destroy())))).to.deep.equal(without)
    expect(await said(fetched(await raw((socket) => socket.resetAndDestroy())))).to.deep.equal(without)
    expect(await said(fetched(await raw((socket) => socket.once('data', () => socket.end()))))).to.deep.equal(without)
    const within = ['connection', 'hooks.example closed the connection within its answer.', 200]
    for (const [head, end] of [
      ['Content-Length: 10', 'short'],
      ['Transfer-Encoding: chunked', '5\r\nshort\r\n'],
    ]) {
      const url = await raw((socket) =>
        socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${end}`)),
      )
      expect(await said(fetched(url)), head).to.deep.equal(within)
    }
    const bad = await raw((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n')),
    )
    expect(await said(fetched(bad))).to.deep.equal(within)
    for (const banner of ['SSH-2.0-OpenSSH_9.2\r\n', '220 mail.example ESMTP\r\n', 'HTTP/1.1 999999 x\r\n\r\n']) {
      const url = await raw((socket) => socket.end(banner))
      expect(await said(fetched(url)), banner).to.deep.equal([
        'connection',
        'hooks.example sent an answer that is not valid HTTP.',
        undefined,
      ])
    }
    const upgrade = await raw((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')),
    )
    expect((await said(fetched(upgrade)))[0]).to.equal('connection')
    const gone = await http(() => {})
    await hosts.pop()?.close()
    expect(await said(fetched(gone))).to.deep.equal([
      'connection',
      'hooks.example refused the connection. The port may be wrong, or nothing listens there.',
      undefined,
    ])
  })

  it('takes an answer that comes before its body is read', async () => {
    const url = await raw((socket) => {
      socket.once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig')
      })
    })
    const { status, body } = await fetched(url, { method: 'POST', body: Buffer.alloc(32 * 2 ** 20) })
    expect([status, String(body)]).to.deep.equal([413, 'big'])
    for (const socket of hosts[0]?.accepted ?? []) socket.resume()
  })

  it('takes no proxy from the environment', async () => {
    let times = 0
    const proxy = await http((_req, res) => {
      times++
      res.end()
    })
    const url = await http((_req, res) => res.end('direct'))
    const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']
    try {
      for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : proxy
      expect([String((await fetched(url)).body), times]).to.deep.equal(['direct', 0])
    } finally {
      for (const name of names) delete process.env[name]
    }
  })

  it('rejects what HTTP cannot send, and leaves nothing open', async () => {
    const url = await http((_req, res) => res.end())
    const fetching = fetched(url, { headers: { 'x-a': 'b\r\nc: d' } })
    expect(await fetching.catch(({ code }) => code)).to.equal('ERR_INVALID_CHAR')
    expect(hosts[0]?.accepted.length).to.equal(0)
  })
})

async function said(fetching: Promise<unknown>) {
  const { code, message, status } = await failed(fetching)
  return [code, message, status]
}

function bytes(size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, (_, at) => (at * 7) % 256))
}

async function textOf(req: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of req) parts.push(part)
  return Buffer.concat(parts).toString()
}
