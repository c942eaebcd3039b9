/** Turns errors into responses. An error without a code becomes a 500 with only the request id. */

import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import type { Logger } from 'pino'
import type { components } from '../../../spec/types.ts'
import { answerOf } from '../../base/error-mapping.ts'
import {
  AppError,
  ClientDisconnectedError,
  type ErrorCode,
  type Problem,
  RateLimitedError,
  type RefusalCode,
  statusOf,
  ValidationError,
} from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import type { Services } from '../../domain/services.ts'
import { countRefusal } from '../../metrics/observers.ts'
import { errorLink, publicPath } from '../connection/base-url.ts'
import { setOperation } from '../context.ts'
import { isGitRequest } from '../git/git.ts'
import { note } from '../log/request-notes.ts'
import { requestId } from '../log/requests.ts'
import { setLimitHeaders } from '../rate-limits.ts'
import { type ErrorPage, stateOf } from '../request-state.ts'
import { normalizeInput } from './normalize-input.ts'
import { findPath, type PathMatch } from './spec.ts'
import { hideSecrets } from './validation-errors.ts'

type DocumentedProblem = Pick<components['schemas']['ValidationProblem'], 'type'>

/** Seconds after which a retry makes sense. The default is 1. */
const retryAfter: Partial<Record<RefusalCode, number>> = {
  too_many_streams: 30,
  storage_full: 30,
  storage_readonly: 30,
  storage_error: 30,
  repo_damaged: 60,
  draining: 5,
  moving: 2,
}

/** Finds the operation of a request. 404 for unknown paths, 405 for methods that a path does not have. */
export const findOperation: RequestHandler = (req, res, next) => {
  const match = findPath(req.url.split('?', 1)[0] ?? '')
  if (match === undefined) throw new AppError('not_found', 'Not found: the API has no such path. See /docs')
  const methods = [...match.operations.keys()]
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
  if (req.method === 'OPTIONS') {
    res.status(204).set('Allow', allow).end()
    return
  }
  const operation = match.operations.get(req.method === 'HEAD' ? 'GET' : req.method)
  if (operation === undefined) {
    res.set('Allow', allow)
    throw new AppError('method_not_allowed', `${req.method} is not allowed here; the header Allow lists the methods`)
  }
  const parameters = normalizeInput(operation.pathSchema, match.parameters) as PathMatch['parameters'] // an object of the same strings
  setOperation(req, operation, { ...match, parameters })
  next()
}

/** Answers errors. It is the last of all handlers. */
export function answerErrors(deps: Services): ErrorRequestHandler {
  return (error: unknown, req, res, _next) => {
    const request_id = requestId(req)
    if (error instanceof ClientDisconnectedError) {
      res.destroy()
      return
    }
    if (res.headersSent) {
      // Too late for an error response. The client must see that the response is incomplete.
      deps.log.error({ err: error, request_id }, 'a response broke off')
      res.destroy()
      return
    }
    const meaning = answerOf(error)
    const { errorPage: shown } = stateOf(req)
    if (meaning instanceof ValidationError) {
      if (shown !== undefined) {
        shown({
          status: 422,
          code: 'invalid',
          detail: meaning.problems[0]?.msg ?? 'The request is not valid',
          request_id,
        })
        return
      }
      const detail = meaning.problems.slice(0, limits.problems).map((problem) => hideSecrets(problem, req.path))
      res.status(422).json({ detail } satisfies { detail: DocumentedProblem[] })
      return
    }
    recordRefusal(deps, req, error)
    if (meaning instanceof RateLimitedError) {
      setLimitHeaders(res, meaning.limit, 0, meaning.waitSeconds)
      res.set('Retry-After', String(meaning.waitSeconds))
    }
    if (shown !== undefined) showError(res, shown, meaning, request_id)
    else if (isGitRequest(req)) void answerGit(res, meaning, request_id)
    else if (meaning === undefined)
      res.status(500).json({ detail: 'Internal error', ...codeFields(res, 'internal_error', request_id) })
    else answerRefusal(res, meaning, request_id)
  }
}

/** The facts of an error for the result of an MCP tool. @throws ClientDisconnectedError */
export function refusalFacts(req: Request, error: unknown): RefusalFacts {
  if (error instanceof ClientDisconnectedError) throw error
  const meaning = answerOf(error)
  if (meaning instanceof ValidationError) {
    const problems = meaning.problems.slice(0, limits.problems)
    return { status: 422, code: 'invalid', message: 'The request is not valid', isOwn: true, problems }
  }
  if (meaning === undefined) {
    const message = `Internal error. Report this id to the operator: ${requestId(req)}`
    return { status: 500, code: 'internal_error', message, isOwn: true, problems: [] }
  }
  const { code, message, facts } = meaning
  const { current_head, number, entry, branch_prefix, merge_problems, token_org_id } = facts
  return {
    ...{ status: statusOf[code], code, message, problems: filesOf(merge_problems) },
    ...(typeof current_head === 'string' ? { currentHead: current_head } : {}),
    ...(typeof number === 'number' ? { number } : {}),
    ...(typeof entry === 'number' ? { entry } : {}),
    ...(typeof branch_prefix === 'string' ? { branchPrefix: branch_prefix } : {}),
    ...(typeof token_org_id === 'string' ? { tokenOrgId: token_org_id } : {}),
  }
}

/** Converts `merge_problems`, which the spec describes. */
function filesOf(problems: unknown): RefusalFacts['problems'] {
  const found: readonly PathProblem[] = Array.isArray(problems) ? problems : []
  return found.map(({ path, reason }) => ({ loc: ['file', path], msg: reason }))
}

/** Counts and logs the error that ends a request, unless it is a 422. */
export function recordRefusal(deps: Services, req: Request, error: unknown): void {
  const meaning = answerOf(error)
  if (meaning instanceof ValidationError) return
  if (meaning !== undefined) countRefusal(deps.metrics, meaning)
  note(req, { code: meaning?.code ?? 'internal_error' })
  if (meaning === undefined || statusOf[meaning.code] >= 500) logFault(deps.log, error, meaning, requestId(req))
}

interface RefusalFacts {
  readonly status: number
  readonly code: string
  readonly message: string
  /** True if the message is fixed, or contains only an id. */
  readonly isOwn?: boolean
  /** The problems of a 422, or of content that breaks a rule. */
  readonly problems: readonly Pick<Problem, 'loc' | 'msg'>[]
  readonly currentHead?: string
  readonly number?: number
  readonly entry?: number
  readonly tokenOrgId?: string
}

/** Shows errors of this request as pages, not as JSON. */
export function showErrorsBy(res: Response, page: ErrorPage): void {
  stateOf(res.req).errorPage = page
}

function showError(res: Response, page: ErrorPage, meaning: AppError | undefined, request_id: string): void {
  if (meaning === undefined) {
    page({ status: 500, code: 'internal_error', detail: 'Something went wrong here', request_id })
    return
  }
  const { code, message } = meaning
  const status = statusOf[code]
  setRetryAfter(res, meaning)
  page({ status, code, detail: message, request_id })
}

const passing: readonly RefusalCode[] = ['busy', 'draining', 'moving', 'maintenance', 'org_needs_newer_version']

/** Logs a fault. Transient refusals are logged without a stack. */
function logFault(log: Logger, err: unknown, meaning: AppError | undefined, request_id: string): void {
  if (meaning === undefined || !passing.includes(meaning.code)) log.error({ err, request_id }, 'a request failed')
  else log.warn({ code: meaning.code, reason: meaning.message, request_id }, 'a request was refused')
}

/**
 * Answers a Git client. Git shows plain text, asks for credentials if the challenge is Basic, and does not know 422. When
 * it pushes, it shows only a report. The report refuses each ref, and has status 200.
 */
async function answerGit(res: Response, meaning: AppError | undefined, request_id: string): Promise<void> {
  const status = meaning === undefined ? 500 : statusOf[meaning.code]
  if (status === 401) res.set('WWW-Authenticate', 'Basic realm="Grove", charset="UTF-8"')
  if (meaning) setRetryAfter(res, meaning)
  const text = meaning?.message ?? `Internal error. Report this id to the operator: ${request_id}`
  const isReported = status === 429 || status >= 500 || meaning?.code === 'quota_exceeded'
  // A client that sends no list of refs gets the status.
  const report = isReported
    ? await stateOf(res.req)
        .pushReport?.(text)
        .catch(() => undefined)
    : undefined
  if (report === undefined) res.status(status).type('text/plain').send(`${text}\n`)
  else res.status(200).type('application/x-git-receive-pack-result').send(report)
}

function setRetryAfter(res: Response, { code, facts }: AppError): void {
  const status = statusOf[code]
  if ((status === 429 || status === 503) && !res.hasHeader('Retry-After'))
    res.set('Retry-After', String(facts.retry_after ?? retryAfter[code] ?? 1))
}

function answerRefusal(res: Response, refusal: AppError, request_id: string): void {
  const { code, message, facts } = refusal
  const status = statusOf[code]
  setRetryAfter(res, refusal)
  // RFC 6750 §3.1. MCP has set a challenge that also names its metadata.
  const error = code === 'token_scope' ? 'insufficient_scope' : code === 'invalid_token' ? code : undefined
  if ((status === 401 || error !== undefined) && !res.hasHeader('WWW-Authenticate'))
    res.set('WWW-Authenticate', error === undefined ? 'Bearer' : `Bearer error="${error}"`)
  const { location, retry_after: _, ...members } = facts
  if (typeof location === 'string') res.set('Location', publicPath(res, location))
  res.status(status).json({ ...members, detail: message, ...codeFields(res, code, request_id) })
}

function codeFields(res: Response, code: ErrorCode, request_id: string) {
  return { code, request_id, link: errorLink(res.app.get('public path'), code) }
}
