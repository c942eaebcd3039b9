/** `POST /mcp`: the Model Context Protocol over HTTP, revisions 2026-07-28 and 2025-11-25, without sessions. */

import type { Response as Answering, Request as Asked, RequestHandler } from 'express'
import { AppError, ValidationError } from '../base/errors.ts'
import * as limits from '../base/limits.ts'
import { includesAccess } from '../domain/actor.ts'
import { isTooDeep } from '../domain/format/limits.ts'
import { credentialOf, type FindCredential } from '../http/authentication.ts'
import { challengeForAccess, challengeForToken } from '../http/challenges.ts'
import { baseUrl } from '../http/connection/base-url.ts'
import { disconnectSignal } from '../http/connection/disconnect.ts'
import { reserveBody } from '../http/connection/memory-budget.ts'
import { requireJson } from '../http/contract/bodies.ts'
import { recordRefusal, refusalFacts } from '../http/contract/error-responses.ts'
import { readJson } from '../http/contract/json.ts'
import { type Credential, createInProcessApi, type Answering as Parts } from '../http/in-process.ts'
import { note, noteCaller, noteIds } from '../http/log/request-notes.ts'
import type { CountRequest } from '../http/rate-limits.ts'
import { stateOf } from '../http/request-state.ts'
import type { Session } from './session.ts'

/** Error codes of JSON-RPC. */
const parseError = -32_700
const invalidRequest = -32_600

interface McpParts extends Parts {
  readonly findCredential: FindCredential
  readonly countRequest: CountRequest
}

export function mcpOverHttp(parts: McpParts): RequestHandler {
  return async (req, res, next) => {
    if (req.url.split('?', 1)[0] !== '/mcp') {
      next()
      return
    }
    note(req, { op: 'mcp' })
    stateOf(req).door = 'mcp'
    res.set('Cache-Control', 'no-store')
    requireOrigin(req, parts.deps.config.publicUrl)
    if (req.method !== 'POST') {
      res.set('Allow', 'POST')
      throw new AppError('method_not_allowed', `${req.method} is not allowed here; use POST`)
    }
    const { person } = await caller(parts, req, res)
    await parts.countRequest(req, res, person.id)
    const message = await readMessage(req, res, person.id)
    if (message === undefined) return
    // Authenticate again: the token may have been revoked while the body arrived.
    const credential = await caller(parts, req, res)
    await requireAccess(parts, req, res, { credential, message: message.value })
    const session = sessionOf(parts, req, res, credential)
    const { answerMessage } = await import('./server.ts')
    await send(await answerMessage(session, webRequest(req, res, session.base), message.value), res)
  }
}

/**
 * Refuses browsers unless they show a page of this service, against DNS rebinding.
 *
 * Without PUBLIC_URL, a foreign DNS name may point to this machine. The host must then be a loopback name.
 *
 * @throws AppError forbidden
 */
function requireOrigin(req: Asked, publicUrl: string | undefined): void {
  const { origin } = req.headers
  if (origin === undefined) return
  const own = new URL(baseUrl(publicUrl, req))
  const isKnown = publicUrl !== undefined || /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(own.hostname)
  if (!isKnown || origin !== own.origin) throw new AppError('forbidden', 'Cross-origin requests are not allowed')
}

/** @throws AppError unauthenticated, invalid_token */
async function caller(
  { deps, findCredential }: McpParts,
  req: Asked,
  res: Answering,
): Promise<NonNullable<Credential>> {
  try {
    if (req.headers.authorization === undefined)
      throw new AppError(
        'unauthenticated',
        'Connect by OAuth, or send a personal access token: Authorization: Bearer grv_…',
      )
    const credential = await credentialOf(req, findCredential)
    noteCaller(req, credential)
    return credential
  } catch (error) {
    if (error instanceof AppError) challengeForToken(deps, req, res)
    throw error
  }
}

interface CalledBy {
  readonly credential: NonNullable<Credential>
  readonly message: unknown
}

/**
 * Refuses a connected program that calls a tool beyond its access. It then asks the user for more. A token cannot ask,
 * so it does not find the tool.
 *
 * @throws AppError token_scope
 */
async function requireAccess(
  { deps }: McpParts,
  req: Asked,
  res: Answering,
  { credential: { person, scope }, message }: CalledBy,
): Promise<void> {
  if (person.connection === undefined || scope === undefined) return
  const { accessOfCall } = await import('./tools/table.ts')
  const needed = accessOfCall(message)
  if (needed === undefined || includesAccess(scope.access, needed)) return
  challengeForAccess(deps, req, res, needed)
  throw new AppError('token_scope', `The user has not allowed this program to ${needed}`, {
    token_access: scope.access,
  })
}

/**
 * Reads the JSON-RPC message. Answers 400 and returns undefined if the body is not one.
 *
 * @throws AppError too_large, request_timeout, unsupported_media_type
 */
async function readMessage(
  req: Asked,
  res: Answering,
  person: string,
): Promise<{ readonly value: unknown } | undefined> {
  requireJson(req.headers['content-type'])
  try {
    const read = await readJson(req, {
      bytes: limits.mcpMessageBytes,
      ms: limits.mcpMessageMs,
      hold: reserveBody(req, res, person),
    })
    if (read === undefined || isTooDeep(read.value))
      refuse(res, parseError, 'The message is empty or nested too deeply')
    // The rate limit counts requests, so a batch would evade it.
    else if (Array.isArray(read.value)) refuse(res, invalidRequest, 'Send one message per request')
    else return read
  } catch (error) {
    if (!req.complete) res.set('Connection', 'close')
    if (!(error instanceof ValidationError)) throw error
    refuse(res, parseError, `The message is not JSON in UTF-8${placeIn(error)}`)
  }
  return undefined
}

/** Returns the line and column of the fault, to end a sentence with. Empty if they are unknown. */
function placeIn({ problems: [first] }: ValidationError): string {
  const { line, column } = first?.ctx ?? {}
  return line === undefined ? '' : `: line ${line}, column ${column}`
}

function refuse(res: Answering, code: number, message: string): void {
  res.status(400).json({ jsonrpc: '2.0', id: null, error: { code, message } })
}

function sessionOf(parts: McpParts, req: Asked, res: Answering, credential: NonNullable<Credential>): Session {
  const { deps } = parts
  const { scope } = credential
  return {
    api: createInProcessApi(parts, { req, res, credential, door: 'mcp' }),
    base: baseUrl(deps.config.publicUrl, req),
    access: scope?.access ?? 'write',
    orgId: scope?.orgId,
    nodeId: scope?.nodeId,
    caller: async () => ({ key: credential.person.id, userId: credential.person.id }),
    factsOf: (error) => refusalFacts(req, error),
    ends: (error) => recordRefusal(deps, req, error),
    calls: (tool, { org, node }) => {
      note(req, { op: `mcp-${tool}` })
      noteIds(req, org?.toLowerCase(), node?.toLowerCase())
    },
  }
}

/** Builds the library's request, without the body, which has been read, and without the token. */
function webRequest(req: Asked, res: Answering, base: string): Request {
  const { authorization: _, cookie: __, ...sent } = req.headers
  const headers = new Headers({ 'content-type': 'application/json' })
  for (const [name, value] of Object.entries(sent))
    if (name.startsWith('mcp-') || name === 'accept') headers.set(name, String(value))
  return new Request(`${base}/mcp`, { method: 'POST', headers, signal: disconnectSignal(req, res) })
}

/** Sends the whole answer at once, because answers are short and none is a stream. */
async function send(answer: Response, res: Answering): Promise<void> {
  answer.headers.forEach((value, name) => {
    res.setHeader(name, value)
  })
  res.status(answer.status).end(Buffer.from(await answer.arrayBuffer()))
}
