/** Git's smart HTTP: three routes below /git (gitprotocol-http(5)). Git itself reads and writes the bodies. */

import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { AppError } from '../../base/errors.ts'
import type { Rounds } from '../../base/rounds.ts'
import { invalidTokenError } from '../../domain/access.ts'
import type { Credential } from '../../domain/accounts/access-tokens.ts'
import { isMeantAsToken } from '../../domain/accounts/tokens.ts'
import { anonymous } from '../../domain/actor.ts'
import { auditFetch, auditGitRefusal } from '../../domain/audit/git-use.ts'
import { auditFirstUse } from '../../domain/audit/token-use.ts'
import type { PushUrls } from '../../domain/consent/wording.ts'
import { canonicalId } from '../../domain/layout.ts'
import {
  type GitBody,
  type GitService,
  gitBody,
  openSmartHttp,
  reportRefusal,
  type SmartHttp,
} from '../../domain/pushes/smart-http.ts'
import type { Services } from '../../domain/services.ts'
import type { RepositoryAt } from '../../domain/targets.ts'
import type { FindCredential } from '../authentication.ts'
import { networkOf } from '../connection/addresses.ts'
import { baseUrl } from '../connection/base-url.ts'
import { enforceClientTimeouts } from '../connection/slow-client.ts'
import { isOfOrganisation } from '../contract/operations.ts'
import { note, noteCaller, noteIds, noteWait } from '../log/request-notes.ts'
import { originOf } from '../origin.ts'
import type { CountRequest } from '../rate-limits.ts'
import { stateOf } from '../request-state.ts'
import { acquireGit, newHold } from './git-limits.ts'

interface Route extends RepositoryAt {
  readonly rest: string
}

const services: readonly GitService[] = ['git-upload-pack', 'git-receive-pack']

export function isGitRequest(req: Request): boolean {
  return req.originalUrl.startsWith('/git/')
}

/** Returns the URLs that the answer to a push names. @param base the base URL of the service */
type UrlsOf = (base: string, at: RepositoryAt) => PushUrls

interface GitParts {
  readonly findCredential: FindCredential
  readonly count: CountRequest
  readonly urlsOf: UrlsOf
}

export function gitOverHttp(deps: Services, { findCredential, count, urlsOf }: GitParts): RequestHandler {
  const exchanges = exchangesUntil(deps.draining, deps.rounds)
  return async (req, res, next) => {
    if (!isGitRequest(req)) {
      next()
      return
    }
    res.set('Cache-Control', 'no-cache, max-age=0, must-revalidate')
    if (isLfsRequest(req)) {
      note(req, { op: 'git-lfs' })
      await count(req, res)
      answerLfs(res)
      return
    }
    const route = routeOf(req)
    note(req, { op: route.rest.replace('/', '-') })
    noteIds(req, route.org_id, route.name)
    const service = serviceOf(req, res, route)
    stateOf(req).door = service === 'git-receive-pack' ? 'push' : 'fetch'
    const credential = await gitCredentialOf(req, findCredential)
    if (credential !== undefined) noteCaller(req, credential)
    const body = decodedOnce(req)
    if (credential !== undefined && route.rest === 'git-receive-pack')
      stateOf(req).pushReport = (reason) => reportOf(req, res, body, reason)
    await count(req, res, credential?.person.id)
    const base = baseUrl(deps.config.publicUrl, req)
    const placed = {
      ...(await isOfOrganisation(deps, route.org_id)),
      origin: originOf(req),
    }
    const { smartHttp, refuse, fetch } = await openAudited(placed, credential, route, service, urlsOf(base, route))
    const caller = {
      key: credential === undefined ? `address ${networkOf(req)}` : `person ${credential.person.id}`,
      isAnonymous: credential === undefined,
      isPublic: smartHttp.isPublic,
      repository: `${route.org_id}/${route.name}`,
      isPush: service === 'git-receive-pack',
      ...(credential === undefined ? {} : { network: networkOf(req) }),
    }
    const exchange = exchanges.begin(req, res)
    const refused = async (reasons: readonly string[]) => {
      note(req, { refused: reasons })
      await refuse(reasons)
    }
    const { gone: signal, stopping } = exchange
    const wire = { version: versionOf(req), bodyBytes: bodyBytesOf(req), signal, stopping, refused }
    const held = newHold(caller)
    try {
      const isAdvertisement = route.rest === 'info/refs'
      const { work, answer } = isAdvertisement ? smartHttp.advertisement : await smartHttp.read(body(), wire, held.hold)
      const asked = performance.now()
      const release = await acquireGit(work, caller, exchange.gone)
      noteWait(req, performance.now() - asked)
      try {
        exchange.admit()
        res.type(`application/x-${service}-${isAdvertisement ? 'advertisement' : 'result'}`)
        const sent = work === 'pack' && !caller.isPush ? await fetch() : undefined
        const before = req.socket.bytesWritten
        await answer(res, wire).finally(() => sent?.(req.socket.bytesWritten - before))
      } finally {
        release()
      }
    } catch (error) {
      // The client has disconnected.
      if (!res.destroyed) throw error
    } finally {
      held.release()
      exchange.end()
    }
  }
}

/** Opens the repository as `openSmartHttp` does. Records in the audit that it was refused, or a token was used. */
async function openAudited(deps: Services, ...asked: Asked): Promise<Audited> {
  const [credential, route, service] = asked
  const actor = credential?.person ?? anonymous
  if (actor.kind === 'person') await auditFirstUse(deps, actor)
  const refuse = (refused: unknown) => auditGitRefusal({ ...deps, actor }, route, { service, refused })
  const smartHttp = await openSmartHttp(deps, ...asked).catch(async (error: unknown) => {
    await refuse(error)
    throw error
  })
  return { smartHttp, refuse, fetch: () => auditFetch({ ...deps, actor }, route) }
}

type Asked = [credential: Credential | undefined, route: Route, service: GitService, urls: PushUrls]

interface Audited {
  readonly smartHttp: SmartHttp
  /** Records why refs of a push are refused. */
  refuse(reasons: unknown): Promise<void>
  /** Records that objects are sent. Returns a function that adds their bytes. */
  fetch(): Promise<(bytes: number) => Promise<void>>
}

/**
 * Parses `{id}.git` or `{id}/{any slug}.git`. Git names a folder by the slug, but only the id says which repository it
 * is.
 */
function routeOf(req: Request): Route {
  const path = req.originalUrl.split('?', 1)[0] ?? ''
  const found = /^\/git\/([^/]+)\/([^/]+?)(?:\.git|\/[^/]+)?\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(path)
  const [, orgId, name, rest] = found ?? []
  if (orgId === undefined || name === undefined || rest === undefined)
    throw new AppError('not_found', 'Not found; clone /git/{org_id}/{node_id}.git')
  return { org_id: canonicalId(orgId), name: canonicalId(name), rest }
}

function serviceOf(req: Request, res: Response, { rest }: Route): GitService {
  const method = rest === 'info/refs' ? 'GET' : 'POST'
  if (req.method !== method) {
    res.set('Allow', method)
    throw new AppError('method_not_allowed', `${req.method} is not allowed here; the header Allow lists the methods`)
  }
  const service = services.find((one) => one === (rest === 'info/refs' ? req.query.service : rest))
  if (service === undefined)
    throw new AppError('forbidden', 'Only the smart HTTP protocol is supported: git-upload-pack and git-receive-pack')
  if (method === 'POST' && req.get('Content-Type') !== `application/x-${service}-request`)
    throw new AppError('unsupported_media_type', `Send application/x-${service}-request`)
  return service
}

/** Reads the password of Basic, with any user name, or a Bearer token. @throws AppError invalid_token */
export async function gitCredentialOf(req: Request, findCredential: FindCredential): Promise<Credential | undefined> {
  const header = req.get('Authorization')
  if (header === undefined) return undefined
  const [, scheme = '', text = ''] = /^(Basic|Bearer) +(\S+)$/i.exec(header) ?? []
  const decoded = scheme.toLowerCase() === 'basic' ? Buffer.from(text, 'base64').toString() : `:${text}`
  const password = decoded.slice(decoded.indexOf(':') + 1)
  const credential = await findCredential(password)
  if (credential !== undefined) return credential
  if (scheme.toLowerCase() !== 'basic' || isMeantAsToken(password)) throw invalidTokenError()
  throw new AppError(
    'invalid_token',
    'Use a personal access token (grv_…) as the Git password, not your account password. Create one at /me/tokens',
  )
}

/** The protocol version. Any other value means version 0, as in git-http-backend. */
function versionOf(req: Request): 0 | 1 | 2 {
  const version = req.get('Git-Protocol')
  return version === 'version=2' ? 2 : version === 'version=1' ? 1 : 0
}

function bodyBytesOf(req: Request): number | undefined {
  const length = req.get('Content-Length')
  return length === undefined ? undefined : Number(length)
}

/** Returns the response to a push that is refused. Reads the rest of the request afterwards. */
async function reportOf(req: Request, res: Response, body: () => GitBody, reason: string): Promise<Buffer> {
  const report = await reportRefusal(body(), reason)
  note(req, { refused: [reason] })
  // Git reads the response only after it has sent everything. The exchange may not have begun.
  res.once('finish', () => req.unpipe().resume())
  enforceClientTimeouts(req, res, () => undefined)
  return report
}

/** Returns a function that always returns the same body. */
function decodedOnce(req: Request): () => GitBody {
  let body: GitBody | undefined
  return () => {
    body ??= gitBody(bodyOf(req))
    return body
  }
}

/** The decompressed body. gitstore limits how much of it is read. */
function bodyOf(req: Request): Readable {
  const encoding = req.get('Content-Encoding') ?? 'identity'
  if (encoding === 'identity') return req
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new AppError('unsupported_media_type', 'Send the body as it is, or with gzip')
  const inflated = createGunzip()
  // Not `pipeline`, which would close the connection, and so the response.
  inflated.once('error', () => req.unpipe(inflated).resume())
  req.once('close', () => {
    if (!req.readableEnded) inflated.destroy(new Error('The client has disconnected'))
  })
  return req.pipe(inflated)
}

/**
 * True for a request of Git LFS, below the URL of a repository. The service does not store LFS objects, and the client
 * shows why.
 */
function isLfsRequest(req: Request): boolean {
  return /^\/git\/[^/]+\/[^/]+(\/[^/]+)?\/info\/lfs(\/|\?|$)/.test(req.originalUrl)
}

/** Answers Git LFS. Source: git-lfs's docs/api, `application/vnd.git-lfs+json`. */
function answerLfs(res: Response): void {
  const message = 'Grove does not store Git LFS objects; commit files of at most 100 MiB to Git without LFS'
  res.status(501).type('application/vnd.git-lfs+json').send(JSON.stringify({ message }))
}

/**
 * Milliseconds for a clone or a push to end when the service stops. After that, its client gets an error. A second
 * later, service.ts closes the connections.
 */
const graceMs = 7_000

interface Exchange {
  /** Aborted if the client is gone or too slow. Also if the service stops before Git has started. */
  readonly gone: AbortSignal
  /** Aborted when the service cannot wait any longer. */
  readonly stopping: AbortSignal
  /** Makes a stopping service wait for the exchange. */
  admit(): void
  end(): void
}

interface Controls {
  readonly gone: AbortController
  readonly stopping: AbortController
  admitted: boolean
}

/** Tracks running Git requests, which end with their client or with the service. */
export function exchangesUntil(
  draining: AbortSignal,
  rounds: Rounds,
): { begin(req: Request, res: Response): Exchange } {
  const all = new Set<Controls>()
  rounds.add({ name: 'requests of Git', settle: () => all.size === 0 })
  const drain = () => {
    for (const { admitted, gone } of all) if (!admitted) gone.abort(stops())
    setTimeout(() => {
      for (const { stopping } of all) stopping.abort()
    }, graceMs).unref()
  }
  draining.addEventListener('abort', drain, { once: true })
  return {
    begin: (req, res) => {
      if (draining.aborted) throw stops()
      const controls: Controls = { gone: new AbortController(), stopping: new AbortController(), admitted: false }
      const { gone, stopping } = controls
      all.add(controls)
      res.once('close', () => gone.abort(new Error('The client has disconnected')))
      // Most clients read the response only after they have sent everything.
      res.once('finish', () => req.unpipe().resume())
      enforceClientTimeouts(req, res, () => {
        // Unread data would stay in the system's memory for minutes.
        if (res.headersSent) res.socket?.resetAndDestroy()
        gone.abort(tooSlow())
      })
      return {
        gone: gone.signal,
        stopping: stopping.signal,
        admit: () => {
          controls.admitted = true
        },
        end: () => all.delete(controls),
      }
    },
  }
}

function stops(): AppError {
  return new AppError('draining', 'The service is stopping; try again in a moment')
}

function tooSlow(): AppError {
  return new AppError('request_timeout', 'The client was silent for a minute, or slower than 1 KiB/s')
}
