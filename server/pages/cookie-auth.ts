/** A browser's cookie becomes the Authorization of its person, if the request is ours: made by a page of this service, or to see one. */

import type { Request, RequestHandler } from 'express'
import type { BrowserCookies } from '../http/browser-cookies.ts'
import { baseUrl } from '../http/connection/base-url.ts'

/**
 * Whether a page of this service has sent the request. A browser says so in a header that no script can set; one from before
 * 2023 sends the origin with everything but plain reads. Source: Fetch Metadata Request Headers, 2.3.
 */
export function isFromPage(req: Request, publicUrl: string | undefined): boolean {
  const site = req.headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return req.headers.origin === new URL(baseUrl(publicUrl, req)).origin
}

/** Whether a person has followed a link to a page, from anywhere. */
export function isNavigation({ method, headers }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && headers['sec-fetch-mode'] === 'navigate'
}

/** Lets pages ask operations for their person. Never lets in what another site has sent: such a request is anonymous. */
export function cookieToBearer(cookies: BrowserCookies, publicUrl: string | undefined): RequestHandler {
  return (req, _res, next) => {
    if (req.headers.cookie !== undefined && req.headers.authorization === undefined && isFromPage(req, publicUrl)) {
      const secret = cookies.read(req)
      if (secret !== undefined) req.headers.authorization = `Bearer ${secret}`
    }
    next()
  }
}
