/** Binds each operation of the spec to one typed handler. A missing handler or a renamed field does not compile. */

import type { Readable } from 'node:stream'
import etag from 'etag'
import type { Request, RequestHandler, Response } from 'express'
import type { rights } from '../../../spec/rights.ts'
import type { operations } from '../../../spec/types.ts'
import type { Actor, Anonymous, Person, RequestFacts } from '../../domain/actor.ts'
import { auditingScope } from '../../domain/audit/token-use.ts'
import { ImmutableAnswer } from '../../domain/branches/immutable-answers.ts'
import { createSettling, type Settling } from '../../domain/indexing/freshness.ts'
import type { RequestCtx, Services } from '../../domain/services.ts'
import { baseUrl, publicPath } from '../connection/base-url.ts'
import { disconnectSignal } from '../connection/disconnect.ts'
import { reserveResponse } from '../connection/memory-budget.ts'
import { contextOf } from '../context.ts'
import { withSignal } from '../fast-path.ts'
import { noteWait } from '../log/request-notes.ts'
import { originOf } from '../origin.ts'
import { sendArchive } from '../responses/archives.ts'
import { sendCsv } from '../responses/csv.ts'
import { sendDownload } from '../responses/downloads.ts'
import { sendFollowed } from '../responses/event-stream.ts'
import { sendGzipped } from '../responses/gzipped.ts'
import { isLarge, sendPieces } from '../responses/json-pieces.ts'
import {
  Archive,
  Bytes,
  CsvTable,
  Download,
  Followed,
  Gzipped,
  type Headers,
  WithHeaders,
} from '../responses/responses.ts'
import { normalizeInput } from './normalize-input.ts'
import { seesProposed } from './proposed-nodes.ts'
import type { Operation, OperationId, PathMatch } from './spec.ts'
import { openUpload } from './uploads.ts'

/**
 * The actor of an operation, by its authorization. Anonymous for `none` and `metrics`, a user for `required`, and
 * either for `optional`.
 */
type ActorOf<K extends OperationId> = (typeof rights)[K]['authorization'] extends 'none' | 'metrics'
  ? Anonymous
  : (typeof rights)[K]['authorization'] extends 'optional'
    ? Actor
    : Person

type PathOf<K extends OperationId> = operations[K]['parameters'] extends { path: infer P } ? P : Record<never, never>

/** Parameters with a default. The validator fills them in, but the generated types do not mark them. */
type Defaulted = 'limit' | 'offset' | 'status' | 'state'

type QueryOf<K extends OperationId> = operations[K]['parameters'] extends { query?: infer Q }
  ? [NonNullable<Q>] extends [never]
    ? Record<never, never>
    : Omit<NonNullable<Q>, Defaulted> & Required<Pick<NonNullable<Q>, Defaulted & keyof NonNullable<Q>>>
  : Record<never, never>

/** The body; `{}` if it is optional and missing. */
type BodyOf<K extends OperationId> = operations[K] extends { requestBody?: infer B }
  ? NonNullable<B> extends { content: { 'application/json': infer J } }
    ? WithoutNull<J>
    : Record<never, never>
  : Record<never, never>

/** Null means absent, except for `expected_head`. normalize-input.ts has removed it. */
type WithoutNull<J> = { [P in keyof J]: P extends 'expected_head' ? J[P] : Exclude<J[P], null> }

/** Opens a body that is not JSON, for the operations that take one. */
type UploadOf<K extends OperationId> = operations[K] extends { requestBody: { content: infer C } }
  ? 'application/json' extends keyof C
    ? undefined
    : () => Readable
  : undefined

/** The media types of the response. The caller accepts one of them. */
type TypeOf<K extends OperationId> = operations[K]['responses'] extends { 200: { content: infer C } } ? keyof C : never

interface Input<K extends OperationId> {
  readonly path: PathOf<K>
  readonly query: QueryOf<K>
  readonly body: BodyOf<K>
  readonly upload: UploadOf<K>
  readonly type: TypeOf<K>
}

type Sent<T> = T extends readonly (infer E)[]
  ? readonly Sent<E>[]
  : T extends object
    ? { readonly [P in keyof T]: Sent<T[P]> }
    : T

type Success<K extends OperationId> = operations[K]['responses'] extends infer R
  ? R extends { 201: infer S } | { 200: infer S } | { 202: infer S }
    ? S extends { content: infer C }
      ? C extends { 'application/json': infer J }
        ?
            | Sent<J>
            | WithHeaders<Sent<J>>
            | Gzipped<Sent<J>>
            | ImmutableAnswer<Sent<J> & object>
            | ('text/event-stream' extends keyof C ? Followed : never)
            | ('text/csv' extends keyof C ? CsvTable : never)
            | (Exclude<keyof C, 'application/json' | 'text/event-stream' | 'text/csv'> extends never ? never : Bytes)
        : Archive | Bytes | Download
      : never
    : // biome-ignore lint/suspicious/noConfusingVoidType: 204, the handler answers nothing
      void
  : never

type Handler<K extends OperationId> = (ctx: RequestCtx<ActorOf<K>>, input: Input<K>) => Promise<Success<K>> | Success<K>

export type Handlers = { readonly [K in OperationId]: Handler<K> }

/** Calls the operation's handler and sends its result. */
export function operationHandler(deps: Services, handlers: Handlers): RequestHandler {
  return async (req, res) => {
    const { operation } = contextOf(req)
    const answer = await callHandler(deps, handlers, {
      ...{ req, res, type: chosenType(req, res, operation.types) },
      settling: createSettling(),
    })
    // Only the caller may cache the response, and must revalidate it. A handler may override this.
    res.set('Cache-Control', 'private, no-cache')
    // fetch adds `no-cache`, meant for caches, to each If-None-Match. With it, Express would never answer 304.
    delete req.headers['cache-control']
    await send(req, res, operation.status, answer)
  }
}

/** A known operation and its validated input. */
interface Call {
  readonly req: Request
  readonly res: Response
  /** The media type that the caller wants. */
  readonly type: string | undefined
  /** Shared by the operations of a page or a tool call. */
  readonly settling: Settling
}

export async function callHandler(
  deps: Services,
  handlers: Handlers,
  { req, res, type, settling }: Call,
): Promise<unknown> {
  const { operation, match, actor } = contextOf(req)
  // The validator has checked that the request has the types of the spec.
  const handler = handlers[operation.id] as (ctx: RequestCtx, input: unknown) => unknown
  const { body = {} } = req
  const path = withNumbers(operation, match.parameters)
  const query = normalizeInput(operation.querySchema, req.query)
  const { org_id: orgId } = match.parameters
  const own = await isOfOrganisation(deps, orgId)
  const origin = originOf(req)
  const known: Services = { ...own, origin, waited: (ms) => noteWait(req, ms) }
  const lease = changesOrg(operation, match) ? deps.placement.lease : undefined
  lease?.before()
  if (!isRead(operation)) settling.forget()
  const named = { ...match.parameters, seesProposed: seesProposed(operation.id, req.query) }
  const settled = await settling.settle(known, actor, named)
  const ctx: RequestCtx = { ...known, settled, actor, request: factsOf(deps, req, res, origin.address) }
  const upload = operation.body === 'stream' ? () => openUpload(req, res) : undefined
  const answer = await auditingScope(ctx, actor, { operation: operation.id, orgId }, () =>
    handler(ctx, { path, query, body, upload, type }),
  ).finally(() => isRead(operation) || settling.forget())
  // The process may have been stopped since its last transaction.
  lease?.after()
  return answer
}

/**
 * True if the operation writes to an organisation. A cell without its lease must not do that. Accounts do not
 * belong to a cell.
 */
function changesOrg({ id, method, token }: Operation, { parameters }: PathMatch): boolean {
  return !isRead({ method, token }) && (parameters.org_id !== undefined || id === 'createOrg')
}

/** True if the operation changes nothing. A search uses POST but only reads. */
function isRead({ method, token }: Pick<Operation, 'method' | 'token'>): boolean {
  return method === 'GET' || token === 'read'
}

/** The dependencies of a request for this organisation. Its index may be complete before the others are. */
export async function isOfOrganisation(deps: Services, orgId: string | undefined): Promise<Services> {
  if (orgId === undefined || deps.partialIndex === undefined || deps.partialIndex.isWhole()) return deps
  return { ...deps, index: await deps.partialIndex.forOrg(orgId), wholeIndex: deps.index }
}

function factsOf({ config }: Services, req: Request, res: Response, from: string): RequestFacts {
  const userAgent = req.headers['user-agent']
  const base = baseUrl(config.publicUrl, req)
  const facts = { from, base, ...(userAgent !== undefined && { userAgent }) }
  return withSignal(facts, () => disconnectSignal(req, res))
}

/** Converts path parameters that the spec defines as integers. The validator has checked them. */
function withNumbers({ pathNumbers }: Operation, parameters: PathMatch['parameters']): Record<string, string | number> {
  const numbers = [...pathNumbers].map((name) => [name, Number(parameters[name])] as const)
  return { ...parameters, ...Object.fromEntries(numbers) }
}

/** The media type that the caller accepts, or the first one if it accepts none. */
function chosenType(req: Request, res: Response, types: readonly string[]): string | undefined {
  if (types.length < 2) return types[0]
  res.vary('Accept')
  return req.accepts([...types]) || types[0]
}

async function send(req: Request, res: Response, status: number, answer: unknown): Promise<void> {
  if (answer instanceof Gzipped) {
    await sendGzipped(req, res, status, answer)
  } else if (answer instanceof ImmutableAnswer) {
    await sendImmutable(req, res, status, answer)
  } else if (answer instanceof Download) {
    await sendDownload(req, res, answer)
  } else if (answer instanceof Archive) {
    await sendArchive(req, res, answer)
  } else if (answer instanceof CsvTable) {
    await sendCsv(req, res, answer)
  } else if (answer instanceof Followed) {
    await sendFollowed(req, res, answer, contextOf(req).expiresAt)
  } else if (answer instanceof Bytes) {
    if (req.method !== 'HEAD') reserveResponse(req, res, answer.content.length, personOf(req))
    res.status(status).set(answer.headers).send(answer.content)
  } else if (answer instanceof WithHeaders) {
    setHeaders(res, answer.headers)
    await sendBody(req, res, status, answer.body)
  } else {
    await sendBody(req, res, status, answer)
  }
}

/** The id of the user; undefined for an anonymous reader. */
function personOf(req: Request): string | undefined {
  const { actor } = contextOf(req)
  return actor.kind === 'person' ? actor.id : undefined
}

function setHeaders(res: Response, { Location, ...headers }: Headers): void {
  res.set(headers)
  if (Location !== undefined) res.set('Location', publicPath(res, Location))
}

async function sendBody(req: Request, res: Response, status: number, body: unknown): Promise<void> {
  if (body === undefined) {
    res.status(status).end()
    return
  }
  linkNext(req, res, body)
  if (isLarge(body)) await sendPieces(req, res, status, body, personOf(req))
  else res.status(status).json(body)
}

/**
 * Sends a response that never changes. Serialises it at the second request: the first response goes through the
 * validator, and most are never requested again.
 */
async function sendImmutable(
  req: Request,
  res: Response,
  status: number,
  answer: ImmutableAnswer<object>,
): Promise<void> {
  if (!answer.wasSent) {
    answer.wasSent = true
    return sendBody(req, res, status, answer.body)
  }
  answer.serialised ??= serialise(answer.body)
  linkNext(req, res, answer.body)
  const { bytes, tag } = answer.serialised
  res.status(status).set('ETag', tag).type('json').send(bytes)
}

function serialise(body: object): { readonly bytes: Buffer; readonly tag: string } {
  const json = JSON.stringify(body)
  // Not from Buffer's pool: a slice would keep all 8 KiB of it.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(json))
  bytes.write(json)
  return { bytes, tag: etag(bytes, { weak: true }) }
}

function linkNext(req: Request, res: Response, body: unknown): void {
  const next = nextPage(req.originalUrl, body)
  if (next !== undefined) res.append('Link', `<${publicPath(res, next)}>; rel="next"`)
}

/** The URL of the next page, with all other parameters. Undefined for the last page and for other responses. */
function nextPage(url: string, body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { total, limit, offset, next } = body as { total?: unknown; limit?: unknown; offset?: unknown; next?: unknown } // checked next
  if (typeof total !== 'number' || typeof limit !== 'number' || typeof offset !== 'number') return undefined
  if (offset + limit >= total && next === undefined) return undefined
  const [path, query] = url.split('?', 2)
  const parameters = new URLSearchParams(query)
  if (next === undefined && parameters.has('after')) return undefined
  parameters.set('limit', String(limit))
  if (typeof next === 'string') {
    for (const other of ['offset', 'around']) parameters.delete(other)
    parameters.set('after', next)
  } else parameters.set('offset', String(offset + limit))
  return `${path}?${parameters}`
}
