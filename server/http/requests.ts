/** The log of requests: one line each, with an id that the answer carries too, and nothing secret. */

import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { destination, type Logger, pino } from 'pino'
import { v7 as newId } from 'uuid'

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
const patience = 100

/** Writes JSON lines to standard error; standard output belongs to the one line that says where the service listens. */
export function createLog(level: string): Logger {
  const out = destination({ dest: 2, sync: true, minLength: 4_096 })
  const flush = () => out.flushSync()
  setInterval(flush, patience).unref()
  process.once('exit', flush)
  return pino({ level, redact: { paths: secrets.flatMap((name) => [name, `*.${name}`]), censor: '[hidden]' } }, out)
}

const key = Symbol('request id')

interface Carrier extends IncomingMessage {
  [key]?: string
}

/** Gives each request its id (the client's, if it is harmless) and logs it when it has been answered. */
export function requestLog(log: Logger): RequestHandler {
  return (req: Carrier, res, next) => {
    const { method, url, headers } = req
    const id = idFor(headers['x-request-id'])
    const started = performance.now()
    req[key] = id
    res.setHeader('X-Request-Id', id)
    res.once('close', () => {
      const { statusCode, writableFinished } = res
      const record = {
        req: { id, method, url: url?.replace(tokens, '[hidden]'), remoteAddress: req.socket.remoteAddress },
        res: { statusCode },
        responseTime: Math.round(performance.now() - started),
      }
      if (!writableFinished) log.info(record, 'request aborted')
      else if (statusCode >= 500) log.error(record, 'request failed')
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
