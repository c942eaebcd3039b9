/** Bodies on the connections between two cells: nothing that a client sends becomes a second request, or another person's answer. */

import { once } from 'node:events'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { connectTo, parse, type RawAnswer, read, sendRaw } from '../support/raw.ts'
import { until } from '../support/until.ts'
import { type Peer, startPeer } from './peer.ts'
import { here, setUrl, there, useCells } from './scene.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** Each with the headers that it names. */
const connections: readonly (readonly [string, readonly string[]])[] = [
  ['content-length', []],
  ['content-length, close', []],
  ['authorization', ['Authorization: Bearer x']],
  ['host', []],
  ['cookie, content-type', ['Cookie: grove=x', 'Content-Type: application/json']],
  ['transfer-encoding', []],
  ['expect', ['Expect: 100-continue']],
]
/** A whole request, as the body of another. */
const inner = 'POST /inner HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'
const sized = `Content-Length: ${inner.length}`
const chunked = 'Transfer-Encoding: chunked'

describe('the body of a request to another cell', () => {
  useCells()
  let ann: PersonClient
  let peer: Peer

  before(async () => {
    await setUrl('here', here.url)
    ann = await signUp(here, 'Ann')
  })
  beforeEach(async () => {
    peer = await startPeer()
  })
  afterEach(() => peer.close())

  /** The answers to it before the end of the connection, the interim ones among them. */
  function send(
    method: string,
    headers: readonly string[],
    { query = '', version = '1.1' } = {},
  ): Promise<RawAnswer[]> {
    const body = headers.some((line) => line.endsWith('chunked')) ? inChunks(inner) : inner
    const lines = [`${method} /orgs/${ann.org}?${query} HTTP/${version}`, 'Host: x', ...headers]
    return sendRaw(there, `${lines.join('\r\n')}\r\n\r\n${body}`, { ends: true })
  }

  /** Whether somebody else who asks next has an answer to what they asked. */
  async function expectOwnAnswer(query: string): Promise<void> {
    const next = await client(there).hasty.get(`/orgs/${ann.org}?${query}`)
    expect([next.status, next.body]).to.deep.equal([200, `/orgs/${ann.org}?${query}`])
  }

  for (const [value, named] of connections) {
    for (const [title, length] of [
      ['a stated length', sized],
      ['chunks', chunked],
    ] as const) {
      it(`is one body of ${title} where Connection says ${value}`, async () => {
        for (const method of methods) {
          await send(method, [`Connection: ${value}`, ...named, length], { query: method })
          await expectOwnAnswer(`next-${method}`)
        }
        expect(peer.heard.map(({ method, url, body }) => [method, url.split('?')[1], body])).to.deep.equal(
          methods.flatMap((method) => [
            [method, method, inner],
            ['GET', `next-${method}`, ''],
          ]),
        )
        const framed = length === chunked ? ['chunked', undefined] : [undefined, String(inner.length)]
        for (const { url, headers } of peer.heard) {
          if (url.includes('next')) continue
          expect([headers['transfer-encoding'], headers['content-length']]).to.deep.equal(framed)
          expect(headers.host).to.not.equal('x')
          for (const line of named) expect(headers).to.include.keys(line.split(':')[0]?.toLowerCase() ?? '')
        }
      })
    }
  }

  it('is one body of chunks without any other header', async () => {
    for (const method of methods) await send(method, [chunked], { query: method })
    await expectOwnAnswer('next')
    expect(peer.heard.map(({ method, body }) => [method, body])).to.deep.equal([
      ...methods.map((method) => [method, inner]),
      ['GET', ''],
    ])
  })

  it('that is absent is absent there, and no request states two lengths', async () => {
    for (const method of methods) {
      for (const headers of [[], ['Content-Length: 0'], ['Connection: content-length'], ['Expect: 100-continue']])
        await sendRaw(there, [`${method} /orgs/${ann.org} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n'), {
          ends: true,
        })
    }
    expect(peer.heard).to.have.length(4 * methods.length)
    for (const { method, headers, body } of peer.heard) {
      const length = ['POST', 'PUT', 'PATCH'].includes(method) ? '0' : undefined
      expect([headers['content-length'], headers['transfer-encoding'], headers.expect, body], method).to.deep.equal([
        length,
        ...[undefined, undefined, ''],
      ])
    }
  })

  /** Before the length of a body, so many headers that a parser may no longer hand it over. */
  const many = Array.from({ length: 1_000 }, () => 'a:1')
  const uncertain: readonly (readonly [string, readonly string[], string?])[] = [
    ['both lengths', [sized, chunked]],
    ['two lengths', [sized, sized]],
    ['a list of lengths', [`${sized}, ${inner.length}`]],
    ['a signed length', [`Content-Length: +${inner.length}`]],
    ['an empty length', ['Content-Length:']],
    ['a hexadecimal length', ['Content-Length: 0x10']],
    ['a length of 20 digits', ['Content-Length: 99999999999999999999']],
    ['a folded length', ['X: 1', ` ${sized}`]],
    ['chunks twice', [chunked, chunked]],
    ['another coding before chunks', ['Transfer-Encoding: gzip, chunked']],
    ['no coding', ['Transfer-Encoding: identity']],
    ['chunks of HTTP/1.0', [chunked], '1.0'],
    ['a length after a thousand headers', [...many, sized]],
    ['chunks after a thousand headers', [...many, chunked]],
  ]
  for (const [title, headers, version = '1.1'] of uncertain) {
    it(`of uncertain length is 400 and closes the connection, before a byte of it is passed on: ${title}`, async () => {
      for (const method of methods) {
        const [answer, ...more] = await send(method, headers, { version })
        expect([answer?.status, answer?.headers.connection, more.length], method).to.deep.equal([400, 'close', 0])
      }
      await expectOwnAnswer('next')
      expect(peer.heard).to.have.length(1)
    })
  }

  it('that breaks off ends its connection, and nothing of it is in the next request', async () => {
    for (const length of [`Content-Length: ${inner.length + 900}`, chunked]) {
      const half = length === chunked ? `${(inner.length + 900).toString(16)}\r\n${inner}` : inner
      const socket = connectTo(there)
      socket.write(`DELETE /orgs/${ann.org} HTTP/1.1\r\nHost: x\r\n${length}\r\n\r\n${half}`)
      const isUnderWay = () => peer.received.some((bytes, at) => bytes.includes('/inner') && !peer.closed.has(at))
      await until(isUnderWay)
      socket.destroy()
      await until(() => !isUnderWay())
      await expectOwnAnswer('next')
    }
    expect(peer.heard.map(({ body }) => body)).to.deep.equal(['', ''])
  })
})

describe('the answer of another cell', () => {
  useCells()
  let ann: PersonClient
  let peer: Peer | undefined

  before(async () => {
    await setUrl('here', here.url)
    ann = await signUp(here, 'Ann')
  })
  afterEach(() => peer?.close())

  const asked = (query: string) => client(there).hasty.get(`/orgs/${ann.org}?${query}`)
  /** Writes these bytes as the answer to the first request; the others have answers of their own. */
  async function answerFirst(bytes: string, ends = false): Promise<void> {
    let isFirst = true
    peer = await startPeer((req, res) => {
      if (!isFirst) return void res.end(req.url)
      isFirst = false
      if (ends) req.socket.end(bytes)
      else req.socket.write(bytes)
    })
  }

  it('is framed by its length, whatever its Connection names', async () => {
    const body = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nno!'
    await answerFirst(`HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    const [answer, ...more] = await sendRaw(there, `GET /orgs/${ann.org} HTTP/1.1\r\nHost: x\r\n\r\n`, { ends: true })
    expect([answer?.text, answer?.headers['transfer-encoding'], more.length]).to.deep.equal([body, undefined, 0])
  })

  for (const [title, bytes] of [
    ['no length', 'HTTP/1.1 200 OK\r\n\r\nsome'],
    ['a coding besides chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4\r\nsome\r\n0\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n0\r\n\r\n'],
  ] as const) {
    it(`that states ${title} is 503, and its connection is not used again`, async () => {
      await answerFirst(bytes, true)
      const answer = await asked('first')
      expect([answer.status, answer.body.code]).to.deep.equal([503, 'busy'])
      expect((await asked('second')).body).to.equal(`/orgs/${ann.org}?second`)
      expect(peer?.heard.map(({ connection }) => connection).at(-1)).to.equal(2)
    })
  }

  it('that another one follows unasked is the last of its connection', async () => {
    const own = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown'
    let late = () => {}
    peer = await startPeer((req, res) => {
      if (!req.url?.includes('first')) return void res.end(req.url)
      req.socket.write(own)
      late = () => void req.socket.write(own.replace('own', 'bad'))
    })
    expect((await asked('first')).body).to.equal('own')
    late()
    await until(() => peer?.closed.has(1) === true)
    expect((await asked('second')).body).to.equal(`/orgs/${ann.org}?second`)
  })

  it('that comes before the end of the body is the last of its connection', async () => {
    const large = Buffer.alloc(30_000_000)
    peer = await startPeer((req, res) => void res.end(req.method === 'POST' ? large : req.url))
    const socket = connectTo(there)
    socket.write(`POST /orgs/${ann.org} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf `)
    const [first] = await once(socket.pause(), 'readable')
    expect(first).to.equal(undefined)
    // The answer waits for its reader while the rest of the request arrives.
    socket.write('other')
    await until(() => peer?.heard[0]?.body === 'half other')
    const received = read(socket)
    socket.end().resume()
    expect(parse(await received)[0]?.text).to.have.length(large.length)
    expect((await asked('next')).body).to.equal(`/orgs/${ann.org}?next`)
    expect(peer.heard.map(({ connection }) => connection)).to.deep.equal([1, 2])
  })
})

describe('a whole request in the body of another', () => {
  useCells()

  it('is answered to nobody by a cell: people who ask next read what is theirs', async () => {
    await setUrl('here', here.url)
    const ann = await signUp(here, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const { id } = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Krill' }).then(expecting(201))).body
    const path = `/orgs/${ann.org}/nodes/${id}`
    // Its answer takes a while: another request would be sent before.
    const credentials = JSON.stringify({ email: 'nobody@example.org', password: 'correct horse battery' })
    const login = `POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${credentials.length}\r\n\r\n${credentials}`
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) {
      for (const [headers, body] of [
        [`Connection: content-length\r\nContent-Length: ${login.length}`, login],
        [chunked, inChunks(login)],
      ]) {
        await sendRaw(there, `${method} ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`, { ends: true })
        const next = await client(there).get(path)
        expect([next.status, next.body.title], `${method} ${headers}`).to.deep.equal([200, 'Krill'])
      }
    }
  })
})

function inChunks(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
}
