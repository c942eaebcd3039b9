/** Calls the handlers of the API for pages and tools. Such calls have the permissions, limits and checks of REST. */

import { Readable } from 'node:stream'
import type { Response as ExpressResponse, Request, RequestHandler } from 'express'
import type { Api, OperationId, Output } from '../../spec/client/api.ts'
import { streams } from '../../spec/client/operations.ts'
import { AppError } from '../base/errors.ts'
import { createSettling } from '../domain/indexing/freshness.ts'
import { findTitles } from '../domain/nodes/nodes.ts'
import type { Door } from '../domain/origin.ts'
import type { Services } from '../domain/services.ts'
import { authenticateAs, type FindCredential, limitTokens } from './authentication.ts'
import { callOtherCell } from './cells/cell-client.ts'
import { setOperation } from './context.ts'
import { callHandler, type Handlers } from './contract/operations.ts'
import { operationOf } from './contract/spec.ts'
import { setUpload } from './contract/uploads.ts'
import { chain } from './middleware-chain.ts'
import { forkState, stateOf } from './request-state.ts'
import { plainAnswer } from './responses/responses.ts'

/** The credential of the caller; undefined for anonymous callers. */
export type Credential = Awaited<ReturnType<FindCredential>>

/** The response body of an operation. */
export type AnswerOf<K extends OperationId> = Output<K>

/** The input of any operation. */
interface Given {
  readonly path?: object
  readonly query?: object
  readonly body?: unknown
}

/** The handlers, and the steps that REST runs between the caller and a handler. */
export interface Answering {
  readonly deps: Services
  readonly handlers: Handlers
  /** The steps that validate and limit operations. */
  readonly checks: readonly RequestHandler[]
}

interface Asking {
  readonly req: Request
  readonly res: ExpressResponse
  readonly credential: Credential
  readonly door: Door
}

export function createInProcessApi({ deps, handlers, checks }: Answering, { req, res, credential, door }: Asking): Api {
  const check = chain([limitTokens(deps), ...checks])
  const settling = createSettling()
  const { authorization: _, cookie: __, 'content-length': ___, ...own } = req.headers
  const headers = { ...own, accept: 'application/json', 'content-type': 'application/json' }
  const call = async (id: OperationId, input: Given = {}): Promise<unknown> => {
    const sent = sentFor(input)
    const asked = asRequest(req, headers, id, sent)
    stateOf(asked).door = door
    const { org_id: orgId } = sent.parameters
    if (orgId !== undefined && !deps.placement.isHere(orgId)) {
      // The browser's own request was forwarded, so the organisation has only just moved.
      if (sent.body instanceof Readable)
        throw new AppError('moving', 'The organisation is moving to another cell; try again in a moment')
      const { method, originalUrl } = asked
      const url = withQuery(originalUrl, sent.query)
      const answered = await callOtherCell(deps, req, orgId, { method, url, door, body: sent.body })
      if (answered !== undefined) return isStream(id) ? answered : readAnswer(answered)
    }
    authenticateAs(asked, credential)
    await new Promise<void>((done, fail) => check(asked, res, (error?: unknown) => (error ? fail(error) : done())))
    const answer = await plainAnswer(
      await callHandler(deps, handlers, { req: asked, res, type: 'application/json', settling }),
    )
    if (!Buffer.isBuffer(answer)) return answer
    return isStream(id) ? new Response(new Uint8Array(answer)) : answer.toString('utf8')
  }
  // The proxy has a function for every operation.
  return new Proxy({} as Api, {
    get: (_, id) => (input?: Given) => call(id as OperationId, input), // callers name only operations
  })
}

/**
 * Maps ids of nodes to their titles. Omits other ids. Has the permissions, limits and checks of `listNodes`.
 *
 * @throws AppError moving, and the errors of `listNodes`
 */
export async function readTitles(
  answering: Answering,
  asking: Asking,
  org_id: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  let titles: ReadonlyMap<string, string> | undefined
  const listNodes: Handlers['listNodes'] = async (ctx, { path }) => {
    titles = await findTitles(ctx, path, ids)
    return { nodes: [], total: 0, limit: 0, offset: 0 }
  }
  const handlers = { ...answering.handlers, listNodes }
  await createInProcessApi({ ...answering, handlers }, asking).listNodes({ path: { org_id } })
  if (titles === undefined) throw new AppError('moving', 'The organisation is moving to another cell')
  return titles
}

function isStream(id: OperationId): boolean {
  return streams.some((one) => one === id)
}

/** Reads the response of another cell in the form that its handler returns. */
async function readAnswer(answer: Response): Promise<unknown> {
  const text = await answer.text()
  if (text === '') return undefined
  return answer.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text
}

/** The parameters, query and body of a request for an operation. */
interface Sent {
  readonly parameters: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
}

function sentFor({ path = {}, query = {}, body }: Given): Sent {
  return { parameters: textsOf(path), query: textsOf(query), body }
}

/** The values as strings, without undefined ones. */
function textsOf(values: object): Record<string, string> {
  const set = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]))
}

function withQuery(path: string, query: Sent['query']): string {
  const text = new URLSearchParams(query).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Derives a request for the operation from the caller's request. */
function asRequest(req: Request, headers: object, id: OperationId, { parameters, query, body }: Sent): Request {
  const operation = operationOf(id)
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parameters[name] ?? ''))
  const values = {
    method: operation.method,
    url: path,
    originalUrl: path,
    query,
    body: body instanceof Readable ? undefined : body,
    headers,
  }
  const derived = Object.create(req) as Request // a request, apart from the properties that are defined next
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(derived, name, { value, writable: true, configurable: true, enumerable: true })
  if (body instanceof Readable) setUpload(derived, body)
  forkState(derived)
  setOperation(derived, operation, { operations: new Map([[operation.method, operation]]), parameters })
  return derived
}
