/** Checks requirements of HTTP/1.1 before the operation is found (RFC 9110, 9112). */

import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { AppError } from '../../base/errors.ts'
import { framingOf } from './framing.ts'

/**
 * Rewrites `GET http://grove.example/orgs`, which means `/orgs` on that host and overrides `Host` (RFC 9112, 3.2.2).
 */
export function toOriginForm(req: IncomingMessage): void {
  const found = /^https?:\/\/([^/?#]*)([^#]*)/i.exec(req.url ?? '')
  if (found === null) return
  const [, authority = '', rest = ''] = found
  req.url = rest.startsWith('/') ? rest : `/${rest}`
  req.headers.host = authority.slice(authority.lastIndexOf('@') + 1)
}

/** Checks the headers. @throws AppError bad_request: no Host or two, a body of uncertain length; expectation_failed */
export const requireHttp: RequestHandler = (req, res, next) => {
  try {
    framingOf(req)
  } catch (error) {
    // It is unknown where the next request on this connection begins.
    res.set('Connection', 'close')
    throw error
  }
  const { host } = req.headers
  if (host === undefined && req.httpVersion === '1.1') throw new AppError('bad_request', 'HTTP/1.1 needs a Host header')
  if (isTwice(req.rawHeaders, 'host')) throw new AppError('bad_request', 'There are two Host headers')
  const { expect } = req.headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    throw new AppError('expectation_failed', 'Only `Expect: 100-continue` is supported')
  next()
}

function isTwice(raw: readonly string[], name: string): boolean {
  let count = 0
  for (let at = 0; at < raw.length; at += 2) if (raw[at]?.toLowerCase() === name) count++
  return count > 1
}
