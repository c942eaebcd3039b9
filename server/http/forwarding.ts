/** Passes a request on to the cell that has its organisation: one hop, streamed both ways, before the credential is checked. */

import { Agent, type ClientRequest, type IncomingMessage, request as startRequest } from 'node:http'
import { pipeline } from 'node:stream'
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import type { Deps } from '../deps.ts'
import type { Cell } from '../domain/cells/cell.ts'
import { chooseOther, findPlaceAway, isPlaceKnown } from '../domain/cells/places.ts'
import { answerOf } from '../domain/fault-meanings.ts'
import { canonicalId, isId } from '../domain/layout.ts'
import { ClientGone, Invalid, Refusal } from '../errors.ts'
import { noteNowhere, unanswered } from './elsewhere.ts'
import { acceptForwarded, forwardedHeader, isForwarded, signForwarded } from './forwarded.ts'
import { chain } from './middleware-chain.ts'
import type { LimitPlaceRead } from './place-reads.ts'
import { note } from './request-notes.ts'
import { requestId } from './requests.ts'

/** Milliseconds until another cell must have taken a connection. */
const connectMs = 5_000
/** Milliseconds without a byte in either direction: of git, which may compute for long, and of the rest. As in deploy/nginx.conf. */
const silentMs = { git: 3_600_000, other: 75_000 }
/** Of one connection, not of the request. Source: RFC 9110, 7.6.1. */
const hopByHop = /^(connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|grove-forwarded)$/i

const agent = new Agent({ keepAlive: true })

/** Steps before all that need the organisation; none without cells. */
export function passOn(deps: Deps, limitRead: LimitPlaceRead): RequestHandler {
  const { cell } = deps
  if (cell === undefined) return (_req, _res, next) => next()
  return chain([acceptForwarded(deps, cell), toItsCell(deps, cell.name, limitRead)])
}

/** @throws Refusal moving: the organisation is on its way to another cell, or back */
function toItsCell(deps: Deps, own: string, limitRead: LimitPlaceRead): RequestHandler {
  return async (req, res, next) => {
    if (isNewOrganisation(req) && isSigned(req) && !isForwarded(req)) {
      const other = await chooseOther(deps, own)
      if (other !== undefined) return passTo(deps, other, req, res)
    }
    const orgId = organisationOf(req)
    if (orgId === undefined) return next()
    const find = () => findPlaceAway(deps, orgId)
    const isKnown = isPlaceKnown(deps, orgId)
    const place = await (isKnown ? find() : limitRead(req, res, find))
    if (place === undefined) {
      if (isKnown) local.add(req)
      else noteNowhere(req, orgId)
      return next()
    }
    // The cell that an organisation leaves serves it until the directory names the other one.
    if (place.cell === own ? place.state === 'moving' : isForwarded(req)) throw onItsWay()
    if (place.cell === own) return next()
    note(req, { op: 'forwarded', org: orgId, cell: place.cell })
    await passTo(deps, { name: place.cell, url: place.url }, req, res)
  }
}

function onItsWay(): Refusal {
  return new Refusal('moving', 'The organisation is on its way between two cells; nothing is lost, try again')
}

const local = new WeakSet<Request>()

/** What failed since its organisation left for another cell during the request is 503 `moving`. */
export function leftMeanwhile(deps: Deps): ErrorRequestHandler {
  return async (error, req, _res, next) => {
    const orgId = local.has(req) && mayBeGone(answerOf(error)) ? organisationOf(req) : undefined
    const place = orgId === undefined ? undefined : await findPlaceAway(deps, orgId).catch(() => undefined)
    next(place === undefined || place.state === 'making' ? error : onItsWay())
  }
}

/** Whether a repository without its folder can be the reason. */
function mayBeGone(meaning: ReturnType<typeof answerOf>): boolean {
  if (meaning instanceof Invalid) return false
  return meaning === undefined || /_not_found$|^repo_damaged$|^storage_error$/.test(meaning.code)
}

/** Of the address of an operation, a page or a repository; the other ones are of no organisation, and any cell answers them. */
function organisationOf(req: Request): string | undefined {
  const [, found = ''] = /^\/(?:orgs|public\/orgs|o|git)\/([^/?]+)/.exec(req.originalUrl) ?? []
  const id = canonicalId(decoded(found))
  return isId(id) ? id : undefined
}

/** As the router reads a segment: any character of it may be percent-encoded. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function isNewOrganisation({ method, originalUrl }: Request): boolean {
  return method === 'POST' && /^\/orgs\/?(\?|$)/.test(originalUrl)
}

/** Whether it says who asks, truly or not; otherwise it is refused wherever it is. */
function isSigned({ headers }: Request): boolean {
  return headers.authorization !== undefined || headers.cookie !== undefined
}

/** Ends when the answer has, or the client has gone. @throws Refusal busy, outcome_unknown; ClientGone */
async function passTo(
  deps: Deps,
  { name, url }: Pick<Cell, 'name' | 'url'>,
  req: Request,
  res: Response,
): Promise<void> {
  const count = (outcome: Outcome) => deps.metrics.forwarded.inc({ to: name, outcome })
  try {
    count(await pass(req, res, url, await signForwarded(deps, name, req)))
  } catch (error) {
    count(error instanceof ClientGone ? 'aborted' : 'failed')
    throw error
  }
}

/** `failed`: the cell did not answer to the end; `aborted`: the client has gone. */
type Outcome = 'done' | 'failed' | 'aborted'

function pass(req: Request, res: Response, url: string, forwarded: string): Promise<Outcome> {
  const target = new URL(url)
  const silent = req.originalUrl.startsWith('/git/') ? silentMs.git : silentMs.other
  const ours = ['Host', target.host, 'X-Request-Id', requestId(req), forwardedHeader, forwarded]
  const isChunked = req.headers['transfer-encoding'] !== undefined
  const asked = startRequest({
    agent,
    host: target.hostname.replace(/^\[|\]$/g, ''),
    port: target.port,
    method: req.method,
    path: `${target.pathname.replace(/\/$/, '')}${req.originalUrl}`,
    headers: [...headersOf(req.rawHeaders, ['host', 'x-request-id']), ...ours],
  })
  // Otherwise Node sends a request that has no body as one of an empty body.
  asked.useChunkedEncodingByDefault = isChunked
  asked.setTimeout(silent, () => asked.destroy(new Error('It is silent')))
  return new Promise((done, fail) => {
    const clock = setTimeout(() => asked.destroy(new Error('It takes no connection')), connectMs)
    const sent = { isConnected: false }
    let isBroken = false
    asked.once('socket', (socket) => {
      const connected = () => {
        clearTimeout(clock)
        sent.isConnected = true
      }
      if (socket.connecting) socket.once('connect', connected)
      else connected()
    })
    asked.once('error', (error) => {
      clearTimeout(clock)
      if (res.headersSent) {
        isBroken = true
        res.destroy()
      } else if (res.destroyed) fail(new ClientGone())
      else fail(unanswered(req.method, error, sent.isConnected))
    })
    asked.once('response', (answer) => {
      answer.once('error', () => {
        isBroken = true
      })
      relay(answer, res)
    })
    res.once('close', () => {
      clearTimeout(clock)
      done(res.writableFinished ? 'done' : isBroken ? 'failed' : 'aborted')
      asked.destroy()
    })
    send(req, asked)
  })
}

/**
 * The client's error alone ends the request: the answer of a cell that has not read all is passed on to its end, and the
 * rest of the client's input is discarded. A client that expects 100 Continue gets it from the other cell.
 */
function send(req: Request, asked: ClientRequest): void {
  const begin = () => {
    req.pipe(asked)
    asked.once('close', () => req.unpipe(asked).resume())
  }
  req.once('error', () => asked.destroy())
  if (req.headers.expect === undefined) begin()
  else {
    asked.once('continue', begin)
    asked.flushHeaders()
  }
}

function relay(answer: IncomingMessage, res: Response): void {
  if (res.headersSent || res.destroyed) {
    answer.destroy()
    return
  }
  for (const name of res.getHeaderNames()) res.removeHeader(name)
  const { statusCode = 502, statusMessage, rawHeaders } = answer
  res.writeHead(statusCode, statusMessage, headersOf(rawHeaders, []))
  // It closes the answer where either end breaks off.
  pipeline(answer, res, () => {})
}

/** Name, value, name, value, without those of the connection. */
function headersOf(raw: readonly string[], without: readonly string[]): string[] {
  const named = new Set(
    raw.flatMap((value, at) =>
      at % 2 === 1 && raw[at - 1]?.toLowerCase() === 'connection'
        ? value.split(',').map((name) => name.trim().toLowerCase())
        : [],
    ),
  )
  const kept: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]]
    const lower = name.toLowerCase()
    if (!hopByHop.test(name) && !named.has(lower) && !without.includes(lower)) kept.push(name, value)
  }
  return kept
}
