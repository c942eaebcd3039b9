/** Responses to input that never became an Express request. */

import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { v7 as newId } from 'uuid'
import { type ErrorCode, statusOf } from '../../base/errors.ts'

export interface RawResponse {
  readonly code: ErrorCode
  readonly detail: string
}

/** Writes the response and logs it where there is a log, without the input. The caller closes the connection. */
export function sendRaw(log: Logger | undefined, socket: Duplex, { code, detail }: RawResponse): void {
  const status = statusOf[code]
  const request_id = newId()
  const body = JSON.stringify({ detail, code, request_id })
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
