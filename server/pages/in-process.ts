/** The contract answered by the handlers themselves: what a page asks for has the rights, the limits and the checks of REST. */

import type { Request, RequestHandler, Response } from 'express'
import type { operations } from '../../spec/types.ts'
import type { Deps } from '../deps.ts'
import { authenticateAs, type FindCredential, limitTokens } from '../http/authentication.ts'
import { setOperation } from '../http/context.ts'
import { chain } from '../http/middleware-chain.ts'
import { type BodyOf, callHandler, type Handlers, type PathOf, type QueryOf } from '../http/operations.ts'
import { plainAnswer } from '../http/responses.ts'
import { type OperationId, operationOf } from '../http/spec.ts'

/** Who asks: undefined for the public. */
export type Credential = Awaited<ReturnType<FindCredential>>

interface InputOf<K extends OperationId> {
  readonly path?: PathOf<K>
  readonly query?: Partial<QueryOf<K>>
  readonly body?: BodyOf<K>
}

type JsonOf<S> = S extends { content: infer C } ? (C extends { 'application/json': infer J } ? J : Buffer) : undefined

export type AnswerOf<K extends OperationId> = operations[K]['responses'] extends { 201: infer S } | { 200: infer S }
  ? JsonOf<S>
  : undefined

/** One function for each operation of the spec: its parameters and body in, the body of a success out. @throws Refusal, Invalid */
export type Api = { readonly [K in OperationId]: (input: InputOf<K>) => Promise<AnswerOf<K>> }

/** What answers: the handlers, behind the steps that REST has between the caller and them. */
export interface Answering {
  readonly deps: Deps
  readonly handlers: Handlers
  /** Validates, and limits by operation. */
  readonly checks: readonly RequestHandler[]
}

interface Asking {
  readonly req: Request
  readonly res: Response
  readonly credential: Credential
}

export function inProcess({ deps, handlers, checks }: Answering, { req, res, credential }: Asking): Api {
  const check = chain([limitTokens, ...checks])
  const call = async (id: OperationId, input: InputOf<OperationId>): Promise<unknown> => {
    const asked = asRequest(req, id, input)
    authenticateAs(asked, credential)
    await new Promise<void>((done, fail) => check(asked, res, (error?: unknown) => (error ? fail(error) : done())))
    return plainAnswer(await callHandler(deps, handlers, { req: asked, res, type: 'application/json' }))
  }
  return new Proxy({} as Api, {
    get: (_, id) => (input: InputOf<OperationId>) => call(id as OperationId, input), // callers name operations alone
  })
}

/** The page's request as it would be if it asked for the operation. */
function asRequest(req: Request, id: OperationId, { path = {}, query = {}, body }: InputOf<OperationId>): Request {
  const operation = operationOf(id)
  const parameters = Object.fromEntries(Object.entries(path).map(([name, value]) => [name, String(value)]))
  const asked = Object.entries(query).filter(([, value]) => value !== undefined)
  const texts = Object.fromEntries(asked.map(([name, value]) => [name, String(value)]))
  const sent = operation.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parameters[name] ?? ''))
  const { authorization: _, cookie: __, 'content-length': ___, ...headers } = req.headers
  const values = {
    method: operation.method,
    url: sent,
    originalUrl: sent,
    query: texts,
    body,
    headers: { ...headers, accept: 'application/json', 'content-type': 'application/json' },
  }
  const derived = Object.create(req) as Request // a request but for what is defined next
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(derived, name, { value, writable: true, configurable: true, enumerable: true })
  setOperation(derived, operation, { operations: new Map([[operation.method, operation]]), parameters })
  return derived
}
