/** Headers that every answer has. */

import compression from 'compression'
import cors from 'cors'
import type { RequestHandler, Response } from 'express'
import helmet from 'helmet'
import { isPacked } from './gzipped.ts'

const exposed = ['ETag', 'Link', 'Location', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-Request-Id']

/** What helmet sets is the same for each request, so it is asked once. */
export function securityHeaders(publicUrl: string | undefined): RequestHandler {
  const headers = new Map<string, string>()
  const step = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    // Who has set no https address may serve http too; and of other names below it nobody here knows anything.
    strictTransportSecurity: publicUrl?.startsWith('https:') === true && { includeSubDomains: false },
  })
  const recorder = { setHeader: (name: string, value: string) => headers.set(name, value), removeHeader: () => {} }
  type Given = Parameters<typeof step>
  step({} as Given[0], recorder as unknown as Given[1], () => {}) // helmet touches nothing else; service.test.ts looks at what comes out
  return (_req, res, next) => {
    for (const [name, value] of headers) res.setHeader(name, value)
    next()
  }
}

/** No cookies are ever read, so any site may ask on behalf of who gives it a token. */
export function crossOrigin(): RequestHandler {
  return cors({ origin: '*', exposedHeaders: exposed, maxAge: 600, preflightContinue: true })
}

/** Compresses long JSON for who takes it. */
export function compressed(): RequestHandler {
  const compress = compression({ threshold: 64 * 1024, filter: (_req, res: Response) => isJson(res) && !isPacked(res) })
  return (req, res, next) => (req.headers['accept-encoding'] === undefined ? next() : compress(req, res, next))
}

function isJson(res: Response): boolean {
  return /json/.test(String(res.getHeader('Content-Type')))
}
