/** The endpoint at which providers end sessions. Source: OpenID Connect Back-Channel Logout 1.0, sections 2.5 to 2.8. */

import type { Request, RequestHandler, Response } from 'express'
import { AppError } from '../../base/errors.ts'
import { endSessionsBy, LogoutTokenError } from '../../domain/accounts/oidc/back-channel.ts'
import { requireProvider } from '../../domain/accounts/oidc/providers.ts'
import type { Services } from '../../domain/services.ts'
import { readForm } from '../contract/bodies.ts'
import { note } from '../log/request-notes.ts'
import { originOf } from '../origin.ts'
import type { CountRequest } from '../rate-limits.ts'

const path = /^\/auth\/oidc\/([^/]+)\/backchannel-logout$/
/** Bytes of the form. */
const mostBytes = 16_384

export function backchannelLogout(deps: Services, countRequest: CountRequest): RequestHandler {
  return async (req, res, next) => {
    const id = path.exec(req.url.split('?', 1)[0] ?? '')?.[1]
    if (id === undefined) {
      next()
      return
    }
    note(req, { op: 'backchannel-logout' })
    await countRequest(req, res)
    res.set('Cache-Control', 'no-store')
    const provider = requireProvider(deps, id)
    if (req.method !== 'POST') {
      res.set('Allow', 'POST')
      throw new AppError('method_not_allowed', `${req.method} is not allowed here; use POST`)
    }
    try {
      const token = await tokenIn(req, res)
      await endSessionsBy({ ...deps, origin: originOf(req, 'rest') }, provider, token)
      res.status(200).end()
    } catch (error) {
      if (!(error instanceof LogoutTokenError)) throw error
      deps.log.warn({ provider: id, reason: error.message }, 'a logout token was refused')
      res.status(400).json({ error: 'invalid_request', error_description: error.message })
    }
  }
}

/** @throws LogoutTokenError */
async function tokenIn(req: Request, res: Response): Promise<string> {
  const token = (await readForm(req, res, mostBytes)).get('logout_token')
  if (token === null) throw new LogoutTokenError('logout_token is missing')
  return token
}
