/** The errors of the client. Each kind is a class, with the error codes of the spec. */
import type { Schemas } from './api.ts'

/**
 * The error codes of the spec and of the client. `invalid` stands for 422. `no_answer`: the service was not reached or
 * did not respond in time. `unknown`: the response is not from the service but, for example, from a proxy. A newer
 * service may send other codes. Handle those by their status.
 */
export type ErrorCode = Schemas['KnownErrorCode'] | 'invalid' | 'no_answer' | 'unknown'

/** The body of the error response, as far as it has one. */
export type Problem = Partial<Omit<Schemas['ErrorBody'], 'detail'> & { readonly detail: unknown }>

export class GroveError extends Error {
  override readonly name: string = 'GroveError'
  /** The HTTP status; 0 without a response. */
  readonly status: number
  readonly code: ErrorCode
  readonly problem: Problem
  /** The seconds of `Retry-After`, if the service sends it. */
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

/** 409: the current state does not allow the call. */
export class Conflict extends GroveError {
  override readonly name = 'Conflict'

  /** The branch's current head, for `head_moved`; undefined if the branch does not exist. */
  get currentHead(): string | undefined {
    return this.problem.current_head
  }
}

/** 422. */
export class Invalid extends GroveError {
  override readonly name = 'Invalid'

  /** The problems, each with its location. */
  get fields(): readonly Schemas['ValidationProblem'][] {
    return fieldsOf(this.problem)
  }
}

/** 408, 429, 502, 503, 504 or no response. The same call may succeed later. */
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

/** Converts an unsuccessful response to an error. Reads its body. */
export async function errorOf(response: Response): Promise<GroveError> {
  const { status, statusText, headers } = response
  // A proxy's page is not JSON. The fields of an object are checked below.
  const problem: Problem = Object(await response.json().catch(() => ({})))
  const { detail, code = status === 422 ? 'invalid' : 'unknown' } = problem
  const fields = fieldsOf(problem).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
  const message = typeof detail === 'string' ? detail : fields.join('; ') || `${status} ${statusText}`
  // A missing header and a date are not numbers.
  const seconds = Number(headers.get('retry-after')) || undefined
  const kind = classes[status] ?? GroveError
  // Passes on codes that this version does not know.
  return new kind(status, code as ErrorCode, message, problem, seconds)
}

function fieldsOf({ detail }: Problem): readonly Schemas['ValidationProblem'][] {
  return Array.isArray(detail) ? detail : []
}
