/** The cookie of a signed-in browser: its name, its options and its session. */

import type { Request, Response } from 'express'
import { isLoopback } from '../base/is-loopback.ts'
import { createBrowserSession, deleteBrowserSession, sessionEndedError } from '../domain/accounts/browser-sessions.ts'
import type { Services } from '../domain/services.ts'
import type { FindCredential } from './authentication.ts'
import { baseUrl } from './connection/base-url.ts'
import { originOf } from './origin.ts'

/** Milliseconds. The service ends an unused session earlier. */
const cookieLifetimeMs = 180 * 24 * 3_600_000

export interface BrowserCookies {
  /** The secret in the cookie that the browser has sent; undefined without a cookie. */
  read(req: Request): string | undefined
  /** True if a cookie may be set: over HTTPS, or on this machine. */
  isPossible(req: Request): boolean
  /**
   * Continues the session of the access token with only a cookie. Ends the session of the cookie that the browser had
   * before.
   *
   * @throws AppError invalid_credentials: the session has ended
   */
  set(req: Request, res: Response, accessToken: string): Promise<void>
  /** Ends the session of the cookie, if there is one, and removes the cookie. */
  end(req: Request, res: Response): Promise<void>
  /** Removes the cookie of a session that has ended. */
  remove(req: Request, res: Response): void
}

export function browserCookies(deps: Services, findCredential: FindCredential): BrowserCookies {
  const isSecure = (req: Request) => baseUrl(deps.config.publicUrl, req).startsWith('https:')
  // Browsers accept `__Host-` only over HTTPS, and only from this host.
  const nameFor = (req: Request) => (isSecure(req) ? '__Host-grove' : 'grove')
  const optionsFor = (req: Request) => ({ httpOnly: true, secure: isSecure(req), sameSite: 'lax', path: '/' }) as const
  const seen = (req: Request): Services => ({ ...deps, origin: originOf(req, 'page') })
  const read = (req: Request) => cookieIn(req.headers.cookie ?? '', nameFor(req))
  const remove = (req: Request, res: Response) => {
    res.clearCookie(nameFor(req), optionsFor(req))
  }
  return {
    read,
    remove,
    isPossible: (req) => isSecure(req) || isLoopback(new URL(baseUrl(deps.config.publicUrl, req)).hostname),
    set: async (req, res, accessToken) => {
      const credential = await findCredential(accessToken)
      if (credential === undefined) throw sessionEndedError()
      const secret = await createBrowserSession({ ...deps, actor: credential.person })
      // The browser forgets its former cookie, so nobody could sign out of that session.
      const former = read(req)
      if (former !== undefined) await deleteBrowserSession(seen(req), former)
      res.cookie(nameFor(req), secret, { ...optionsFor(req), maxAge: cookieLifetimeMs })
    },
    end: async (req, res) => {
      const secret = read(req)
      if (secret !== undefined) await deleteBrowserSession(seen(req), secret)
      remove(req, res)
    },
  }
}

function cookieIn(header: string, name: string): string | undefined {
  const pairs = header.split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}
