/** The endpoints for programs: tokens, revocation and registration. Errors are those of OAuth. */

import type { Request, RequestHandler, Response } from 'express'
import type { Counter, Limit, NewCounter } from '../../../base/counters.ts'
import { answerOf } from '../../../base/error-mapping.ts'
import { AppError, ClientDisconnectedError, RateLimitedError, statusOf, ValidationError } from '../../../base/errors.ts'
import { issuerOf } from '../../../domain/oauth/issuer.ts'
import { type Resource, resourceIn } from '../../../domain/oauth/scopes.ts'
import type { Services } from '../../../domain/services.ts'
import { networkOf } from '../../../http/connection/addresses.ts'
import { baseUrl } from '../../../http/connection/base-url.ts'
import { reserveBody } from '../../../http/connection/memory-budget.ts'
import { recordRefusal } from '../../../http/contract/error-responses.ts'
import { readBytes, readJson } from '../../../http/contract/json.ts'
import { note } from '../../../http/log/request-notes.ts'
import { originOf } from '../../../http/origin.ts'
import { type CountRequest, takeFrom } from '../../../http/rate-limits.ts'
import { authenticateBy, presentedClient } from '../client-assertions.ts'
import { registerClient, requireTokenClient } from '../clients.ts'
import { exchangeCode, renew, revoke } from '../connection-tokens.ts'
import { OAuthError } from '../errors.ts'

/** Limits of a body. */
const limits = { bytes: 16 * 1024, ms: 30_000 } as const

/** Seconds until the host of a program is tried again. */
const awaySeconds = 60

/** The statuses of errors of OAuth. All other errors are 400. */
const statuses: Readonly<Partial<Record<OAuthError['code'], number>>> = {
  invalid_client: 401,
  temporarily_unavailable: 503,
}

/** The limit of an IP address for each client. All users of a hosted program share its addresses. */
const perClient: Limit = { name: 'oauth', quota: 300, windowSeconds: 60 }
const perGrant: Limit = { name: 'renewals', quota: 30, windowSeconds: 60 }

interface Parts {
  readonly countRequest: CountRequest
  /** Undefined: no rate limits. */
  readonly newSharedCounter: NewCounter | undefined
}

/** A request, with the issuer under which the program reaches the service. */
interface Asked {
  readonly deps: Services
  readonly issuer: string
  readonly req: Request
  readonly res: Response
  readonly client: Counter | undefined
  readonly grants: Counter | undefined
}

type Endpoint = (asked: Asked) => Promise<void>

const endpoints: Readonly<Record<string, { readonly op: string; readonly answer: Endpoint }>> = {
  '/oauth/token': { op: 'oauth-token', answer: answerToken },
  '/oauth/revoke': { op: 'oauth-revoke', answer: answerRevocation },
  '/oauth/register': { op: 'oauth-register', answer: answerRegistration },
}

export function oauthEndpoints(deps: Services, { countRequest, newSharedCounter }: Parts): RequestHandler {
  const client = newSharedCounter?.('oauth', perClient)
  const grants = newSharedCounter?.('renewals', perGrant)
  return async (req, res, next) => {
    const path = req.url.split('?', 1)[0] ?? ''
    const endpoint = Object.hasOwn(endpoints, path) ? endpoints[path] : undefined
    if (endpoint === undefined) {
      next()
      return
    }
    note(req, { op: endpoint.op })
    // No cookie is read here, so a page of any site can only do what a program can.
    res.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'no-store' })
    const issuer = issuerOf(deps, baseUrl(deps.config.publicUrl, req))
    if (issuer === undefined) throw new AppError('not_found', 'Connections by OAuth are off')
    if (req.method === 'OPTIONS') {
      await countRequest(req, res)
      res.set({ 'Access-Control-Allow-Methods': 'POST', 'Access-Control-Allow-Headers': 'Content-Type' })
      res.status(204).end()
      return
    }
    if (req.method !== 'POST') {
      res.set('Allow', 'POST, OPTIONS')
      throw new AppError('method_not_allowed', `${req.method} is not allowed here; use POST`)
    }
    const asked = { deps: { ...deps, origin: originOf(req) }, issuer, req, res, client, grants }
    await endpoint.answer(asked).catch((error: unknown) => answerError(deps, req, res, error))
  }
}

async function answerToken(asked: Asked): Promise<void> {
  const { deps, issuer, res, grants } = asked
  const form = await readFields(asked)
  const { clientId, authenticate } = presented(asked, form)
  await count(asked, clientId)
  await requireTokenClient(deps, clientId)
  const resource = resourceOf(issuer, form.get('resource'))
  switch (required(form, 'grant_type')) {
    case 'authorization_code': {
      const exchange = { code: required(form, 'code'), redirectUri: required(form, 'redirect_uri') }
      const verifier = required(form, 'code_verifier')
      res.json(await exchangeCode(deps, { ...exchange, clientId, verifier, resource }, authenticate))
      return
    }
    case 'refresh_token': {
      const renewal = { refreshToken: required(form, 'refresh_token'), scope: form.get('scope') ?? undefined }
      const countRenewal = async (grantId: string) => {
        if (grants !== undefined) await takeFrom(grants, grantId, res)
      }
      res.json(await renew(deps, { ...renewal, clientId, resource }, { count: countRenewal, authenticate }))
      return
    }
    default:
      throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token')
  }
}

async function answerRevocation(asked: Asked): Promise<void> {
  const form = await readFields(asked)
  const token = required(form, 'token')
  const { clientId, authenticate } = presented(asked, form)
  await count(asked, clientId)
  await revoke(asked.deps, { token, clientId }, authenticate)
  asked.res.status(200).end()
}

/** Reads the client of a request. It is authenticated once its grant is known. @throws OAuthError */
function presented({ deps, issuer }: Asked, form: URLSearchParams) {
  const { clientId, assertion } = presentedClient(form)
  return { clientId, authenticate: authenticateBy(deps, { issuer, assertion }) }
}

async function answerRegistration(asked: Asked): Promise<void> {
  const { deps, req, res } = asked
  await count(asked, 'registration')
  if (mediaTypeOf(req) !== 'application/json')
    throw new OAuthError('invalid_client_metadata', 'Send the metadata as application/json')
  const read = await readJson(req, { ...limits, hold: reserveBody(req, res, undefined) })
  res.status(201).json(registerClient(deps, read?.value))
}

async function count({ req, res, client }: Asked, clientId: string): Promise<void> {
  if (client !== undefined) await takeFrom(client, `${networkOf(req)} ${clientId.slice(0, 1_024)}`, res)
}

/** @throws OAuthError invalid_request: another content type, or a parameter that is repeated */
async function readFields({ req, res }: Asked): Promise<URLSearchParams> {
  if (mediaTypeOf(req) !== 'application/x-www-form-urlencoded')
    throw new OAuthError('invalid_request', 'Send application/x-www-form-urlencoded')
  const bytes = await readBytes(req, { ...limits, hold: reserveBody(req, res, undefined) })
  const form = new URLSearchParams(bytes.toString('utf8'))
  const names = [...form.keys()]
  if (new Set(names).size < names.length) throw new OAuthError('invalid_request', 'A parameter is repeated')
  return form
}

function mediaTypeOf({ headers }: Request): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** @throws OAuthError invalid_request */
function required(form: URLSearchParams, name: string): string {
  const value = form.get(name) ?? ''
  if (value === '') throw new OAuthError('invalid_request', `The parameter ${name} is missing`)
  return value
}

/** @throws OAuthError invalid_target */
function resourceOf(issuer: string, sent: string | null): Resource | undefined {
  if (sent === null) return undefined
  const resource = resourceIn(issuer, sent)
  if (resource === undefined) throw new OAuthError('invalid_target', `The resource must be ${issuer}/mcp or ${issuer}`)
  return resource
}

/** Answers an error as RFC 6749 §5.2 says. Answers with another status are `temporarily_unavailable`. */
function answerError(deps: Services, req: Request, res: Response, error: unknown): void {
  if (error instanceof ClientDisconnectedError || res.headersSent) throw error
  if (!req.complete) res.set('Connection', 'close')
  if (error instanceof OAuthError) {
    note(req, { code: error.code })
    if (error.code === 'temporarily_unavailable') res.set('Retry-After', String(awaySeconds))
    res.status(statuses[error.code] ?? 400).json({ error: error.code, error_description: error.message })
    return
  }
  const meaning = answerOf(error)
  recordRefusal(deps, req, error)
  if (meaning instanceof ValidationError || (meaning !== undefined && statusOf[meaning.code] < 429)) {
    const code = req.url.startsWith('/oauth/register') ? 'invalid_client_metadata' : 'invalid_request'
    const said = meaning instanceof ValidationError ? meaning.problems[0]?.msg : meaning.message
    res.status(400).json({ error: code, error_description: said })
  } else if (meaning === undefined) res.status(500).json({ error: 'server_error' })
  else {
    res.set('Retry-After', String(meaning instanceof RateLimitedError ? meaning.waitSeconds : 1))
    res.status(statusOf[meaning.code]).json({ error: 'temporarily_unavailable', error_description: meaning.message })
  }
}
