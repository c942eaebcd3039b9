/** Git's smart HTTP: three routes, and nothing else below /git (gitprotocol-http(5)). The bytes between are git's own. */

import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import type { Deps } from '../deps.ts'
import type { Credential } from '../domain/accounts/access-tokens.ts'
import { openRemote, type Service } from '../domain/remotes.ts'
import { Refusal } from '../errors.ts'
import type { FindCredential } from './authentication.ts'
import { takeSlot } from './git-slots.ts'

interface Route {
  readonly orgId: string
  readonly name: string
  readonly rest: string
}

const services: readonly Service[] = ['git-upload-pack', 'git-receive-pack']

export function isGitRequest(req: Request): boolean {
  return req.originalUrl.startsWith('/git/')
}

export function gitOverHttp(deps: Deps, findCredential: FindCredential): RequestHandler {
  return async (req, res, next) => {
    if (!isGitRequest(req)) {
      next()
      return
    }
    const route = routeOf(req)
    const service = serviceOf(req, res, route)
    res.set('Cache-Control', 'no-cache, max-age=0, must-revalidate')
    const credential = await credentialOf(req, findCredential)
    const remote = await openRemote(deps, credential, route.orgId, route.name, service)
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    const giveBack = await takeSlot([personOf(req, credential), `${route.orgId}/${route.name}`], gone.signal)
    const protocol = req.get('Git-Protocol')
    try {
      if (route.rest === 'info/refs') {
        res.type(`application/x-${service}-advertisement`)
        await remote.advertise(res, protocol, gone.signal)
      } else {
        res.type(`application/x-${service}-result`)
        await remote.serve(bodyOf(req), res, protocol, gone.signal)
      }
    } finally {
      giveBack()
    }
  }
}

function routeOf(req: Request): Route {
  const path = req.originalUrl.split('?', 1)[0] ?? ''
  const found = /^\/git\/([^/]+)\/([^/]+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(path)
  const [, orgId, name, rest] = found ?? []
  if (orgId === undefined || name === undefined || rest === undefined)
    throw new Refusal('not_found', 'There is nothing here; clone /git/{org_id}/{node_id}.git')
  return { orgId, name, rest }
}

function serviceOf(req: Request, res: Response, { rest }: Route): Service {
  const method = rest === 'info/refs' ? 'GET' : 'POST'
  if (req.method !== method) {
    res.set('Allow', method)
    throw new Refusal('method_not_allowed', `${req.method} is not possible here`)
  }
  const service = services.find((one) => one === (rest === 'info/refs' ? req.query.service : rest))
  if (service === undefined)
    throw new Refusal('forbidden', 'Only the smart protocol is spoken here, upload-pack and receive-pack')
  if (method === 'POST' && req.get('Content-Type') !== `application/x-${service}-request`)
    throw new Refusal('unsupported_media_type', `Send application/x-${service}-request`)
  return service
}

/** The password of Basic, whatever the name beside it, or a Bearer token. @throws Refusal invalid_token */
async function credentialOf(req: Request, findCredential: FindCredential): Promise<Credential | undefined> {
  const header = req.get('Authorization')
  if (header === undefined) return undefined
  const [, scheme = '', text = ''] = /^(Basic|Bearer) +(\S+)$/i.exec(header) ?? []
  const decoded = scheme.toLowerCase() === 'basic' ? Buffer.from(text, 'base64').toString() : `:${text}`
  const credential = await findCredential(decoded.slice(decoded.indexOf(':') + 1))
  if (credential === undefined) throw new Refusal('invalid_token', 'The token is bad, expired or revoked')
  return credential
}

function personOf(req: Request, credential: Credential | undefined): string {
  return credential === undefined ? `address ${req.ip ?? ''}` : `person ${credential.person.id}`
}

/** The body inflated; gitstore bounds what it reads of it. */
function bodyOf(req: Request): Readable {
  const encoding = req.get('Content-Encoding') ?? 'identity'
  if (encoding === 'identity') return req
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new Refusal('unsupported_media_type', 'Send the body as it is, or with gzip')
  const inflated = createGunzip()
  // Not `pipeline`: it would close the connection, and with it the answer.
  inflated.once('error', () => req.unpipe(inflated).resume())
  req.once('close', () => {
    if (!req.readableEnded) inflated.destroy(new Error('The client has gone'))
  })
  return req.pipe(inflated)
}
