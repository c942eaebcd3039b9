/**
 * Forwards a request to the cell of its organisation, before the credential is checked. There is one hop, streamed both
 * ways.
 */

import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import { answerOf } from '../../base/error-mapping.ts'
import { AppError, ClientDisconnectedError, ValidationError } from '../../base/errors.ts'
import { idIn } from '../../base/page-segments.ts'
import { decodePercent } from '../../base/percent-encoding.ts'
import type { Cell, CellDeps } from '../../domain/cells/cell.ts'
import { canonicalId, isId } from '../../domain/layout.ts'
import { note } from '../log/request-notes.ts'
import { chain } from '../middleware-chain.ts'
import { recordUnknownOrg } from './cell-client.ts'
import { type Outcome, pipeRequest } from './cell-exchange.ts'
import { acceptForwarded, isForwarded, signForwarded } from './forwarded.ts'
import type { LimitPlaceRead } from './place-reads.ts'

/** The step before all steps that need the organisation. */
export function proxyToOwner(deps: CellDeps, limitRead: LimitPlaceRead): RequestHandler {
  return chain([acceptForwarded(deps), routeToCell(deps, limitRead)])
}

/** Routes a request to its cell. @throws AppError moving: the organisation is on its way to another cell, or back */
function routeToCell(deps: CellDeps, limitRead: LimitPlaceRead): RequestHandler {
  const { placement } = deps
  const own = placement.name
  return async (req, res, next) => {
    if (isNewOrganisation(req) && isSigned(req) && !isForwarded(req)) {
      const other = await placement.chooseOther()
      if (other !== undefined) return proxyRequest(deps, other, req, res)
    }
    const orgId = organisationOf(req)
    if (orgId === undefined) return next()
    const find = () => placement.findAway(orgId)
    const isKnown = placement.isKnown(orgId)
    const place = await (isKnown ? find() : limitRead(req, res, find))
    if (place === undefined) {
      if (isKnown) local.add(req)
      else recordUnknownOrg(req, orgId)
      return next()
    }
    // The cell that an organisation leaves serves it until the directory names the other cell.
    if (place.cell === own ? place.state === 'moving' : isForwarded(req)) throw onItsWay()
    if (place.cell === own) return next()
    note(req, { op: 'forwarded', org: orgId, cell: place.cell })
    await proxyRequest(deps, { name: place.cell, url: place.url }, req, res)
  }
}

function onItsWay(): AppError {
  return new AppError('moving', 'The organisation is moving to another cell; nothing is lost, try again in a moment')
}

const local = new WeakSet<Request>()

/** Turns failures into 503 `moving` if the organisation has left during the request. */
export function translateMovedOrg({ placement }: CellDeps): ErrorRequestHandler {
  return async (error, req, _res, next) => {
    const orgId = local.has(req) && mayBeGone(answerOf(error)) ? organisationOf(req) : undefined
    const place = orgId === undefined ? undefined : await placement.findAway(orgId).catch(() => undefined)
    next(place === undefined || place.state === 'making' ? error : onItsWay())
  }
}

/** True if a missing repository can be the cause. */
function mayBeGone(meaning: ReturnType<typeof answerOf>): boolean {
  if (meaning instanceof ValidationError) return false
  return meaning === undefined || /_not_found$|^repo_damaged$|^storage_error$/.test(meaning.code)
}

/**
 * The organisation in the URL of an operation, a page or a repository. Other URLs belong to no organisation, and any
 * cell answers them.
 */
function organisationOf(req: Request): string | undefined {
  const [, kind, found = ''] = /^\/(orgs|public\/orgs|admin\/orgs|o|git)\/([^/?]+)/.exec(req.originalUrl) ?? []
  // The router also decodes a segment.
  const segment = decodePercent(found) ?? found
  const id = kind === 'o' ? (idIn(segment) ?? '') : canonicalId(segment)
  return isId(id) ? id : undefined
}

function isNewOrganisation({ method, originalUrl }: Request): boolean {
  return method === 'POST' && /^\/orgs\/?(\?|$)/.test(originalUrl)
}

/** True if the request has a credential, valid or not. Without one, every cell would refuse it. */
function isSigned({ headers }: Request): boolean {
  return headers.authorization !== undefined || headers.cookie !== undefined
}

/**
 * Forwards a request. Resolves when the response has ended or the client has disconnected.
 *
 * @throws AppError busy, outcome_unknown; ClientDisconnectedError
 */
async function proxyRequest(
  deps: CellDeps,
  { name, url }: Pick<Cell, 'name' | 'url'>,
  req: Request,
  res: Response,
): Promise<void> {
  const count = (outcome: Outcome) => deps.metrics.forwarded.inc({ to: name, outcome })
  try {
    count(
      await pipeRequest(req, res, { url, forwarded: await signForwarded(deps, name, req), draining: deps.draining }),
    )
  } catch (error) {
    count(error instanceof ClientDisconnectedError ? 'aborted' : 'failed')
    throw error
  }
}
