/** Calls an operation on the cell of its organisation, for a page or tool. */

import type { Request } from 'express'
import { AppError, type Problem, type RefusalCode, ValidationError } from '../../base/errors.ts'
import type { Door } from '../../domain/origin.ts'
import type { Services } from '../../domain/services.ts'
import { requestId } from '../log/requests.ts'
import { forwardedHeader, signForwarded } from './forwarded.ts'

/** Milliseconds for the whole response, as for forwarded requests. */
const answerMs = 75_000

interface Asked {
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** The part of the service that the client uses. */
  readonly door: Door
  readonly body: unknown
}

const nowhere = new WeakMap<Request, string>()

/** Records that no cell has the organisation in the URL. It is then not searched again. */
export function recordUnknownOrg(req: Request, orgId: string): void {
  nowhere.set(req, orgId)
}

/**
 * Calls the cell that has the organisation. Returns undefined if no other cell has it.
 *
 * @param req the request to this cell, whose credential is passed on
 * @throws AppError the refusal of the other cell; busy, outcome_unknown
 * @throws ValidationError
 */
export async function callOtherCell(
  deps: Services,
  req: Request,
  orgId: string,
  { method, url, door, body }: Asked,
): Promise<Response | undefined> {
  if (nowhere.get(req) === orgId) return undefined
  const place = await deps.placement.findElsewhere(orgId)
  if (place === undefined) return undefined
  const { authorization, cookie, 'grove-agent': agent } = req.headers
  const answer = await fetch(`${place.url}${url}`, {
    method,
    redirect: 'manual',
    signal: AbortSignal.timeout(answerMs),
    headers: {
      'content-type': 'application/json',
      'x-request-id': requestId(req),
      [forwardedHeader]: await signForwarded(deps, place.cell, req, door),
      ...(authorization === undefined ? {} : { authorization }),
      ...(cookie === undefined ? {} : { cookie }),
      ...(agent === undefined ? {} : { 'grove-agent': String(agent) }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    deps.metrics.forwarded.inc({ to: place.cell, outcome: 'failed' })
    throw cellTimeoutError(method, cause)
  })
  deps.metrics.forwarded.inc({ to: place.cell, outcome: 'done' })
  if (answer.status >= 400) throw await refusalOf(answer)
  return answer
}

/** The error for a cell that has not answered. If the request may have reached it, a change may have been made. */
export function cellTimeoutError(method: string, cause: unknown, wasAsked = true): AppError {
  const isSafe = ['GET', 'HEAD', 'OPTIONS'].includes(method)
  if (!wasAsked || isSafe)
    return new AppError(
      'busy',
      'The cell of this organisation does not answer. Nothing was changed; try again in a moment',
      {},
      { cause },
    )
  return new AppError(
    'outcome_unknown',
    'The cell of this organisation has not answered. The change may have been made; read again before you repeat it',
    {},
    { cause },
  )
}

/** An error response of the API. The other cell runs the same release or the next one. */
interface SentProblem {
  readonly detail: string | readonly Problem[]
  readonly code: RefusalCode
}

/** The error that the other cell has thrown. */
async function refusalOf(answer: Response): Promise<AppError | ValidationError> {
  const { detail, code, ...facts }: SentProblem = await answer.json()
  return typeof detail === 'string' ? new AppError(code, detail, facts) : new ValidationError(detail)
}
