/** The log of requests: one line each, with an id that the answer carries too, and nothing secret. */

import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { destination, type Logger, pino } from 'pino'
import { pinoHttp } from 'pino-http'
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

/** Writes JSON lines to standard error; standard output belongs to the one line that says where the service listens. */
export function createLog(level: string): Logger {
  return pino(
    { level, redact: { paths: secrets.flatMap((name) => [name, `*.${name}`]), censor: '[hidden]' } },
    destination({ dest: 2, sync: true }),
  )
}

/** Gives each request its id (the client's, if it is harmless) and logs it when it has been answered. */
export function requestLog(log: Logger): RequestHandler {
  const logger = pinoHttp({
    logger: log,
    genReqId: (req, res) => {
      const sent = req.headers['x-request-id']
      const id = typeof sent === 'string' && /^[\w.:-]{1,100}$/.test(sent) ? sent : newId()
      res.setHeader('X-Request-Id', id)
      return id
    },
    customLogLevel: (_req, res, error) => (error !== undefined || res.statusCode >= 500 ? 'error' : 'info'),
    serializers: {
      req: ({
        id,
        method,
        url,
        remoteAddress,
      }: {
        id: unknown
        method: string
        url: string
        remoteAddress: string
      }) => ({
        id,
        method,
        url,
        remoteAddress,
      }),
      res: ({ statusCode }: { statusCode: number }) => ({ statusCode }),
    },
  })
  return (req, res, next) => {
    logger(req, res)
    next()
  }
}

export function requestId(req: IncomingMessage): string {
  return String(req.id)
}
