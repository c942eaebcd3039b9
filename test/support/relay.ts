/** A relay to PostgreSQL that can be cut, or that keeps connections open. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface Relay {
  /** The URL of the database through the relay. */
  readonly url: string
  /** Stops all bytes; connections stay open. */
  cut(): void
  restore(): void
  close(): void
}

interface RelayOptions {
  /** The IP address of this machine on which the relay listens. Default: loopback. */
  readonly address?: string
  /** True: the end of a connection is not passed on. */
  readonly holdsOpen?: boolean
}

export async function relayTo(
  database: string,
  { address = '127.0.0.1', holdsOpen = false }: RelayOptions = {},
): Promise<Relay> {
  const url = new URL(database)
  const { hostname, port } = url
  const pairs = new Set<readonly [Socket, Socket]>()
  let isCut = false
  const flow = ([near, far]: readonly [Socket, Socket]) => {
    near.pipe(far, { end: !holdsOpen })
    far.pipe(near, { end: !holdsOpen })
  }
  const server = createServer({ allowHalfOpen: holdsOpen }, (near) => {
    const pair = [near, connect(Number(port), hostname)] as const
    pairs.add(pair)
    for (const socket of pair) {
      socket.on('error', () => {})
      if (!holdsOpen)
        socket.once('close', () => {
          pairs.delete(pair)
          for (const either of pair) either.destroy()
        })
    }
    if (!isCut) flow(pair)
  })
  await once(server.listen(0, address), 'listening')
  const bound = server.address()
  url.hostname = address
  url.port = String(typeof bound === 'object' && bound !== null ? bound.port : 0)
  return {
    url: url.href,
    cut: () => {
      isCut = true
      for (const socket of [...pairs].flat()) socket.unpipe().pause()
    },
    restore: () => {
      isCut = false
      for (const pair of pairs) flow(pair)
    },
    close: () => {
      for (const socket of [...pairs].flat()) socket.destroy()
      server.close()
    },
  }
}
