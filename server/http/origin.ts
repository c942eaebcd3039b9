/** How a request came, for the log of events and the audit. */

import type { Request } from 'express'
import { invalid } from '../base/errors.ts'
import type { Door, Origin } from '../domain/origin.ts'
import { isAgentName } from '../domain/via.ts'
import { networkOf } from './connection/addresses.ts'
import { stateOf } from './request-state.ts'

/** The most characters of a user agent that are kept. */
const userAgentCharacters = 500

/** @throws ValidationError the header Grove-Agent is malformed */
export function originOf(req: Request, door: Door = stateOf(req).door): Origin {
  const userAgent = req.headers['user-agent']?.slice(0, userAgentCharacters)
  const agent = agentOf(req)
  return {
    door,
    requestId: stateOf(req).id,
    address: networkOf(req),
    ...(userAgent !== undefined && { userAgent }),
    ...(agent !== undefined && { agent }),
  }
}

/** The header in which a program names itself. */
const agentHeader = 'Grove-Agent'

/** @throws ValidationError */
function agentOf({ headers }: Request): string | undefined {
  const name = headers[agentHeader.toLowerCase()]
  if (name === undefined || isAgentName(String(name))) return name === undefined ? undefined : String(name)
  throw invalid(['header', agentHeader], 'The name must have 1 to 64 letters, digits and `_`, `.`, `/` or `-`', name)
}
