/** The header by which one cell tells another for whom it passes a request on. */

import type { Request, RequestHandler } from 'express'
import type { Deps } from '../deps.ts'
import { signForCell, verifyFromCell } from '../domain/accounts/cell-tokens.ts'
import type { Cell } from '../domain/cells/cell.ts'
import { baseUrl, setBaseUrl } from './base-url.ts'

export const forwardedHeader = 'grove-forwarded'

type Directory = Pick<Deps, 'config' | 'keys' | 'now'>

const accepted = new WeakSet<Request>()

/** Whether another cell has passed it on: it is not passed on again. */
export function isForwarded(req: Request): boolean {
  return accepted.has(req)
}

/** What the cell `name` is told of a request: the address of its client, and the service as the client reaches it. */
export function signForwarded(deps: Directory, name: string, req: Request): Promise<string> {
  const claims = { ip: req.ip ?? '', base: baseUrl(deps.config.publicUrl, req) }
  return signForCell(deps, name, 'forwarded+jwt', claims)
}

/** Takes the client's address and the service's from the header. @throws Refusal forbidden: it is not of a cell, or too old */
export function acceptForwarded(deps: Directory, cell: Pick<Cell, 'name'>): RequestHandler {
  return async (req, _res, next) => {
    const token = req.headers[forwardedHeader]
    if (token === undefined) return next()
    const { ip, base } = await verifyFromCell(deps, cell.name, 'forwarded+jwt', String(token), {
      what: `The header ${forwardedHeader}`,
      claims: ['ip', 'base'],
    })
    accepted.add(req)
    setBaseUrl(req, base)
    Object.defineProperty(req, 'ip', { value: ip })
    next()
  }
}
