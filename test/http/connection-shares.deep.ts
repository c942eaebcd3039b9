/** One address that holds many connections: others are answered all the same. */

import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

/** Files that the service may open: half are for connections, an eighth for those of one address. */
const files = 320
const share = files / 8
/** More connections than it can hold. */
const many = 400

describe('a service that may open few files', () => {
  let dataDir: string
  let grove: SpawnedGrove
  let held: Socket[]

  beforeEach(() => {
    held = []
  })
  afterEach(async () => {
    for (const socket of held) socket.destroy()
    await grove.stop()
    await rm(dataDir, { recursive: true })
  })

  async function start(environment: Record<string, string> = {}): Promise<void> {
    dataDir = await newDataDir()
    grove = await spawnGrove(dataDir, environment, ['prlimit', `--nofile=${files}:${files}`])
  }

  /** A connection on which this has been sent. */
  async function hold(text: string, localAddress = '127.0.0.1'): Promise<Socket> {
    const { hostname: host, port } = new URL(grove.url)
    const socket = connect({ host, port: Number(port), localAddress })
    held.push(socket)
    socket.on('error', () => {}).resume()
    await once(socket, 'connect')
    if (text !== '') socket.write(text)
    return socket
  }

  async function holdMany(text: string, count: number, localAddress?: string): Promise<void> {
    for (let n = 0; n < count; n++) await hold(text, localAddress)
  }

  /** The status that somebody at this address gets on a connection of their own. */
  async function statusAt(localAddress: string): Promise<number | undefined> {
    const [answer] = (await once(get(`${grove.url}/healthz`, { localAddress, agent: false }), 'response')) as [
      IncomingMessage,
    ]
    answer.resume()
    await once(answer, 'close')
    return answer.statusCode
  }

  const open = () => held.filter((socket) => !socket.closed)

  for (const [title, text] of [
    ['say nothing', ''],
    ['begin a request', 'GET / HTTP/1.1\r\nHost: x\r\nX-A'],
    ['wait after an answer', 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['begin a body', 'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{'],
  ] as const) {
    it(`answers another address, and one beside connections of its own, while ${many} connections ${title}`, async () => {
      await start()
      await holdMany(text, many)
      await until(() => open().length <= share)
      expect(await statusAt('127.0.0.2')).to.equal(200)
      expect(open().length, 'still held').to.be.within(share - 1, share)
      if (!text.startsWith('POST')) expect(await statusAt('127.0.0.1')).to.equal(200)
    })
  }

  it('ends the longest idle connection first, and none with a request', async () => {
    await start()
    const busy = await hold('POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{')
    const first = await hold('')
    const second = await hold('')
    await holdMany('', share - 3)
    await statusAt('127.0.0.1')
    await until(() => first.closed)
    expect([busy.closed, second.closed]).to.deep.equal([false, false])
    await hold('')
    await hold('')
    await until(() => second.closed)
    expect(busy.closed).to.equal(false)
  })

  it('ends idle connections of a proxy only where those of all are too many', async () => {
    await start({ TRUST_PROXY: '127.0.0.1' })
    await holdMany('', 3 * share)
    expect(await statusAt('127.0.0.1')).to.equal(200)
    expect(open()).to.have.length(3 * share)
    await holdMany('', many)
    await until(() => open().length <= 4 * share)
    expect(await statusAt('127.0.0.2')).to.equal(200)
    expect(open().length).to.be.within(4 * share - 1, 4 * share)
  })

  it('answers a new address while many addresses hold their shares', async () => {
    await start()
    for (let n = 10; n < 20; n++) await holdMany('', share, `127.0.0.${n}`)
    await until(() => open().length <= 4 * share)
    expect(await statusAt('127.0.0.2')).to.equal(200)
  })
})
