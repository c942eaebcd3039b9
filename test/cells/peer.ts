/** A program at the address of a cell that records what another cell sends it. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setUrl } from './scene.ts'

interface Heard {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** The number of its connection, from 1. */
  readonly connection: number
}

export interface Peer {
  /** Whole requests, in the order of their ends. */
  readonly heard: readonly Heard[]
  /** The bytes of each connection so far; the first connection is at 1. */
  readonly received: readonly string[]
  /** Numbers of the connections that have closed. */
  readonly closed: ReadonlySet<number>
  close(): Promise<void>
}

/**
 * Stands at the address of `here` until it is closed.
 *
 * @param answer answers once the headers are there; default: with the address asked for, once the body is
 */
export async function startPeer(answer?: RequestListener): Promise<Peer> {
  const heard: Heard[] = []
  const received = ['']
  const closed = new Set<number>()
  const numbers = new WeakMap<Socket, number>()
  const server = createServer(async (req, res) => {
    answer?.(req, res)
    let body = ''
    try {
      for await (const part of req.setEncoding('latin1')) body += part
    } catch {
      return
    }
    const { method = '', url = '', headers, socket } = req
    heard.push({ method, url, headers, body, connection: numbers.get(socket) ?? 0 })
    if (answer === undefined) res.end(url)
  })
  server.on('connection', (socket: Socket) => {
    const number = received.push('') - 1
    numbers.set(socket, number)
    socket.on('data', (part: Buffer) => {
      received[number] += part.toString('latin1')
    })
    socket.once('close', () => closed.add(number))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await setUrl('here', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return {
    heard,
    received,
    closed,
    close: async () => {
      server.close().closeAllConnections()
      await once(server, 'close')
    },
  }
}
