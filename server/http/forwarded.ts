/** The header by which one cell tells another for whom it passes a request on: a JWT for that cell alone, which lives a minute. */

import type { Request, RequestHandler } from 'express'
import { errors, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import { algorithm } from '../domain/accounts/keys.ts'
import type { Cell } from '../domain/cells/cell.ts'
import { Refusal } from '../errors.ts'
import { baseUrl, setBaseUrl } from './base-url.ts'

export const forwardedHeader = 'grove-forwarded'

const type = 'forwarded+jwt'
/** Seconds, more than the clocks of two machines differ by. */
const lifeSeconds = 60

/** Seconds for which one that was signed serves further requests of the same client: what is left then is enough for any of them. */
const reuseSeconds = 20
/** Headers that are kept, about 0.5 KB each: signing and verifying one takes 0.4 ms. */
const remembered = 10_000

type Directory = Pick<Deps, 'config' | 'keys' | 'now'>

interface Signed {
  readonly text: string
  /** Seconds since 1970. */
  readonly issuedAt: number
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

const accepted = new WeakSet<Request>()

/** Whether another cell has passed it on: it is not passed on again. */
export function isForwarded(req: Request): boolean {
  return accepted.has(req)
}

/** What the cell `name` is told of a request: the address of its client, and the service as the client reaches it. */
export async function signForwarded({ config, keys, now }: Directory, name: string, req: Request): Promise<string> {
  const at = now().getTime()
  const seconds = Math.floor(at / 1000)
  const signed = signedBy.get(keys) ?? new LRUCache<string, Signed>({ max: remembered })
  signedBy.set(keys, signed)
  const said = { ip: req.ip ?? '', base: baseUrl(config.publicUrl, req) }
  const key = JSON.stringify([name, said])
  const known = signed.get(key)
  if (known !== undefined && known.issuedAt <= seconds && seconds < known.issuedAt + reuseSeconds) return known.text
  const { kid, privateKey } = await keys.signing(at)
  const text = await new SignJWT(said)
    .setProtectedHeader({ alg: algorithm, typ: type, kid })
    .setIssuer(keys.issuer)
    .setAudience(audienceOf({ name }))
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + lifeSeconds)
    .sign(privateKey)
  signed.set(key, { text, issuedAt: seconds })
  return text
}

/** Takes the client's address and the service's from the header. @throws Refusal forbidden: it is not of a cell, or too old */
export function acceptForwarded(deps: Directory, cell: Pick<Cell, 'name'>): RequestHandler {
  const verified = new LRUCache<string, Claims>({ max: remembered })
  return async (req, _res, next) => {
    const text = req.headers[forwardedHeader]
    if (text === undefined) return next()
    const claims = await verifiedClaims(deps, cell, verified, String(text))
    accepted.add(req)
    setBaseUrl(req, claims.base)
    Object.defineProperty(req, 'ip', { value: claims.ip })
    next()
  }
}

/** A signature is verified once, the time at each request. */
async function verifiedClaims(
  deps: Directory,
  cell: Pick<Cell, 'name'>,
  verified: LRUCache<string, Claims>,
  text: string,
): Promise<Claims> {
  const known = verified.get(text)
  if (known !== undefined && deps.now().getTime() < known.exp * 1000) return known
  const claims = await claimsOf(deps, cell, text)
  verified.set(text, claims)
  return claims
}

async function claimsOf({ keys, now }: Directory, cell: Pick<Cell, 'name'>, text: string): Promise<Claims> {
  const at = now()
  try {
    const { payload } = await jwtVerify(
      text,
      async ({ kid = '' }) => {
        const key = await keys.verifying(kid, at.getTime())
        if (key === undefined) throw new errors.JWSSignatureVerificationFailed()
        return key
      },
      {
        algorithms: [algorithm],
        typ: type,
        issuer: keys.issuer,
        audience: audienceOf(cell),
        currentDate: at,
        requiredClaims: ['exp'],
      },
    )
    const { ip, base, exp } = payload
    if (typeof ip !== 'string' || typeof base !== 'string' || exp === undefined) throw new errors.JWTInvalid()
    return { ip, base, exp }
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    throw new Refusal('forbidden', `The header ${forwardedHeader} is not of a cell of this service, or is too old`)
  }
}

/** No token of a person has it. */
function audienceOf({ name }: Pick<Cell, 'name'>): string {
  return `cell:${name}`
}
