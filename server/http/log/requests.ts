/**
 * The request log: one line per request, with the id of the response. It has no secrets, e-mail addresses or file
 * names.
 */

import type { Socket } from 'node:net'
import type { Request, RequestHandler, Response } from 'express'
import { v7 as newId } from 'uuid'
import { holdsToken } from '../../domain/accounts/tokens.ts'
import type { Services } from '../../domain/services.ts'
import { unsearched } from '../fast-path.ts'
import { stateOf } from '../request-state.ts'
import { countRequest, countTransport, isTransport } from './request-metrics.ts'
import { notesOf, streamOp } from './request-notes.ts'

/** The most listeners for the end of a response. More is a leak, of which Node warns on standard error. */
const mostListeners = 32

/** Gives each request its id, and counts and logs it after the response. The id is the client's, if it is valid. */
export function requestLog({ config, log, metrics }: Services): RequestHandler {
  const { logRequests } = config
  // The fields are named below, and none of them holds a secret.
  const lines = unsearched(log)
  return (req, res, next) => {
    const { method, headers, socket } = req
    // Read now: a closed socket no longer has it.
    const remoteAddress = req.ip
    const id = idFor(headers['x-request-id'])
    const trace_id = traceIdOf(headers.traceparent)
    const started = performance.now()
    stateOf(req).id = id
    metrics.requestsInFlight.inc()
    res.setHeader('X-Request-Id', id)
    res.setMaxListeners(mostListeners)
    res.once('close', () => {
      const outcome = outcomeOf(req, res)
      const bytes = countBytes(socket)
      const ms = performance.now() - started
      const { op } = notesOf(req)
      const status = outcome.outcome === 'aborted' ? 'aborted' : res.statusCode
      countRequest(metrics, { op, status, seconds: ms / 1000 })
      if (isTransport(op)) countTransport(metrics, { service: op, ...outcome, ...bytes, seconds: ms / 1000 })
      if (logRequests === 'off' || (logRequests === 'errors' && outcome.isFine)) return
      const { code, refused, wait_ms = 0, ...found } = notesOf(req)
      const { statusCode } = res
      lines[outcome.level](
        {
          req: { id, method, remoteAddress },
          res: { statusCode, code },
          ...found,
          ...bytes,
          ms: Math.round(ms),
          ...(wait_ms < 1 ? {} : { wait_ms: Math.round(wait_ms) }),
          refused,
          trace_id,
        },
        outcome.message,
      )
    })
    next()
  }
}

interface Outcome {
  readonly outcome: 'completed' | 'refused' | 'failed' | 'aborted'
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  /** True if the client got what it asked for. */
  readonly isFine: boolean
}

/** The outcome of a request. 501 is the response to Git LFS. The fault behind a 503 has its own line. */
function outcomeOf(req: Request, { statusCode, writableFinished }: Response): Outcome {
  // The client ends a stream.
  if (!writableFinished && notesOf(req).op !== streamOp)
    return { outcome: 'aborted', level: 'info', message: 'request aborted', isFine: false }
  if (statusCode >= 500 && statusCode !== 501 && statusCode !== 503)
    return { outcome: 'failed', level: 'error', message: 'request failed', isFine: false }
  if (notesOf(req).refused !== undefined)
    return { outcome: 'refused', level: 'warn', message: 'a push was refused', isFine: false }
  const isFine = statusCode < 400
  const outcome = isFine ? 'completed' : statusCode < 500 ? 'refused' : 'failed'
  return { outcome, level: 'info', message: 'request completed', isFine }
}

/** The bytes of each connection up to its last response. */
const counted = new WeakMap<Socket, { readonly read: number; readonly written: number }>()

/**
 * Counts the bytes of a connection since its last response. They are those of the request and the response, with
 * headers.
 */
function countBytes(socket: Socket): { readonly bytes_in: number; readonly bytes_out: number } {
  const before = counted.get(socket) ?? { read: 0, written: 0 }
  const now = { read: socket.bytesRead, written: socket.bytesWritten }
  counted.set(socket, now)
  return { bytes_in: now.read - before.read, bytes_out: now.written - before.written }
}

/** The id of a request. Tokens do not belong in request ids; if a client sends one there, it gets a new id. */
function idFor(sent: unknown): string {
  return typeof sent === 'string' && /^[\w.:-]{1,100}$/.test(sent) && !holdsToken(sent) ? sent : newId()
}

export function requestId(req: Request): string {
  return stateOf(req).id
}

/**
 * The trace id in a `traceparent` header of W3C Trace Context. Undefined if it is missing or invalid. A version above
 * 00 may have further fields. Source: https://www.w3.org/TR/trace-context/, 3.2.
 */
function traceIdOf(sent: unknown): string | undefined {
  if (typeof sent !== 'string') return undefined
  const [, version, trace = '', parent = '', more] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(-.*)?$/.exec(sent) ?? []
  const isKnown = version !== undefined && version !== 'ff' && (version !== '00' || more === undefined)
  return isKnown && !/^0+$/.test(trace) && !/^0+$/.test(parent) ? trace : undefined
}
