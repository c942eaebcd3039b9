/** The HTTP server below Express. It answers in the format of the API where Node would answer on its own. */

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Express } from 'express'
import type { Logger } from 'pino'
import { v7 as newId } from 'uuid'
import { type ErrorCode, statusOf } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { mostOpenFiles } from '../../base/open-files.ts'
import { classesOf } from '../fast-path.ts'
import { trustIn } from './addresses.ts'
import { errorLink } from './base-url.ts'
import { newConnectionShares } from './connection-shares.ts'
import { toOriginForm } from './request-line.ts'

/** Longer than proxies and clients keep a connection open, so that they close it first. */
const keepAliveTimeoutMs = 75_000
/** Milliseconds for a client to read part of a complete response. */
const readTimeoutMs = 120_000
/**
 * Milliseconds for which input is still read after the response. A client that is cut off while it sends may not read
 * the response.
 */
const lingerMs = 3_000

/** The last request on a connection. */
const latest = new WeakMap<Duplex, ServerResponse>()

/** Creates the server. Logs input that never becomes a request as refused, if there is a `log`. */
export function createHttpServer(app: Express, log: Logger | undefined): Server {
  const server = createServer({
    ...classesOf(app),
    requireHostHeader: false,
    headersTimeout: limits.headersMs,
    requestTimeout: 0,
  })
  server.keepAliveTimeout = keepAliveTimeoutMs
  server.timeout = readTimeoutMs
  keepHalfOpen(server)
  const refusals: RawRefusals = { log, publicPath: app.get('public path') }
  const shares = newConnectionShares({ files: mostOpenFiles(), isProxy: trustIn(app), log })
  const answer: RequestListener = (req, res) => {
    const { socket } = req
    latest.set(socket, res)
    shares.begin(socket)
    res.once('close', () => latest.get(socket) === res && shares.rest(socket))
    toOriginForm(req)
    res.once('finish', () => endUnread(req, socket))
    app(req, res)
  }
  server.on('request', answer)
  server.on('checkExpectation', answer)
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    continueOnceRead(req, res)
    answer(req, res)
  })
  server.on('connection', (socket: Socket) => {
    lingerOnClose(socket)
    shares.add(socket)
  })
  server.on('timeout', endSilent)
  server.on('connect', (_req: IncomingMessage, socket: Duplex) => {
    sendRaw(refusals, socket, {
      code: 'method_not_allowed',
      detail: 'CONNECT is not allowed here; the header Allow lists the methods',
    })
    linger(socket)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => refuseBroken(refusals, error, socket))
  return server
}

/**
 * Lets clients that have ended their side of the connection still read responses. Node does not document the property.
 *
 * @throws Error Node's server has no such property
 */
function keepHalfOpen(server: Server): void {
  if (!('httpAllowHalfOpen' in server)) throw new Error("Node's HTTP server should have httpAllowHalfOpen")
  server.httpAllowHalfOpen = true
}

/** Sends `100 Continue` when the body is wanted. Otherwise it is unknown whether the client sends the body. */
function continueOnceRead(req: IncomingMessage, res: ServerResponse): void {
  const { shouldKeepAlive } = res
  res.shouldKeepAlive = false
  req._read = (size) => {
    // The response class's own method.
    Reflect.deleteProperty(req, '_read')
    if (!res.headersSent) {
      res.shouldKeepAlive = shouldKeepAlive
      res.writeContinue()
    }
    req._read(size)
  }
}

/**
 * Discards input for a while after the response. A request that a pipeline has closed has no socket, and is already
 * closed.
 */
function endUnread(req: IncomingMessage, socket: Socket): void {
  if (req.complete) return
  const overdue = setTimeout(() => req.complete || socket.destroy(), lingerMs)
  req.once('close', () => clearTimeout(overdue))
}

/**
 * Delays the close of a connection. Node calls `destroySoon` once the response is written; the system may drop the
 * response if more input arrives.
 */
function lingerOnClose(socket: Socket): void {
  const closeNow = socket.destroySoon.bind(socket)
  socket.destroySoon = () => (isSending(socket) ? linger(socket) : closeNow())
}

function isSending(socket: Socket): boolean {
  const res = latest.get(socket)
  return res !== undefined && !res.req.complete
}

function linger(socket: Duplex): void {
  socket.end()
  socket.resume()
  const overdue = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(overdue))
}

/**
 * Closes a connection without traffic, because it is idle or its client does not read. Does not close it while a
 * response is being made.
 */
function endSilent(socket: Socket): void {
  const res = latest.get(socket)
  const isMaking = res !== undefined && !res.closed && socket.writableLength === 0
  if (!isMaking) socket.destroy()
}

/** A response to input that never became a request. */
interface RawResponse {
  readonly code: ErrorCode
  readonly detail: string
}

/** Responses to the error codes of Node's parser. Any other code means that the input is not HTTP. */
const broken: Readonly<Record<string, RawResponse>> = {
  HPE_HEADER_OVERFLOW: {
    code: 'headers_too_large',
    detail: 'The URL and the headers are over 16 KiB',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { code: 'too_large', detail: 'The chunk extensions are over 16 KiB' },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'request_timeout',
    detail: 'The headers did not arrive in 20 seconds',
  },
}
const notHttp: RawResponse = { code: 'bad_request', detail: 'This is not an HTTP/1.1 request' }

/** For responses that are written to a socket, without Express. */
interface RawRefusals {
  readonly log: Logger | undefined
  readonly publicPath: string
}

/** Connections that were refused. Each is refused once, although the parser also refuses everything after that. */
const refused = new WeakSet<Duplex>()

function refuseBroken(refusals: RawRefusals, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (refused.has(socket)) return
  refused.add(socket)
  const res = latest.get(socket)
  const isAnswering = res !== undefined && !res.closed
  if (!socket.writable || error.code === 'ECONNRESET' || (isAnswering && res.headersSent)) {
    socket.destroy()
  } else if (isAnswering && res.req.complete) {
    // The malformed part came after a complete request, whose response is the last.
    res.shouldKeepAlive = false
  } else {
    sendRaw(refusals, socket, broken[error.code ?? ''] ?? notHttp)
    linger(socket)
  }
}

/** Writes the response, and logs it without the input if there is a log. The caller closes the connection. */
function sendRaw({ log, publicPath }: RawRefusals, socket: Duplex, { code, detail }: RawResponse): void {
  const status = statusOf[code]
  const request_id = newId()
  const body = JSON.stringify({ detail, code, request_id, link: errorLink(publicPath, code) })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${request_id}`,
    ...(status === 405 ? ['Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'] : []),
    'Connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  const remoteAddress = 'remoteAddress' in socket ? socket.remoteAddress : undefined
  log?.info({ req: { id: request_id, remoteAddress }, res: { statusCode: status }, code }, 'request refused')
}
