/** Refuses requests to a demo that name another host. */

import type { RequestHandler } from 'express'
import { AppError } from '../base/errors.ts'
import { isLoopback } from '../base/is-loopback.ts'

/** A site can let its own name lead to this machine. A browser would then send its scripts' requests to the demo. */
export const requireLoopbackHost: RequestHandler = (req, _res, next) => {
  const host = (req.headers.host ?? '').toLowerCase().replace(/:\d*$/, '')
  if (isLoopback(host)) next()
  else throw new AppError('forbidden', 'The demo answers only as localhost, because its passwords are known')
}
