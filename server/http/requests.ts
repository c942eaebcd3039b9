/** The log of requests: one line each, with an id that the answer carries too, and nothing secret. */

import type { Request, RequestHandler } from 'express'
import { type Logger, pino } from 'pino'
import { v7 as newId } from 'uuid'
import { countingFaults, faultCounts } from './log-faults.ts'
import { linesTo } from './log-lines.ts'

/** Names under which something secret could reach the log, at the top of a record and one level down. */
const secrets = [
  'authorization',
  'password',
  'old_password',
  'new_password',
  'token',
  'accessToken',
  'idToken',
  'refreshToken',
  'reset_token',
]

/** Tokens have no place in an address, nor in a request's id, but somebody will put one there. */
const tokens = /eyJ[\w-]+\.[\w-]+\.[\w-]*|grv_[\w-]+/g

/** Milliseconds that a line may wait for others to be written with it. */
const flushMs = 100
/** Milliseconds that the end of the process waits for a reader of the log who is behind. */
const lastFlushMs = 1_000

/** Writes JSON lines to standard error; standard output belongs to the one line that says where the service listens. */
export function createLog(level: string): Logger {
  const faults = faultCounts()
  const lines = linesTo(2, (count) => `${JSON.stringify({ level: 40, time: Date.now(), msg: lostLines(count) })}\n`)
  setInterval(() => lines.flush(), flushMs).unref()
  process.once('exit', () => {
    faults.end()
    const until = performance.now() + lastFlushMs
    while (lines.flush() && performance.now() < until) pause(10)
  })
  const redact = { paths: secrets.flatMap((name) => [name, `*.${name}`]), censor: '[hidden]' }
  return pino({ level, redact, hooks: { logMethod: countingFaults(faults) } }, lines)
}

function lostLines(count: number): string {
  return `${count} lines of this log are lost: standard error did not take them`
}

/** Blocks the process, which has nothing else to do any more. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

const key = Symbol('request id')

interface Carrier extends Request {
  [key]?: string
}

/** Gives each request its id (the client's, if it is harmless) and logs it when it has been answered. */
export function requestLog(log: Logger): RequestHandler {
  return (req: Carrier, res, next) => {
    const { method, url, headers } = req
    // Asked now: a socket that is closed has forgotten it.
    const remoteAddress = req.ip
    const id = idFor(headers['x-request-id'])
    const started = performance.now()
    req[key] = id
    res.setHeader('X-Request-Id', id)
    res.once('close', () => {
      const { statusCode, writableFinished } = res
      const record = {
        req: { id, method, url: url?.replace(tokens, '[hidden]'), remoteAddress },
        res: { statusCode, code: res.locals.code },
        responseTime: Math.round(performance.now() - started),
      }
      if (!writableFinished) log.info(record, 'request aborted')
      else if (statusCode >= 500 && statusCode !== 501 && statusCode !== 503) log.error(record, 'request failed')
      else log.info(record, 'request completed')
    })
    next()
  }
}

function idFor(sent: unknown): string {
  return typeof sent === 'string' && /^[\w.:-]{1,100}$/.test(sent) && sent.search(tokens) < 0 ? sent : newId()
}

export function requestId(req: Carrier): string {
  return req[key] ?? ''
}
