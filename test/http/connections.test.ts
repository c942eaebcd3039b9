/** Unusual requests get an answer, and hold no connection for nothing. */

import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect } from 'chai'
import express, { type RequestHandler } from 'express'
import { pino } from 'pino'
import { createHttpServer } from '../../server/http/connection/connections.ts'
import { client, password } from '../support/people.ts'
import { connectTo, parse, type RawAnswer, read, sendRaw } from '../support/raw.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const mebibyte = 1024 * 1024

describe('connections', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  before(async () => {
    await ann.patch(`/orgs/${ann.org}`, { published: true })
  })

  const bearer = () => `Authorization: Bearer ${ann.session.accessToken}`

  describe('what cannot be read as a request', () => {
    const broken: [string, string, number, string][] = [
      ['no HTTP', 'hello\r\n\r\n', 400, 'bad_request'],
      ['an unknown method', 'BREW /healthz HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'bad_request'],
      ['a header with a bad name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n', 400, 'bad_request'],
      [
        'two lengths',
        'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
        400,
        'bad_request',
      ],
      [
        'headers over 16 KiB',
        `GET /healthz HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(17_000)}\r\n\r\n`,
        431,
        'headers_too_large',
      ],
      ['an address over 16 KiB', `GET /${'a'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers_too_large'],
      [
        'a coding besides chunks',
        'POST /auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
        400,
        'bad_request',
      ],
      [
        'chunks of HTTP/1.0',
        'POST /auth/login HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        400,
        'bad_request',
      ],
      ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400, 'bad_request'],
      ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400, 'bad_request'],
      ['another expectation', 'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n', 417, 'expectation_failed'],
      ['CONNECT', 'CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n', 405, 'method_not_allowed'],
      [
        'a body that ends early',
        'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{',
        400,
        'bad_request',
      ],
      [
        'a broken chunk',
        'POST /auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
        400,
        'bad_request',
      ],
    ]
    for (const [title, request, status, code] of broken) {
      it(`is refused with a body: ${title}`, async () => {
        const [answer, ...more] = await sendRaw(grove, request, { ends: true })
        expect(more).to.deep.equal([])
        expectRefusal(answer, status, code)
      })
    }

    it('is refused with a body: a thousand headers', async () => {
      const request = `GET /healthz HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(1_000)}\r\n`
      const [answer, ...more] = await sendRaw(grove, request, { ends: true })
      expect(more).to.deep.equal([])
      // The parsers of Node 22.23 and 24 count them themselves.
      if (answer?.status === 431) expectRefusal(answer, 431, 'headers_too_large')
      else expectRefusal(answer, 400, 'bad_request')
    })

    it('is refused after what was whole before it, which is answered', async () => {
      const answers = await sendRaw(grove, 'GET /orgs HTTP/1.1\r\nHost: x\r\n\r\nhello\r\n\r\n')
      expect(answers[0]?.status).to.equal(401)
    })

    it('says nothing of what was sent', async () => {
      const [answer] = await sendRaw(grove, 'POST /auth/login HTTP/1.1\r\nHost: x\r\npass word: hunter2\r\n\r\n')
      expect(JSON.stringify(answer)).to.not.contain('hunter2')
    })

    it('has a way out when its headers do not arrive', async () => {
      const server = serverOf((_req, res) => void res.end())
      const url = await listen(server)
      const socket = connectTo({ url })
      const received = read(socket)
      socket.write('GET / HTTP/1.1\r\n')
      const [accepted] = await once(server, 'connection')
      // What Node says 20 to 50 seconds later.
      server.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), accepted)
      expectRefusal(parse(await received)[0], 408, 'request_timeout')
      socket.destroy()
      server.close()
    })
  })

  describe('the address in full', () => {
    it('is read as the path, and its host as the host', async () => {
      const [answer] = await sendRaw(
        grove,
        `GET http://grove.test:8080/orgs/${ann.org}/repositories?limit=1 HTTP/1.1\r\nHost: x\r\n${bearer()}\r\nConnection: close\r\n\r\n`,
      )
      expect(answer?.status).to.equal(200)
      expect(JSON.parse(answer?.text ?? '').repositories[0].clone_url).to.match(/^http:\/\/grove\.test:8080\/git\//)
    })

    it('may end after the host', async () => {
      const [answer] = await sendRaw(grove, 'GET http://grove.test HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      expectRefusal(answer, 404, 'not_found')
    })
  })

  describe('a client that ends its side after the request', () => {
    it('gets its answer', async () => {
      for (const path of [`/public/orgs/${ann.org}/graph`, `/orgs/${ann.org}/nodes`, '/healthz']) {
        const [answer] = await sendRaw(grove, `GET ${path} HTTP/1.1\r\nHost: x\r\n${bearer()}\r\n\r\n`, { ends: true })
        expect(answer?.status, path).to.equal(200)
      }
    })

    it('gets it if the request has a body', async () => {
      const body = JSON.stringify({ email: 'ann@example.org', password })
      const head = `POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
      const [answer] = await sendRaw(grove, head + body, { ends: true })
      expect(answer?.status).to.equal(200)
    })
  })

  describe('a body over 16 MiB', () => {
    const head = (length: number, more = '') =>
      `POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n${more}\r\n`

    it('is refused by only its length, before a byte of it, and the connection closes', async () => {
      const [answer, ...more] = await sendRaw(grove, head(16 * mebibyte + 1))
      expect(more).to.deep.equal([])
      expectRefusal(answer, 413, 'too_large')
      expect(answer?.headers.connection).to.equal('close')
    })

    it('is refused before it is asked for', async () => {
      const [answer, ...more] = await sendRaw(grove, head(16 * mebibyte + 1, 'Expect: 100-continue\r\n'))
      expect(more).to.deep.equal([])
      expectRefusal(answer, 413, 'too_large')
    })

    it('is refused in words to a client that sends it anyway, before the connection breaks', async () => {
      const [answer] = await sendRaw(grove, [head(16 * mebibyte + 1), 'x'.repeat(16 * mebibyte + 1)])
      expectRefusal(answer, 413, 'too_large')
    })

    it('is refused if it comes in chunks', async () => {
      const chunk = `${mebibyte.toString(16)}\r\n${'x'.repeat(mebibyte)}\r\n`
      const request =
        'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
      const [answer] = await sendRaw(grove, [request, ...Array<string>(17).fill(chunk)])
      expectRefusal(answer, 413, 'too_large')
      expect(answer?.headers.connection).to.equal('close')
    })
  })

  describe('Expect: 100-continue', () => {
    const body = JSON.stringify({ email: 'ann@example.org', password })

    it('asks for a body that is wanted, once', async () => {
      const socket = connectTo(grove)
      const received = read(socket)
      socket.write(
        `POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
      )
      const [first] = await once(socket, 'data')
      expect(String(first)).to.equal('HTTP/1.1 100 Continue\r\n\r\n')
      socket.write(body)
      expect(parse(await received).map(({ status }) => status)).to.deep.equal([100, 200])
      socket.destroy()
    })

    it('does not ask for one that is refused, and ends the connection on which it may come', async () => {
      const [answer, ...more] = await sendRaw(
        grove,
        `POST /orgs HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n`,
      )
      expect(more).to.deep.equal([])
      expectRefusal(answer, 401, 'unauthenticated')
      expect(answer?.headers.connection).to.equal('close')
    })
  })

  it('are not held by who sends on after the answer', async () => {
    const socket = connectTo(grove)
    const received = read(socket)
    socket.write('POST /orgs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n')
    await once(socket, 'data')
    const drip = setInterval(() => socket.write('x'), 100)
    try {
      expectRefusal(parse(await received)[0], 401, 'unauthenticated')
    } finally {
      clearInterval(drip)
      socket.destroy()
    }
  })

  it('are not held by who does not read the answer, or asks no more, and are while the answer is made', async () => {
    let slowly: ServerResponse | undefined
    const server = serverOf((req, res) => {
      if (req.url === '/slow') slowly = res
      else res.end(req.url === '/large' ? Buffer.alloc(64 * mebibyte) : 'at once')
    })
    const accepted: Socket[] = []
    server.on('connection', (socket) => accepted.push(socket))
    /** Node's description of every connection without traffic. */
    const fallSilent = () => {
      for (const socket of accepted) if (!socket.destroyed) server.emit('timeout', socket)
    }
    const url = await listen(server)
    const slow = connectTo({ url })
    const answered = read(slow)
    slow.write('GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const idle = connectTo({ url })
    idle.on('error', () => {})
    idle.write('GET /small HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(idle, 'data')
    const deaf = connectTo({ url })
    deaf.pause().on('error', () => {})
    deaf.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => slowly !== undefined && accepted.some(({ writableLength }) => writableLength > 0))
    fallSilent()
    await until(async () => (await connections(server)) <= 1)
    slowly?.end('made')
    expect(String(await answered)).to.contain('made')
    await until(async () => (await connections(server)) === 0)
    deaf.destroy()
    idle.destroy()
    slow.destroy()
    server.close()
  })
})

describe('a request and its response', () => {
  it('are made with what Express would set on each of them', async () => {
    const app = express().use((_req, res) => void res.end())
    const server = createHttpServer(app, undefined)
    const made: unknown[] = []
    server.prependListener('request', (...both) => made.push(...both.map((one) => Object.getPrototypeOf(one))))
    await fetch(await listen(server))
    expect(made).to.have.length(2)
    expect(made[0]).to.equal(app.request)
    expect(made[1]).to.equal(app.response)
    server.closeAllConnections()
    server.close()
  })
})

describe('the front door', () => {
  const { grove } = useWorld({})

  it('shows a page to a browser, and tells a program that there is nothing', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const shown = await client(grove).get('/', { accept })
    expect(shown.status).to.equal(200)
    expect(shown.headers['content-type']).to.equal('text/html; charset=utf-8')
    expect(shown.headers.vary).to.include('Accept')
    for (const other of ['*/*', 'application/json'])
      expect((await client(grove).get('/', { accept: other })).status).to.equal(404)
  })
})

function expectRefusal(answer: RawAnswer | undefined, status: number, code: string): void {
  expect(answer?.status).to.equal(status)
  expect(answer?.headers['content-type']).to.equal('application/json; charset=utf-8')
  const body = JSON.parse(answer?.text ?? '')
  expect(body).to.have.all.keys('detail', 'code', 'request_id', 'link')
  expect(body.code).to.equal(code)
  expect(body.request_id).to.equal(answer?.headers['x-request-id'])
}

function serverOf(answer: RequestHandler): Server {
  return createHttpServer(express().use(answer), pino({ level: 'silent' }))
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
}

function connections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}
