/** One request and its answer over one connection, to an IP address that was judged. */

import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, type RequestOptions, request as requestHttps } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { plainName } from '../../base/allow-list.ts'
import { canonicalAddress } from '../../base/public-addresses.ts'
import { AnswerReader, type Exchanged, type Limits } from './answer-reader.ts'
import type { Deadlines } from './deadlines.ts'
import { FetchError } from './fetch-error.ts'
import { endpointOf } from './own-addresses.ts'

export interface Exchange {
  readonly url: URL
  /** The IP address to connect to. */
  readonly address: string
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly limits: Limits
  readonly ca?: string
  /**
   * True if a later request to the same host may use the connection. It needs the same IP address, port and name, and is
   * judged again. If the host has closed the connection in the meantime, the request is sent once more.
   */
  readonly keeps?: boolean
}

/** Connections that wait for the next request. A host may have a few of those of its scheme. */
const waiting = { timeout: 4_000, maxFreeSockets: 8 } as const
const mostWaiting = 64
const httpAgent = new HttpAgent({ ...waiting, keepAlive: true })
/** Without sessions of TLS, so each new connection verifies the certificate. */
const httpsAgent = new HttpsAgent({ ...waiting, keepAlive: true, maxCachedSessions: 0 })

/** Returns the agent of a connection that may be kept. False: enough are. */
function agentOf({ protocol }: URL): HttpAgent | false {
  const agent = protocol === 'https:' ? httpsAgent : httpAgent
  return Object.values(agent.freeSockets).flat().length < mostWaiting && agent
}

/** Bytes of a status line with its headers. A longer one is an error. */
const longestHead = 16_384

/**
 * Sends the request and reads its answer. When it settles, the connection is being closed, or waits for another request.
 *
 * @throws FetchError with the status, if that has arrived
 */
export function exchange(order: Exchange, deadlines: Deadlines): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const host = order.url.hostname
    const request = (order.url.protocol === 'https:' ? requestHttps : requestHttp)(optionsOf(order))
    let isSettled = false
    const settle = (act: () => void) => {
      if (isSettled) return
      isSettled = true
      deadlines.signal.removeEventListener('abort', stop)
      request.socket?.off('data', count)
      act()
      // Not the connection, if it was given back after the whole answer.
      request.destroy()
    }
    const fail = ({ code, message, cause }: FetchError) =>
      settle(() => {
        if (code === 'connection' && request.reusedSocket && reader.status === undefined)
          resolve(exchange({ ...order, keeps: false }, deadlines))
        else reject(new FetchError(code, message, { status: reader.status, cause }))
      })
    const stop = () => fail(deadlines.signal.reason)
    const reader = new AnswerReader(host, order.limits, {
      done: (answer) => settle(() => resolve(answer)),
      failed: fail,
    })
    const count = (part: Buffer) => reader.received(part.length)
    deadlines.signal.addEventListener('abort', stop)
    if (deadlines.signal.aborted) stop()

    const connection = onConnected(request, order.url, () => {
      if (canonicalAddress(request.socket?.remoteAddress ?? '') === canonicalAddress(order.address)) {
        deadlines.enter('exchanging')
        request.end(order.body)
      } else {
        fail(new FetchError('refused_address', `${host} was reached at another IP address than the one judged.`))
      }
    })
    request.once('socket', (socket) => socket.on('data', count))
    request.once('response', (response: IncomingMessage) => reader.read(response))
    // After the head of an answer, its reader notices how it ends. A host may answer and close before it has read all.
    request.on('error', (error) => {
      if (reader.status === undefined) fail(failureOf(host, error, connection.isHandshaking()))
    })
    request.once('close', () => {
      if (reader.status === undefined)
        fail(new FetchError('connection', `${host} closed the connection without an answer.`))
    })
  })
}

/** Uses no proxy, and always verifies the certificate. */
function optionsOf({ url, address, method, headers, body, ca, keeps = false }: Exchange): RequestOptions {
  const { host, port } = endpointOf(url.href)
  const agent = keeps && agentOf(url)
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return {
    method,
    host: address,
    port,
    path: `${url.pathname}${url.search}`,
    headers: {
      'accept-encoding': 'identity',
      ...headers,
      ...length,
      ...{ host: url.host, connection: agent ? 'keep-alive' : 'close' },
    },
    // The certificate must be that of the name. An IP address is compared as it is.
    servername: isIP(host) === 0 ? plainName(host) : '',
    rejectUnauthorized: true,
    agent,
    maxHeaderSize: longestHead,
    ...(ca === undefined ? {} : { ca }),
  }
}

/** Calls `act` when the connection is ready, with TLS after its handshake. */
function onConnected(request: ClientRequest, { protocol }: URL, act: () => void): { isHandshaking(): boolean } {
  const isTls = protocol === 'https:'
  let isHandshaking = false
  request.once('socket', (socket: Socket) => {
    if (request.reusedSocket) return act()
    socket.once('connect', () => {
      isHandshaking = isTls
    })
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      isHandshaking = false
      act()
    })
  })
  return { isHandshaking: () => isHandshaking }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection. The port may be wrong, or nothing listens there',
  EHOSTUNREACH: 'cannot be reached from this service',
  ENETUNREACH: 'cannot be reached from this service',
  ETIMEDOUT: 'does not respond at this port',
  ECONNRESET: 'closed the connection without an answer',
  EPIPE: 'closed the connection without an answer',
  HPE_HEADER_OVERFLOW: `sent headers of more than ${longestHead.toLocaleString('en')} bytes`,
}

function failureOf(host: string, error: NodeJS.ErrnoException, isHandshaking: boolean): FetchError {
  const { code = '' } = error
  if (isHandshaking || /^ERR_(SSL|TLS)_/.test(code)) {
    return new FetchError('tls', `A TLS connection to ${host} failed: ${tlsReason(error)}.`, { cause: error })
  }
  if (code.startsWith('HPE_') && reasons[code] === undefined) {
    return new FetchError('connection', `${host} sent an answer that is not valid HTTP.`, { cause: error })
  }
  const reason = reasons[code] ?? `could not be reached: ${code || error.message}`
  return new FetchError('connection', `${host} ${reason}.`, { cause: error })
}

/** Says what was wrong as Node does, without its hints for operators. */
function tlsReason({ code = '', message }: NodeJS.ErrnoException): string {
  if (code === 'ECONNRESET') return 'the host closed the connection during the handshake'
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return 'the host may not speak TLS 1.2 or newer at this port'
  return message.replace(/;.*|\.?\s*$/s, '')
}
