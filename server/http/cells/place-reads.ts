/**
 * Limits the directory lookups that unauthenticated callers cause. They look up organisations that a cell does not
 * know.
 */

import type { Request, Response } from 'express'
import type { NewCounter } from '../../base/counters.ts'
import { RateLimitedError } from '../../base/errors.ts'
import type { Credential } from '../../domain/accounts/access-tokens.ts'
import type { FindCredential } from '../authentication.ts'
import type { BrowserCookies } from '../browser-cookies.ts'
import { networkOf } from '../connection/addresses.ts'
import { gitCredentialOf } from '../git/git.ts'
import { type CountRequest, everything } from '../rate-limits.ts'

export interface PlaceReadLimit {
  readonly newCounter: NewCounter | undefined
  readonly count: CountRequest
  readonly findCredential: FindCredential
  readonly cookies: BrowserCookies
}

/**
 * Runs `read`, which looks up an organisation. If an IP address has asked for too many unknown organisations, it needs
 * a valid credential, and its requests are counted.
 *
 * @throws AppError rate_limited, invalid_token
 */
export type LimitPlaceRead = <T>(
  req: Request,
  res: Response,
  read: () => Promise<T | undefined>,
) => Promise<T | undefined>

export function limitPlaceReads({ newCounter, count, findCredential, cookies }: PlaceReadLimit): LimitPlaceRead {
  const counter = newCounter?.('place', everything)
  const findCaller = async (req: Request): Promise<Credential | undefined> => {
    const secret = cookies.read(req)
    return (await gitCredentialOf(req, findCredential)) ?? (secret === undefined ? undefined : findCredential(secret))
  }
  return async (req, res, read) => {
    if (counter === undefined) return read()
    const key = networkOf(req)
    const { limit, taken, waitMs } = await counter.take(key)
    if (taken > limit.quota) {
      const caller = await findCaller(req)
      if (caller === undefined) throw new RateLimitedError('requests', limit, Math.ceil(waitMs / 1000))
      await count(req, res, caller.person.id)
    }
    const found = await read()
    if (found !== undefined) await counter.giveBack(key)
    return found
  }
}
