/** The header by which one cell tells another for whom it passes a request on. */

import type { Request, RequestHandler } from 'express'
<<<<<<< HEAD
=======
import { decodeJwt } from 'jose'
>>>>>>> 9d2111615bf0c36a780d3b9946d471e22108caa6
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import { signForCell, verifyFromCell } from '../domain/accounts/cell-tokens.ts'
import type { Cell } from '../domain/cells/cell.ts'
import { baseUrl, setBaseUrl } from './base-url.ts'

export const forwardedHeader = 'grove-forwarded'

<<<<<<< HEAD
/** Milliseconds for which one that was signed serves further requests of the same client: what is left then is enough for any of them. */
=======
/** Milliseconds for which one that was signed serves further requests of the same client: what is left of its minute is enough. */
>>>>>>> 9d2111615bf0c36a780d3b9946d471e22108caa6
const reuseMs = 20_000
/** Headers that are kept, about 0.5 KB each: signing and verifying one takes 0.4 ms. */
const remembered = 10_000

type Directory = Pick<Deps, 'config' | 'keys' | 'now'>

<<<<<<< HEAD
interface Signed {
  readonly token: string
  /** When: milliseconds since 1970. */
  readonly at: number
}

/** What the keys have signed lately. */
const signedBy = new WeakMap<Deps['keys'], LRUCache<string, Signed>>()

/** What a header says. */
interface Claims {
  readonly ip: string
  readonly base: string
  /** Seconds since 1970. */
  readonly exp: number
}

=======
>>>>>>> 9d2111615bf0c36a780d3b9946d471e22108caa6
const accepted = new WeakSet<Request>()

/** Whether another cell has passed it on: it is not passed on again. */
export function isForwarded(req: Request): boolean {
  return accepted.has(req)
}

interface Signed {
  readonly token: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** What the keys have signed lately. */
const signedBy = new WeakMap<Deps['keys'], LRUCache<string, Signed>>()

/** What the cell `name` is told of a request: the address of its client, and the service as the client reaches it. */
export async function signForwarded(deps: Directory, name: string, req: Request): Promise<string> {
<<<<<<< HEAD
  const at = deps.now().getTime()
  const signed = signedBy.get(deps.keys) ?? new LRUCache<string, Signed>({ max: remembered })
  signedBy.set(deps.keys, signed)
  const said = { ip: req.ip ?? '', base: baseUrl(deps.config.publicUrl, req) }
  const key = JSON.stringify([name, said])
  const known = signed.get(key)
  if (known !== undefined && known.at <= at && at < known.at + reuseMs) return known.token
  const token = await signForCell(deps, name, 'forwarded+jwt', said)
  signed.set(key, { token, at })
  return token
=======
  const { config, keys } = deps
  const claims = { ip: req.ip ?? '', base: baseUrl(config.publicUrl, req) }
  const at = deps.now().getTime()
  const signed = signedBy.get(keys) ?? new LRUCache<string, Signed>({ max: remembered })
  signedBy.set(keys, signed)
  const key = JSON.stringify([name, claims])
  const known = signed.get(key)
  if (known !== undefined && known.at <= at && at < known.at + reuseMs) return known.token
  const token = await signForCell(deps, name, 'forwarded+jwt', claims)
  signed.set(key, { token, at })
  return token
}

interface Claims {
  readonly ip: string
  readonly base: string
  /** When the token ends: milliseconds since 1970. */
  readonly endsAt: number
>>>>>>> 9d2111615bf0c36a780d3b9946d471e22108caa6
}

/** Takes the client's address and the service's from the header. @throws Refusal forbidden: it is not of a cell, or too old */
export function acceptForwarded(deps: Directory, cell: Pick<Cell, 'name'>): RequestHandler {
  const verified = new LRUCache<string, Claims>({ max: remembered })
  return async (req, _res, next) => {
    const token = req.headers[forwardedHeader]
    if (token === undefined) return next()
<<<<<<< HEAD
    const { ip, base } = await verifiedClaims(deps, cell, verified, String(token))
=======
    const { ip, base } = await claimsOf(deps, cell, verified, String(token))
>>>>>>> 9d2111615bf0c36a780d3b9946d471e22108caa6
    accepted.add(req)
    setBaseUrl(req, base)
    Object.defineProperty(req, 'ip', { value: ip })
    next()
  }
}

/** A signature is verified once, the time at each request. */
async function claimsOf(
  deps: Directory,
  { name }: Pick<Cell, 'name'>,
  verified: LRUCache<string, Claims>,
  token: string,
): Promise<Claims> {
  const known = verified.get(token)
<<<<<<< HEAD
  if (known !== undefined && deps.now().getTime() < known.exp * 1000) return known
  const claims = await verifyFromCell(deps, name, 'forwarded+jwt', token, {
    what: `The header ${forwardedHeader}`,
    claims: ['ip', 'base'],
  })
=======
  if (known !== undefined && deps.now().getTime() < known.endsAt) return known
  const what = `The header ${forwardedHeader}`
  const said = await verifyFromCell(deps, name, 'forwarded+jwt', token, { what, claims: ['ip', 'base'] })
  const claims = { ...said, endsAt: 1000 * (decodeJwt(token).exp ?? 0) }
>>>>>>> 9d2111615bf0c36a780d3b9946d471e22108caa6
  verified.set(token, claims)
  return claims
}
