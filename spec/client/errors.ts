/** What a client throws: a class for each kind of refusal, with the code that the spec gives it. */
import type { Schemas } from './api.ts'

/**
 * Of the spec; `invalid`: 422; `no_answer`: the service was not reached or did not answer in time; `unknown`: an answer that
 * is not the service's, as a proxy's. A newer service may have others: treat those by their status.
 */
export type ErrorCode = Schemas['KnownErrorCode'] | 'invalid' | 'no_answer' | 'unknown'

/** The body of the answer, as far as it has one. */
export type Problem = Partial<Omit<Schemas['ErrorBody'], 'detail'> & { readonly detail: unknown }>

export class GroveError extends Error {
  override readonly name: string = 'GroveError'
  /** Of HTTP; 0 without an answer. */
  readonly status: number
  readonly code: ErrorCode
  readonly problem: Problem
  /** Seconds, where the service names them. */
  readonly retryAfter: number | undefined

  constructor(status: number, code: ErrorCode, message: string, problem: Problem = {}, retryAfter?: number) {
    super(message)
    this.status = status
    this.code = code
    this.problem = problem
    this.retryAfter = retryAfter
  }
}

/** 401. */
export class NotSignedIn extends GroveError {
  override readonly name = 'NotSignedIn'
}

/** 403. */
export class Forbidden extends GroveError {
  override readonly name = 'Forbidden'
}

/** 404. */
export class NotFound extends GroveError {
  override readonly name = 'NotFound'
}

/** 409: what is there does not allow it. */
export class Conflict extends GroveError {
  override readonly name = 'Conflict'

  /** With `head_moved`, where the branch is; absent if it does not exist. */
  get currentHead(): string | undefined {
    return this.problem.current_head
  }
}

/** 422. */
export class Invalid extends GroveError {
  override readonly name = 'Invalid'

  /** What is wrong, and where. */
  get fields(): readonly Schemas['ValidationProblem'][] {
    return fieldsOf(this.problem)
  }
}

/** 408, 429, 502, 503, 504 and no answer: the same may succeed later. */
export class Busy extends GroveError {
  override readonly name = 'Busy'
}

const classes: Readonly<Record<number, typeof GroveError>> = {
  401: NotSignedIn,
  403: Forbidden,
  404: NotFound,
  408: Busy,
  409: Conflict,
  422: Invalid,
  429: Busy,
  502: Busy,
  503: Busy,
  504: Busy,
}

/** Of an answer that is no success; reads its body. */
export async function errorOf(response: Response): Promise<GroveError> {
  const { status, statusText, headers } = response
  // The page of a proxy is no JSON, and what is read of an object is looked at again.
  const problem: Problem = Object(await response.json().catch(() => ({})))
  const { detail, code = status === 422 ? 'invalid' : 'unknown' } = problem
  const fields = fieldsOf(problem).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
  const message = typeof detail === 'string' ? detail : fields.join('; ') || `${status} ${statusText}`
  // None, and a date, are no number.
  const seconds = Number(headers.get('retry-after')) || undefined
  const kind = classes[status] ?? GroveError
  // A code that this version does not know is handed on as it is.
  return new kind(status, code as ErrorCode, message, problem, seconds)
}

function fieldsOf({ detail }: Problem): readonly Schemas['ValidationProblem'][] {
  return Array.isArray(detail) ? detail : []
}
