/** The request log: one line per request, with the id from the response, without secrets. */

import type { Request, RequestHandler } from 'express'
import { type Logger, pino } from 'pino'
import { v7 as newId } from 'uuid'
import { countingFaults, faultCounts } from './log-faults.ts'
import { linesTo } from './log-lines.ts'

/** Fields that may hold secrets, at the top of a record and one level down. */
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

/** Tokens do not belong in URLs or request ids; if a client sends one there, it is hidden. */
const tokens = /eyJ[\w-]+\.[\w-]+\.[\w-]*|grv_[\w-]+/g

/** Milliseconds that a line may wait to be written with others. */
const flushMs = 100
/** Milliseconds that the process waits at its end for a slow reader of the log. */
const lastFlushMs = 1_000

/** Writes JSON lines to standard error; standard output has only the line with the service's address. */
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

/** Blocks the process; it is ending. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

const key = Symbol('request id')

interface Carrier extends Request {
  [key]?: string
}

/** Gives each request its id (the client's, if it is valid) and logs it after the response. */
export function requestLog(log: Logger): RequestHandler {
  return (req: Carrier, res, next) => {
    const { method, url, headers } = req
    // Read now: a closed socket no longer has it.
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
