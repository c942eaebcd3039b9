/** The header by which one cell tells another for whom it passes a request on: a JWT for that cell alone, which lives a minute. */

import type { Request, RequestHandler } from 'express'
import { errors, jwtVerify, SignJWT } from 'jose'
import type { Deps } from '../deps.ts'
import { algorithm } from '../domain/accounts/keys.ts'
import type { Cell } from '../domain/cells/cell.ts'
import { Refusal } from '../errors.ts'
import { baseUrl, setBaseUrl } from './base-url.ts'

export const forwardedHeader = 'grove-forwarded'

const type = 'forwarded+jwt'
/** Seconds, more than the clocks of two machines differ by. */
const lifeSeconds = 60

type Directory = Pick<Deps, 'config' | 'keys' | 'now'>

const accepted = new WeakSet<Request>()

/** Whether another cell has passed it on: it is not passed on again. */
export function isForwarded(req: Request): boolean {
  return accepted.has(req)
}

/** What the cell `name` is told of a request: the address of its client, and the service as the client reaches it. */
export async function signForwarded({ config, keys, now }: Directory, name: string, req: Request): Promise<string> {
  const at = now().getTime()
  const { kid, privateKey } = await keys.signing(at)
  const seconds = Math.floor(at / 1000)
  return new SignJWT({ ip: req.ip ?? '', base: baseUrl(config.publicUrl, req) })
    .setProtectedHeader({ alg: algorithm, typ: type, kid })
    .setIssuer(keys.issuer)
    .setAudience(audienceOf({ name }))
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + lifeSeconds)
    .sign(privateKey)
}

/** Takes the client's address and the service's from the header. @throws Refusal forbidden: it is not of a cell, or too old */
export function acceptForwarded(deps: Directory, cell: Pick<Cell, 'name'>): RequestHandler {
  return async (req, _res, next) => {
    const text = req.headers[forwardedHeader]
    if (text === undefined) return next()
    const claims = await claimsOf(deps, cell, String(text))
    accepted.add(req)
    setBaseUrl(req, claims.base)
    Object.defineProperty(req, 'ip', { value: claims.ip })
    next()
  }
}

async function claimsOf(
  { keys, now }: Directory,
  cell: Pick<Cell, 'name'>,
  text: string,
): Promise<{ readonly ip: string; readonly base: string }> {
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
    const { ip, base } = payload
    if (typeof ip !== 'string' || typeof base !== 'string') throw new errors.JWTInvalid()
    return { ip, base }
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    throw new Refusal('forbidden', `The header ${forwardedHeader} is not of a cell of this service, or is too old`)
  }
}

/** No token of a person has it. */
function audienceOf({ name }: Pick<Cell, 'name'>): string {
  return `cell:${name}`
}
