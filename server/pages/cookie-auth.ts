/** Authenticates browsers by a session cookie, but only for requests of our own pages. */

import type { Request, RequestHandler } from 'express'
import type { BrowserCookies } from '../http/browser-cookies.ts'
import { baseUrl } from '../http/connection/base-url.ts'

/**
 * True if a page of this service sent the request. Browsers say so in a header that no script can set. Browsers from before
 * 2023 instead send the origin with everything except plain reads. Source: Fetch Metadata Request Headers, 2.3.
 */
export function isFromPage(req: Request, publicUrl: string | undefined): boolean {
  const site = req.headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return req.headers.origin === new URL(baseUrl(publicUrl, req)).origin
}

/** True if the browser navigates to a page, from any site. */
export function isNavigation({ method, headers }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && headers['sec-fetch-mode'] === 'navigate'
}

/** Authenticates API requests from our pages by the cookie. Requests from other sites stay anonymous. */
export function cookieToBearer(cookies: BrowserCookies, publicUrl: string | undefined): RequestHandler {
  return (req, _res, next) => {
    if (req.headers.cookie !== undefined && req.headers.authorization === undefined && isFromPage(req, publicUrl)) {
      const secret = cookies.read(req)
      if (secret !== undefined) req.headers.authorization = `Bearer ${secret}`
    }
    next()
  }
}
