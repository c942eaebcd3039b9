/**
 * Endpoints for cells that send an organisation to this one. They are below /internal, only for cells, and not
 * documented.
 */

import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import { AppError } from '../../base/errors.ts'
import type { CellDeps } from '../../domain/cells/cell.ts'
import { movedLog, rangeRows, rowRange } from '../../domain/cells/migration/log-format.ts'
import * as arrivals from '../../domain/cells/migration/receive.ts'
import { verifyFromCell } from '../../domain/cells/tokens.ts'
import { bearerToken } from '../authentication.ts'
import { badJson, readJson } from '../contract/json.ts'

/** Limits for 200,000 refs with long names, which arrive within the network of the cells. */
const refsLimits = { bytes: 128 * 1_048_576, ms: 600_000 } as const

/** The body: names of refs, with the objects that they point at. */
const refsBody = z.strictObject({
  refs: z.record(z.string().regex(/^refs\/[^\n]+$/), z.string().regex(/^[0-9a-f]{40}$/)),
})

/** Limits for 1,000 rows. An event has at most some 20 KB. */
const rowsLimits = { bytes: 32 * 1_048_576, ms: 600_000 } as const

interface Asked {
  readonly deps: CellDeps
  readonly sender: arrivals.Sender
  /** The path of a repository, below its organisation. */
  readonly path: string
  readonly req: Request
  readonly res: Response
}

/** Steps by method and the end of the URL. Each returns the response. */
const steps: Readonly<Record<string, (asked: Asked) => Promise<unknown>>> = {
  'GET repositories': async ({ deps, sender }) => ({ repositories: await arrivals.listArrived(deps, sender) }),
  'GET refs': async ({ deps, sender, path }) => ({
    refs: Object.fromEntries(await arrivals.refsOfArrived(deps, sender, path)),
  }),
  'POST objects': async ({ deps, sender, path, req, res }) => {
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    res.once('finish', () => req.unpipe().resume())
    await arrivals.takeObjects(deps, sender, path, req, gone.signal)
    return {}
  },
  'PUT refs': async ({ deps, sender, path, req }) => {
    const read = await readJson(req, { ...refsLimits, hold: () => {} })
    const { data } = refsBody.safeParse(read?.value)
    if (data === undefined) throw badJson('The body has no valid refs')
    return { digest: await arrivals.takeRefs(deps, sender, path, new Map(Object.entries(data.refs))) }
  },
  'DELETE repositories': async ({ deps, sender, path }) => {
    await arrivals.dropArrived(deps, sender, path)
    return {}
  },
  'GET log': async ({ deps, sender }) => arrivals.listArrivedLog(deps, sender),
  'PUT log': async ({ deps, sender, req }) => {
    await arrivals.takeArrivingLog(deps, sender, await readBody(req, movedLog))
    return {}
  },
  'POST digest': async ({ deps, sender, req }) => ({
    digest: await arrivals.digestOfArrivedRange(deps, sender, await readBody(req, rowRange)),
  }),
  'PUT rows': async ({ deps, sender, req }) => {
    const { rows, ...range } = await readBody(req, rangeRows)
    return { digest: await arrivals.takeArrivingRange(deps, sender, range, rows) }
  },
  'POST index': async ({ deps, sender, path }) => ({ beyond: await arrivals.prepareArrival(deps, sender, path) }),
  'POST arrival': async ({ deps, sender }) => {
    await arrivals.activateArrival(deps, sender)
    return {}
  },
}

/** Reads a body of that shape. @throws ValidationError json_invalid, AppError too_large */
async function readBody<T>(req: Request, schema: z.ZodType<T>): Promise<T> {
  const read = await readJson(req, { ...rowsLimits, hold: () => {} })
  const { data } = schema.safeParse(read?.value)
  if (data === undefined) throw badJson('The body has no valid rows of a log')
  return data
}

/** Serves `/internal/arrivals/{organisation}/…?path=`. */
export function migrationRoutes(deps: CellDeps): RequestHandler {
  return async (req, res, next) => {
    const [, orgId, end] = /^\/internal\/arrivals\/([0-9a-f-]{36})\/([a-z]+)(?:\?|$)/.exec(req.originalUrl) ?? []
    const step = steps[`${req.method} ${end}`]
    if (orgId === undefined || step === undefined) return next()
    const sender = await senderOf(deps, req, orgId)
    const { path } = req.query
    const asked = { deps, sender, path: typeof path === 'string' ? path : '', req, res }
    res.json(await arrivals.asChange(deps, () => step(asked)))
  }
}

/**
 * The cell that sends the request.
 *
 * @throws AppError unauthenticated; forbidden: the token is not from a cell, or is for another organisation
 */
async function senderOf(deps: CellDeps, req: Request, orgId: string): Promise<arrivals.Sender> {
  const token = bearerToken(req)
  if (token === null) throw new AppError('unauthenticated', 'Only cells of this service can use this URL')
  const claims = await verifyFromCell(deps, deps.placement.name, 'move+jwt', token, {
    what: 'The token',
    claims: ['cell', 'org'],
  })
  if (claims.org !== orgId) throw new AppError('forbidden', 'The token is for another organisation')
  return { cell: claims.cell, orgId }
}
