/** Headers of every response. */

import compression from 'compression'
import cors from 'cors'
import type { RequestHandler, Response } from 'express'
import helmet from 'helmet'
import { isPacked } from './gzipped.ts'

const exposed = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Request-Id',
]

export function securityHeaders(publicUrl: string | undefined): RequestHandler {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    // Without an https publicUrl the service may be reached by http, and nothing is known about its subdomains.
    strictTransportSecurity: publicUrl?.startsWith('https:') === true && { includeSubDomains: false },
  })
}

/** Allows requests from any site. The API never reads cookies, so a site can only use a token that it was given. */
export function crossOrigin(): RequestHandler {
  return cors({ origin: '*', exposedHeaders: exposed, maxAge: 600, preflightContinue: true })
}

/** Compresses long JSON if the client accepts it. */
export function compressed(): RequestHandler {
  const compress = compression({ threshold: 64 * 1024, filter: (_req, res: Response) => isJson(res) && !isPacked(res) })
  return (req, res, next) => (req.headers['accept-encoding'] === undefined ? next() : compress(req, res, next))
}

function isJson(res: Response): boolean {
  return /json/.test(String(res.getHeader('Content-Type')))
}
