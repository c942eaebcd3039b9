/** The header that names the client of a request which one cell forwards to another. */

import type { Request, RequestHandler } from 'express'
import { type Cache, createCache } from '../../../gitstore/caching/caches.ts'
import type { CellDeps } from '../../domain/cells/cell.ts'
import { signForCell, verifyFromCell } from '../../domain/cells/tokens.ts'
import { type Door, doors } from '../../domain/origin.ts'
import type { Services } from '../../domain/services.ts'
import { baseUrl, setBaseUrl } from '../connection/base-url.ts'
import { exemptFromShare } from '../connection/connection-shares.ts'
import { stateOf } from '../request-state.ts'

export const forwardedHeader = 'grove-forwarded'

/**
 * Milliseconds for which a signed header is reused for the same client. The remaining lifetime is then enough for any
 * request.
 */
const reuseMs = 20_000

type Directory = Pick<Services, 'config' | 'keys' | 'now'>

interface Signed {
  readonly token: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** The headers that each set of keys has signed recently. */
/** Headers by what they say. Signing or verifying one takes 0.4 ms. */
const signedBy = new WeakMap<Services['keys'], Cache<Signed>>()

/** The claims of a header. */
interface Claims {
  readonly ip: string
  readonly base: string
  /**
   * The part of the service that the client uses at the other cell. Absent: that of the request itself. With `mcp`, a
   * token for tools is valid, although the request is one of REST.
   */
  readonly door?: string
  /** Seconds since 1970. */
  readonly exp: number
}

const accepted = new WeakSet<Request>()

/** True if another cell has forwarded the request. It is not forwarded again. */
export function isForwarded(req: Request): boolean {
  return accepted.has(req)
}

/**
 * Signs a JWT for the cell `name`. It has the client's IP address, the base URL under which the client reaches the
 * service, and whether a tool asks.
 */
export async function signForwarded(deps: Directory, name: string, req: Request, door?: Door): Promise<string> {
  const at = deps.now().getTime()
  const signed = signedBy.get(deps.keys) ?? createCache<Signed>('signed_requests')
  signedBy.set(deps.keys, signed)
  const said = { ip: req.ip ?? '', base: baseUrl(deps.config.publicUrl, req), ...(door && { door }) }
  const key = JSON.stringify([name, said])
  const known = signed.get(key)
  if (known !== undefined && known.at <= at && at < known.at + reuseMs) return known.token
  const token = await signForCell(deps, name, 'forwarded+jwt', said)
  signed.set(key, { token, at })
  return token
}

/**
 * Takes the client's IP address and the base URL from the header.
 *
 * @throws AppError forbidden: the header is not from a cell, or is too old
 */
export function acceptForwarded(deps: CellDeps): RequestHandler {
  const verified = createCache<Claims>('forwarded_requests')
  return async (req, _res, next) => {
    const token = req.headers[forwardedHeader]
    if (token === undefined) return next()
    const { ip, base, door } = await verifiedClaims(deps, verified, String(token))
    accepted.add(req)
    // Its connections carry the requests of many clients.
    exemptFromShare(req.socket)
    setBaseUrl(req, base)
    const known = doors.find((one) => one === door)
    if (known !== undefined) stateOf(req).door = known
    Object.defineProperty(req, 'ip', { value: ip })
    next()
  }
}

/** Verifies a signature once, and checks the time at each request. */
async function verifiedClaims(deps: CellDeps, verified: Cache<Claims>, token: string): Promise<Claims> {
  const known = verified.get(token)
  if (known !== undefined && deps.now().getTime() < known.exp * 1000) return known
  const claims = await verifyFromCell(deps, deps.placement.name, 'forwarded+jwt', token, {
    what: `The header ${forwardedHeader}`,
    claims: ['ip', 'base'],
    // A cell of an older version does not send it.
    optional: ['door'],
  })
  verified.set(token, claims)
  return claims
}
