/** How a request came, for the log of events and the audit. */

import type { Request } from 'express'
import type { Door, Origin } from '../domain/origin.ts'
import { networkOf } from './connection/addresses.ts'
import { stateOf } from './request-state.ts'

/** The most characters of a user agent that are kept. */
const userAgentCharacters = 500

export function originOf(req: Request, door: Door = stateOf(req).door): Origin {
  const userAgent = req.headers['user-agent']?.slice(0, userAgentCharacters)
  return {
    door,
    requestId: stateOf(req).id,
    address: networkOf(req),
    ...(userAgent !== undefined && { userAgent }),
  }
}
