/** Tokens by which a cell proves its identity to another. They are signed with the shared keys, for that cell only. */
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { AppError } from '../../base/errors.ts'
import { algorithm } from '../accounts/keys.ts'
import type { Services } from '../services.ts'

/** The uses of a token: forwarding a request, or a step of a move. */
type Use = 'forwarded+jwt' | 'move+jwt'

type Directory = Pick<Services, 'keys' | 'now'>

/** Lifetime in seconds. The clocks of two machines differ by less. */
const lifeSeconds = 60

/** Signs a token for the cell of that name. */
export async function signForCell(
  { keys, now }: Directory,
  name: string,
  use: Use,
  claims: Readonly<Record<string, string>>,
): Promise<string> {
  const at = now().getTime()
  const { kid, privateKey } = await keys.signing(at)
  const seconds = Math.floor(at / 1000)
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: algorithm, typ: use, kid })
    .setIssuer(keys.issuer)
    .setAudience(audienceOf(name))
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + lifeSeconds)
    .sign(privateKey)
}

/** Seconds since 1970. */
interface Ending {
  readonly exp: number
}

interface ExpectedClaims<Claim, Optional> {
  readonly what: string
  readonly claims: readonly Claim[]
  /** Claims that may be missing. */
  readonly optional?: readonly Optional[]
}

/**
 * Verifies a token and returns its claims, which are strings, and its expiry. `what` names the token in a refusal.
 *
 * @param name of this cell
 * @throws AppError forbidden: it is not from a cell, not for this one, for another use, or too old
 */
export async function verifyFromCell<Claim extends string, Optional extends string = never>(
  { keys, now }: Directory,
  name: string,
  use: Use,
  token: string,
  { what, claims, optional = [] }: ExpectedClaims<Claim, Optional>,
): Promise<Record<Claim, string> & Partial<Record<Optional, string>> & Ending> {
  const at = now()
  try {
    const { payload } = await jwtVerify(
      token,
      async ({ kid = '' }) => {
        const key = await keys.verifying(kid, at.getTime())
        if (key === undefined) throw new errors.JWSSignatureVerificationFailed()
        return key
      },
      {
        algorithms: [algorithm],
        typ: use,
        issuer: keys.issuer,
        audience: audienceOf(name),
        currentDate: at,
        requiredClaims: ['exp'],
      },
    )
    const { exp } = payload
    if (exp === undefined) throw new errors.JWTInvalid()
    const given = optional.filter((claim) => payload[claim] !== undefined)
    const more: Partial<Record<Optional, string>> = textsOf(payload, given)
    return { ...textsOf(payload, claims), ...more, exp }
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    throw new AppError('forbidden', `${what} is not from a cell of this service, or has expired`)
  }
}

function textsOf<Claim extends string>(payload: JWTPayload, claims: readonly Claim[]): Record<Claim, string> {
  const texts = claims.map((claim): [Claim, string] => {
    const value = payload[claim]
    if (typeof value !== 'string') throw new errors.JWTInvalid()
    return [claim, value]
  })
  return Object.fromEntries(texts) as Record<Claim, string> // one entry per claim
}

/** Returns the audience, which no user's token has. */
function audienceOf(name: string): string {
  return `cell:${name}`
}
