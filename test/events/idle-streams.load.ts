/** Memory of a thousand streams to which nothing happens, and of streams whose clients do not read. */
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { follow } from '../support/event-stream.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { anEvent, append, eventsOf, grove, useScene } from './scene.ts'

/** Users with as many streams as each may have: all that a process allows. */
const users = 50
const eachOf = 20
const kibibyte = 1024

/** A client that counts bytes and keeps none, because it is in the same process as the service. */
interface Reader {
  readonly socket: Socket
  bytes: number
}

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

describe('a thousand streams', () => {
  useScene({ sweeps: false })

  const owners: PersonClient[] = []
  const readers: Reader[] = []

  before(async () => {
    for (let at = 0; at < users; at++) owners.push(await signUp(grove, `Owner ${at}`))
  })
  after(() => {
    for (const { socket } of readers) socket.destroy()
  })

  /** Bytes that the process holds, of which the clients take a part. */
  const held = () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }

  const open = async ({ org, session }: PersonClient): Promise<Reader> => {
    const { hostname, port } = new URL(grove.url)
    const socket = connect(Number(port), hostname)
    const reader: Reader = { socket, bytes: 0 }
    socket.on('data', (chunk) => {
      reader.bytes += chunk.length
    })
    const path = eventsOf(org, '?types=webhook.*')
    const headers = `Host: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${session.accessToken}\r\n\r\n`
    socket.write(`GET ${path} HTTP/1.1\r\n${headers}`)
    await until(() => reader.bytes > 0)
    return reader
  }
  const settled = async () => {
    let before = -1
    await until(() => {
      const sum = readers.reduce((bytes, reader) => bytes + reader.bytes + reader.socket.bytesRead, 0)
      const isSettled = sum === before
      before = sum
      return isSettled
    })
  }

  it('take less than 64 KiB each, with their clients, and one more is refused', async () => {
    const before = held()
    for (const owner of owners) readers.push(...(await Promise.all(Array.from({ length: eachOf }, () => open(owner)))))
    expect((held() - before) / readers.length).to.be.below(64 * kibibyte)
    const last = await signUp(grove, 'Last')
    expect((await follow(grove.url + eventsOf(last.org), last.session.accessToken)).status).to.equal(429)
  })

  it('all get an event of their organisation', async () => {
    const sizes = readers.map(({ bytes }) => bytes)
    for (const { org } of owners) await append(grove.deps.events, org, [anEvent(org)])
    await until(() => readers.every(({ bytes }, at) => bytes > (sizes[at] ?? 0) + 200))
  })

  it('hold less than 256 KiB for a client that does not read, for any number of events', async () => {
    const slow = readers.slice(0, 200)
    const before = held()
    for (const { socket } of slow) socket.pause()
    for (let times = 0; times < 20; times++)
      for (const { org } of owners.slice(0, 10)) {
        const some = Array.from({ length: 50 }, () => anEvent(org, { size: 16_000 }))
        await append(grove.deps.events, org, some)
      }
    await settled()
    expect((held() - before) / slow.length).to.be.below(256 * kibibyte)
    for (const { socket } of slow) socket.resume()
    await until(() => slow.every(({ bytes }) => bytes > 20 * 50 * 16_000))
  })
})
