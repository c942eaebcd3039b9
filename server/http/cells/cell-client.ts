/** Asks an operation of the cell that has its organisation, for a page or a tool that this cell answers. */

import type { Request } from 'express'
import type { Deps } from '../../base/deps.ts'
import { AppError, type Problem, type RefusalCode, ValidationError } from '../../base/errors.ts'
import { requestId } from '../log/requests.ts'
import { forwardedHeader, signForwarded } from './forwarded.ts'

/** Milliseconds for the whole answer, as of requests that are passed on. */
const answerMs = 75_000

interface Asked {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly body: unknown
}

const nowhere = new WeakMap<Request, string>()

/** No cell has the organisation of its address: it need not be looked for again. */
export function recordUnknownOrg(req: Request, orgId: string): void {
  nowhere.set(req, orgId)
}

/**
 * Undefined: the organisation is not in another cell. `req` is what this cell was asked; its credential goes along.
 *
 * @throws AppError what the other cell refuses; busy, outcome_unknown; ValidationError
 */
export async function callOtherCell(
  deps: Deps,
  req: Request,
  orgId: string,
  { method, url, body }: Asked,
): Promise<Response | undefined> {
  if (nowhere.get(req) === orgId) return undefined
  const place = await deps.placement.findElsewhere(orgId)
  if (place === undefined) return undefined
  const { authorization, cookie } = req.headers
  const answer = await fetch(`${place.url}${url}`, {
    method,
    redirect: 'manual',
    signal: AbortSignal.timeout(answerMs),
    headers: {
      'content-type': 'application/json',
      'x-request-id': requestId(req),
      [forwardedHeader]: await signForwarded(deps, place.cell, req),
      ...(authorization === undefined ? {} : { authorization }),
      ...(cookie === undefined ? {} : { cookie }),
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

/** Of a cell that has not answered; where it may have been asked, what was not only read may have been done. */
export function cellTimeoutError(method: string, cause: unknown, wasAsked = true): AppError {
  const isSafe = ['GET', 'HEAD', 'OPTIONS'].includes(method)
  if (!wasAsked || isSafe)
    return new AppError(
      'busy',
      'The cell that has the organisation does not answer; nothing has been done, try again',
      {},
      { cause },
    )
  return new AppError(
    'outcome_unknown',
    'The cell that has the organisation has not answered; the change may have been made, read again',
    {},
    { cause },
  )
}

/** As every error of the contract is sent; the other cell is of the same release or the next. */
interface SentProblem {
  readonly detail: string | readonly Problem[]
  readonly code: RefusalCode
}

/** As the other cell would throw it. */
async function refusalOf(answer: Response): Promise<AppError | ValidationError> {
  const { detail, code, ...facts }: SentProblem = await answer.json()
  return typeof detail === 'string' ? new AppError(code, detail, facts) : new ValidationError(detail)
}
