/**
 * Shares the connections of a process. One IP address never has all of them, and idle connections give way to new ones.
 */

import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { networkOfAddress } from './addresses.ts'

/**
 * The part of its open files that a process uses for connections. The rest is for repositories, databases and Git
 * processes.
 */
const ofFiles = 1 / 2
/** The part of all connections that one IP address may have. */
const ofConnections = 1 / 4
/** Milliseconds between two lines of the log. */
const logEveryMs = 60_000

export interface ConnectionShares {
  /** Adds a new connection, which is idle. */
  add(socket: Socket): void
  /** Marks a connection as busy. It is then not ended in favour of others. */
  begin(socket: Socket): void
  /** Marks a connection as idle again. */
  rest(socket: Socket): void
}

interface Sharing {
  /** The most files that the process may open; Infinity without a limit. */
  readonly files: number
  /** True for the IP address of a proxy, which many clients share. */
  readonly isProxy: (address: string) => boolean
  readonly log: Logger | undefined
}

/** The connections of one IP address. `idle` has the longest idle first. */
interface Group {
  readonly all: Set<Socket>
  readonly idle: Set<Socket>
}

/** The group of each connection that counts towards its IP address. */
const groups = new WeakMap<Socket, Group>()

/** Stops counting a connection towards its IP address. It comes from a proxy or another cell. */
export function exemptFromShare(socket: Socket): void {
  const group = groups.get(socket)
  group?.all.delete(socket)
  group?.idle.delete(socket)
  groups.delete(socket)
}

export function newConnectionShares({ files, isProxy, log }: Sharing): ConnectionShares {
  const most = Math.floor(files * ofFiles)
  const share = Math.max(1, Math.floor(most * ofConnections))
  const all: Group = { all: new Set(), idle: new Set() }
  const byNetwork = new Map<string, Group>()
  let loggedAt = Number.NEGATIVE_INFINITY

  const endOldest = ({ idle }: Group, address: string) => {
    const [oldest] = idle
    if (oldest === undefined) return
    forget(oldest)
    oldest.destroy()
    if (performance.now() < loggedAt + logEveryMs) return
    loggedAt = performance.now()
    log?.warn(
      { remoteAddress: address, connections: all.all.size, most, share },
      'idle connections are ended for new ones',
    )
  }
  const forget = (socket: Socket) => {
    exemptFromShare(socket)
    all.all.delete(socket)
    all.idle.delete(socket)
  }
  const count = (socket: Socket, address: string): Group | undefined => {
    if (isProxy(address)) return undefined
    const network = networkOfAddress(address)
    const group = byNetwork.get(network) ?? { all: new Set(), idle: new Set() }
    byNetwork.set(network, group)
    groups.set(socket, group)
    group.all.add(socket)
    group.idle.add(socket)
    socket.once('close', () => {
      if (group.all.size === 0 && byNetwork.get(network) === group) byNetwork.delete(network)
    })
    return group
  }
  return {
    add: (socket) => {
      const { remoteAddress: address } = socket
      // The connection has already ended.
      if (address === undefined) return
      all.all.add(socket)
      all.idle.add(socket)
      socket.once('close', () => forget(socket))
      const group = count(socket, address)
      if (group !== undefined && group.all.size > share) endOldest(group, address)
      else if (all.all.size > most) endOldest(all, address)
    },
    begin: (socket) => {
      all.idle.delete(socket)
      groups.get(socket)?.idle.delete(socket)
    },
    rest: (socket) => {
      if (!all.all.has(socket)) return
      all.idle.add(socket)
      groups.get(socket)?.idle.add(socket)
    },
  }
}
