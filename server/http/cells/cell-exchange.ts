/**
 * Sends one request to another cell, and streams it and the response. Each message is framed here, regardless of what
 * its sender calls a header.
 */

import { Agent, type ClientRequest, type IncomingMessage, request as startRequest } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { Request, Response } from 'express'
import { ClientDisconnectedError } from '../../base/errors.ts'
import { disconnectSignal } from '../connection/disconnect.ts'
import { type Framing, framingOf, statedLength } from '../connection/framing.ts'
import { note, streamOp } from '../log/request-notes.ts'
import { requestId } from '../log/requests.ts'
import { cellTimeoutError } from './cell-client.ts'
import { forwardedHeader } from './forwarded.ts'

/** Milliseconds for another cell to accept a connection. */
const connectMs = 5_000
/** Milliseconds without a byte in either direction. Git may compute for long. Same values as in deploy/nginx.conf. */
const silentMs = { git: 3_600_000, other: 75_000 }
/**
 * Headers that belong to one connection, not to the request. The list is closed. The other cell is the same service, so
 * `Connection` has nothing to add, and a client must not remove headers that its request needs. Source: RFC 9110,
 * 7.6.1.
 */
const hopByHop = /^(connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|grove-forwarded)$/i
/** Headers that this cell itself writes, to the other cell and to the client. */
const own = { request: /^(host|x-request-id|content-length|expect)$/i, answer: /^content-length$/i } as const

const agent = new Agent({ keepAlive: true })
agent.on('free', (socket: Socket) => socket.once('data', endUnusedRequest))

/** Ends a connection with unused bytes. They would be read as the response to the next request. */
function endUnusedRequest(this: Socket): void {
  this.destroy()
}

/** The outcome. `failed`: the cell did not answer to the end; `aborted`: the client has disconnected. */
export type Outcome = 'done' | 'failed' | 'aborted'

/**
 * Pipes a request and its response. Resolves when the response has ended or the client has disconnected.
 *
 * @param draining when it is aborted, a stream of events ends, which would otherwise continue
 * @throws AppError busy, outcome_unknown; ClientDisconnectedError
 */
export function pipeRequest(
  req: Request,
  res: Response,
  { url, forwarded, draining }: { readonly url: string; readonly forwarded: string; readonly draining: AbortSignal },
): Promise<Outcome> {
  const framing = framingOf(req) ?? 0
  const asked = startAsking(req, url, forwarded, framing)
  return new Promise((done, fail) => {
    const clock = setTimeout(() => asked.destroy(new Error('The cell accepts no connection')), connectMs)
    let isConnected = false
    let isBroken = false
    asked.once('socket', (socket) => {
      socket.off('data', endUnusedRequest)
      const connected = () => {
        clearTimeout(clock)
        isConnected = true
      }
      if (socket.connecting) socket.once('connect', connected)
      else connected()
    })
    const broken = (error: Error) => {
      clearTimeout(clock)
      if (res.headersSent) {
        isBroken = true
        res.destroy()
      } else if (res.destroyed) fail(new ClientDisconnectedError())
      else fail(cellTimeoutError(req.method, error, isConnected))
    }
    asked.once('error', broken)
    asked.once('response', (answer) => {
      answer.once('error', () => {
        isBroken = true
      })
      // The rest of the request may never follow: no other request is sent on this connection.
      if (!asked.writableFinished) asked.shouldKeepAlive = false
      try {
        relay(answer, req.method, res)
        if (isStream(answer)) {
          note(req, { op: streamOp })
          for (const signal of [draining, disconnectSignal(req, res)]) endWith(signal, asked, res)
        }
      } catch (error) {
        broken(error instanceof Error ? error : new Error(String(error)))
        asked.destroy()
      }
    })
    res.once('close', () => {
      clearTimeout(clock)
      done(res.writableFinished ? 'done' : isBroken ? 'failed' : 'aborted')
      asked.destroy()
    })
    send(req, asked, framing)
  })
}

function startAsking(req: Request, url: string, forwarded: string, framing: Framing): ClientRequest {
  const target = new URL(url)
  const asked = startRequest({
    agent,
    host: target.hostname.replace(/^\[|\]$/g, ''),
    port: target.port,
    method: req.method,
    path: `${target.pathname.replace(/\/$/, '')}${req.originalUrl}`,
    headers: [
      ...headersOf(req.rawHeaders, own.request),
      ...['Host', target.host, 'X-Request-Id', requestId(req), forwardedHeader, forwarded],
      ...(waits(req, framing) ? ['Expect', '100-continue'] : []),
      ...statedLength(req.method, framing),
    ],
  })
  const silent = req.originalUrl.startsWith('/git/') ? silentMs.git : silentMs.other
  asked.setTimeout(silent, () => asked.destroy(new Error('The cell is silent')))
  return asked
}

/** True if the client waits for 100 Continue before it sends the body. */
function waits({ headers }: Request, framing: Framing): boolean {
  return headers.expect !== undefined && framing !== 0
}

/**
 * Sends the request. Only an error of the client ends it. If the cell responds before it has read everything, its
 * response is passed on to the end. The rest of the client's input is then discarded. A client that expects 100
 * Continue gets it from the other cell.
 */
function send(req: Request, asked: ClientRequest, framing: Framing): void {
  const begin = () => {
    req.pipe(asked)
    asked.once('close', () => req.unpipe(asked).resume())
  }
  req.once('error', () => asked.destroy())
  if (framing === 0) asked.end()
  else if (waits(req, framing)) {
    asked.once('continue', begin)
    asked.flushHeaders()
  } else begin()
}

function isStream({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.startsWith('text/event-stream') === true
}

/** Ends a stream with a signal. The client connects again, to another process. */
function endWith(signal: AbortSignal, asked: ClientRequest, res: Response): void {
  const end = () => {
    res.destroy()
    asked.destroy()
  }
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
  res.once('close', () => signal.removeEventListener('abort', end))
}

/** Passes the response on. @throws Error the response states no length, or an uncertain one */
function relay(answer: IncomingMessage, method: string, res: Response): void {
  if (res.headersSent || res.destroyed) {
    answer.destroy()
    return
  }
  const { statusCode = 502, statusMessage, rawHeaders } = answer
  const framing = framingOf(answer)
  const hasBody = method !== 'HEAD' && statusCode !== 204 && statusCode !== 304
  if (framing === undefined && hasBody) throw new Error('The response does not state its length')
  for (const name of res.getHeaderNames()) res.removeHeader(name)
  // Node frames a response without a length: chunked, or for a client of HTTP/1.0 up to the end of the connection.
  const length = typeof framing === 'number' ? ['Content-Length', String(framing)] : []
  res.writeHead(statusCode, statusMessage, [...headersOf(rawHeaders, own.answer), ...length])
  // The pipeline closes both ends if one breaks off.
  pipeline(answer, res, () => {})
}

/** Headers as name, value, name, value. Skips those of one connection and those that this cell writes. */
function headersOf(raw: readonly string[], without: RegExp): string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]]
    if (!hopByHop.test(name) && !without.test(name)) kept.push(name, value)
  }
  return kept
}
