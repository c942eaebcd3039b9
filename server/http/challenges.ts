/** Challenges that lead programs to the authorization server. Sources: RFC 9728 §5.1 and RFC 6750 §3. */

import type { Request, Response } from 'express'
import type { Access } from '../domain/actor.ts'
import { issuerOf } from '../domain/oauth/issuer.ts'
import { usualScopes } from '../domain/oauth/scopes.ts'
import type { Services } from '../domain/services.ts'
import { baseUrl } from './connection/base-url.ts'

/** Sets the challenge of a request to `/mcp` that has no valid token. Without OAuth, the answer has a plain one. */
export function challengeForToken(deps: Services, req: Request, res: Response): void {
  const wasSent = req.headers.authorization !== undefined
  challenge(deps, req, res, { ...(wasSent && { error: 'invalid_token' }), scope: usualScopes.join(' ') })
}

/** Sets the challenge of a request to `/mcp` that needs more access. The program then asks the user. */
export function challengeForAccess(deps: Services, req: Request, res: Response, access: Access): void {
  challenge(deps, req, res, { error: 'insufficient_scope', scope: access })
}

function challenge(deps: Services, req: Request, res: Response, said: Readonly<Record<string, string>>): void {
  const issuer = issuerOf(deps, baseUrl(deps.config.publicUrl, req))
  if (issuer === undefined) return
  const parameters = { resource_metadata: `${issuer}/.well-known/oauth-protected-resource/mcp`, ...said }
  const text = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`)
  res.set('WWW-Authenticate', `Bearer ${text.join(', ')}`)
}
